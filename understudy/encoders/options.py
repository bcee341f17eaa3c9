"""Numbers that encoders are made with: as Python's own, which JSON holds, or a sentence why they are none."""

from typing import Any

from understudy.contracts import LogError


def whole(name: str, number: Any, least: int | None = 1) -> int:
    """A whole number. Raises `LogError` where it is none, or less than it may be.

    >>> whole("width", 64.0)
    64
    """
    try:
        found = int(number)
        fine = found == number and (least is None or found >= least)
    except (OverflowError, TypeError, ValueError):
        fine = False
    if not fine:
        raise LogError(f"{name} is {number!r}; it is a whole number" + ("" if least is None else f" from {least} up"))
    return found


def positive(name: str, number: Any) -> float:
    """A number above 0. Raises `LogError` where it is none."""
    try:
        found = float(number)
    except (TypeError, ValueError):
        found = 0.0
    if not 0 < found < float("inf"):
        raise LogError(f"{name} is {number!r}; it is a number above 0")
    return found
