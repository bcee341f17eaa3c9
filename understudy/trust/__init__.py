"""When to believe a simulation, found from the log alone: before it, during it and after it."""

from understudy.trust.forecast import Forecast, forecast

__all__ = ["Forecast", "forecast"]
