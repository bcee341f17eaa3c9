"""How long the log could answer, and how far to believe it."""

from understudy.evaluation.efficiency import Efficiency, efficiency
from understudy.evaluation.fidelity import CensoringWarning, Fidelity, fidelity

__all__ = ["CensoringWarning", "Efficiency", "Fidelity", "efficiency", "fidelity"]
