"""From observations to states, so that rows of a state can stand in for each other."""

from typing import TYPE_CHECKING, Any

from understudy.contracts.encoding import EncoderContents
from understudy.encoders.auditing import audit
from understudy.encoders.boxes import Boxes
from understudy.encoders.exogenous_split import ExogenousSplit, exogenous_split
from understudy.encoders.files import load, save
from understudy.encoders.function import Function
from understudy.encoders.identity import Identity
from understudy.encoders.kmeans import KMeans
from understudy.encoders.registry import EXTRAS, OURS, register
from understudy.encoders.state_audit import StateAudit
from understudy.extras import import_extra, installed

if TYPE_CHECKING:  # what editors and type checkers see of the parts that need an extra
    from understudy.encoders.forward import Forward as Forward
    from understudy.encoders.homer import Homer as Homer

__all__ = [
    "Boxes", "EncoderContents", "ExogenousSplit", "Forward", "Function", "Homer", "Identity", "KMeans", "StateAudit",
    "audit", "exogenous_split", "load", "register", "save",
]  # fmt: skip


if not TYPE_CHECKING:  # a type checker would take every name to be there, misspelled ones too

    def __getattr__(name: str) -> Any:
        """Return an encoder that needs an extra, which is imported only when it is asked for."""
        if name in EXTRAS:
            value = import_extra(__name__, name, OURS[name], EXTRAS[name])
            globals()[name] = value
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names that can be used: `help` asks for each of them, and ended with the first that needs an extra."""
    return [name for name in __all__ if name not in EXTRAS or installed(EXTRAS[name])]
