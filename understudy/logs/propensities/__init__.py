"""Propensities: where they came from, and how those of all actions are known where not all were logged."""

from understudy.logs.propensities.preparation import PropensityOptions, prepare
from understudy.logs.propensities.source import PropensityReport, PropensitySource

__all__ = ["PropensityOptions", "PropensityReport", "PropensitySource", "prepare"]
