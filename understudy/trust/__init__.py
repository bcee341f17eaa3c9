"""When to believe a simulation, found from the log alone: before it, during it and after it."""

from understudy.trust.against_log import AgainstLog
from understudy.trust.beyond import Beyond, beyond
from understudy.trust.comparison import Comparison, compare
from understudy.trust.forecast import Forecast, forecast
from understudy.trust.selfcheck import Selfcheck, selfcheck

__all__ = ["AgainstLog", "Beyond", "Comparison", "Forecast", "Selfcheck", "beyond", "compare", "forecast", "selfcheck"]
