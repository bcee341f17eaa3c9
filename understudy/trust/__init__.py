"""When to believe a simulation, found from the log alone: before it, during it and after it."""

from understudy.trust.against_log import AgainstLog
from understudy.trust.comparison import Comparison, compare

__all__ = ["AgainstLog", "Comparison", "compare"]
