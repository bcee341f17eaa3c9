"""Logs: made of columns, read from files, written to them, and checked for errors."""

from understudy.logs.action_features import ActionFeatures
from understudy.logs.check import check
from understudy.logs.findings import Audit, AuditTest, Finding
from understudy.logs.joining import concatenate
from understudy.logs.log import Log, Spec
from understudy.logs.reading import read
from understudy.logs.writing import write

__all__ = ["ActionFeatures", "Audit", "AuditTest", "Finding", "Log", "Spec", "check", "concatenate", "read", "write"]
