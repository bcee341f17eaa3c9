"""Logs: made of columns, read from files, written to them, and checked for errors."""

from understudy.logs.action_features import ActionFeatures
from understudy.logs.check import check
from understudy.logs.coding import Coding
from understudy.logs.column_coding import ColumnCoding
from understudy.logs.findings import Audit, AuditTest, Finding
from understudy.logs.joining import concatenate
from understudy.logs.log import Log
from understudy.logs.propensities import PropensityReport, PropensitySource
from understudy.logs.propensities.estimation import estimate_propensities
from understudy.logs.reading import read
from understudy.logs.spec import Spec
from understudy.logs.writing import write

__all__ = [
    "ActionFeatures", "Audit", "AuditTest", "Coding", "ColumnCoding", "Finding", "Log", "PropensityReport",
    "PropensitySource", "Spec", "check", "concatenate", "estimate_propensities", "read", "write",
]  # fmt: skip
