"""What was recorded: logs, where they come from, and what is wrong with them."""

from understudy.logs.check import check
from understudy.logs.files import read, write
from understudy.logs.findings import Audit, Finding
from understudy.logs.log import Log, Spec, concatenate
from understudy.logs.recorder import record

__all__ = ["Audit", "Finding", "Log", "Spec", "check", "concatenate", "read", "record", "write"]
