"""Numbers that encoders are made with: as Python's own, which JSON holds, or a sentence why they are none."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from understudy.contracts import LogError


def whole(name: str, number: Any, least: int | None = 1) -> int:
    """A whole number. Raises `LogError` where it is none, or less than it may be.

    >>> whole("width", 64.0)
    64
    """
    try:
        found = int(number)
        fine = found == number and (least is None or found >= least) and not isinstance(number, bool | np.bool_)
    except (OverflowError, TypeError, ValueError):
        fine = False
    if not fine:
        raise LogError(f"{name} is {number!r}; it is a whole number" + ("" if least is None else f" from {least} up"))
    return found


def positive(name: str, number: Any) -> float:
    """A number above 0. Raises `LogError` where it is none."""
    try:
        found = 0.0 if isinstance(number, str | bytes | bool | np.bool_) else float(number)
    except (OverflowError, TypeError, ValueError):
        found = 0.0
    if not 0 < found < float("inf"):
        raise LogError(f"{name} is {number!r}; it is a number above 0")
    return found


def same_options(made: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise `LogError` where options out of a file are not those that an encoder has that was made with them."""
    wrong = [name for name, value in given.items() if name not in made or repr(made[name]) != repr(value)]
    if wrong:
        raise LogError(f"{wrong[0]!r} is {given[wrong[0]]!r}")


def losses_of(settings: Mapping[str, Any]) -> tuple[float | None, list[float]]:
    """The loss and the losses that a file tells of a training. Raises `LogError` where they are not numbers."""
    loss, losses = settings["loss"], settings["losses"]
    if type(losses) is not list or {type(number) for number in [*losses, loss]} - {float, type(None)}:
        raise LogError("its losses are not numbers")
    return loss, losses
