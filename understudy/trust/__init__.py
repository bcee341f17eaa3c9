"""When to believe a simulation, found from the log alone: before it, during it and after it."""

from understudy.trust.forecast import Forecast, forecast
from understudy.trust.selfcheck import Selfcheck, selfcheck

__all__ = ["Forecast", "Selfcheck", "forecast", "selfcheck"]
