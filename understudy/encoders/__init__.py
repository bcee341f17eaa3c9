"""From observations to states, so that rows of a state can stand in for each other."""

from understudy.encoders.boxes import Boxes
from understudy.encoders.function import Function
from understudy.encoders.identity import Identity

__all__ = ["Boxes", "Function", "Identity"]
