"""From observations to states, so that rows of a state can stand in for each other."""

from typing import TYPE_CHECKING, Any

from understudy.contracts.extras import opened
from understudy.encoders.audit import StateAudit
from understudy.encoders.boxes import Boxes
from understudy.encoders.files import EXTRAS, HOMES, load
from understudy.encoders.function import Function
from understudy.encoders.identity import Identity
from understudy.encoders.kmeans import KMeans

if TYPE_CHECKING:  # what editors and type checkers see of the parts that need an extra
    from understudy.encoders.forward import Forward as Forward
    from understudy.encoders.homer import Homer as Homer

__all__ = ["Boxes", "Forward", "Function", "Homer", "Identity", "KMeans", "StateAudit", "load"]


if not TYPE_CHECKING:  # a type checker would take every name to be there, misspelled ones too

    def __getattr__(name: str) -> Any:
        """Encoders that need more than the core are opened when they are asked for."""
        if name in EXTRAS:
            value = opened(__name__, name, HOMES[name], EXTRAS[name])
            globals()[name] = value
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
