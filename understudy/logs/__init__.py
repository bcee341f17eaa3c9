"""Logs: made of columns, read from files, written to them, and checked for errors."""

from understudy.logs.check import check
from understudy.logs.findings import Audit, AuditTest, Finding
from understudy.logs.joining import concatenate
from understudy.logs.log import Log, Spec
from understudy.logs.propensities import PropensityReport, PropensitySource
from understudy.logs.propensities.estimation import estimate_propensities
from understudy.logs.reading import read
from understudy.logs.writing import write

__all__ = [
    "Audit", "AuditTest", "Finding", "Log", "PropensityReport", "PropensitySource", "Spec", "check", "concatenate",
    "estimate_propensities", "read", "write",
]  # fmt: skip
