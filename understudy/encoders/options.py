"""What encoders are made with, as a file of one tells it."""

from collections.abc import Mapping
from typing import Any

from understudy.errors import LogError


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
