"""Whether a part offers what a protocol names: the one way in which the library looks for optional capabilities."""

from functools import cache
from types import FunctionType
from typing import Any, Protocol, TypeGuard, TypeVar

Offered = TypeVar("Offered")


def offers(part: Any, protocol: type[Offered]) -> TypeGuard[Offered]:
    """True if an object has every member of a protocol, by itself, by its class or by `__getattr__`.

    What is a method in the protocol must be callable: an array named `values` is not the method `values`. `isinstance`
    does not look at that, takes eight times as long, and does not ask `__getattr__` from Python 3.12 on.

    >>> from understudy.contracts.learning import HasValue
    >>> offers(3, HasValue)
    False
    """
    methods, attributes = _members(protocol)  # type: ignore[arg-type]
    for name in methods:  # loops, not all(...): every run asks some twenty times when it begins
        if not callable(getattr(part, name, None)):
            return False
    for name in attributes:  # noqa: SIM110
        if not hasattr(part, name):
            return False
    return True


def members_of(protocol: type) -> tuple[str, ...]:
    """Return the names of a protocol's methods, properties and attributes, those of protocols it extends included.

    >>> from understudy.contracts.learning import Learner
    >>> members_of(Learner)
    ('learn', 'policy')
    """
    methods, attributes = _members(protocol)
    return tuple(sorted(methods + attributes))


@cache
def _members(protocol: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of a protocol's methods, and of its other members."""
    methods: set[str] = set()
    attributes: set[str] = set()
    for base in protocol.__mro__:
        if base in (object, Protocol) or not issubclass(base, Protocol):
            continue
        for name in {*vars(base), *vars(base).get("__annotations__", {})}:
            if not name.startswith("_") or name == "__call__":
                is_method = isinstance(vars(base).get(name), FunctionType | staticmethod | classmethod)
                (methods if is_method else attributes).add(name)
    return tuple(sorted(methods)), tuple(sorted(attributes - methods))
