"""Efficiency, fidelity and earnings of runs: how long the log could answer, and how far to believe it."""

from understudy.errors import CensoringWarning
from understudy.evaluation.earnings import Earnings, earnings
from understudy.evaluation.efficiency import Efficiency, efficiency
from understudy.evaluation.fidelity import Fidelity, fidelity

__all__ = ["CensoringWarning", "Earnings", "Efficiency", "Fidelity", "earnings", "efficiency", "fidelity"]
