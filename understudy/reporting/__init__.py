"""Showing runs: tables, plots, and the page that holds them."""

from understudy.reporting import plots
from understudy.reporting.page import report

__all__ = ["plots", "report"]
