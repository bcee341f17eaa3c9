"""Showing what runs were like: tables, figures, and the page that holds them."""

from understudy.reporting.page import report

__all__ = ["report"]
