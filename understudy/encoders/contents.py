"""Checks of an encoder's contents that come out of a file, which may be damaged or forged."""

from collections.abc import Iterable, Mapping
from typing import Any

from understudy.contracts.encoding import EncoderContents, ObservationSpec
from understudy.errors import EncoderError


def check_names(what: str, given: Mapping[str, Any], expected: Iterable[str]) -> None:
    """Raise `EncoderError` where the names of settings or arrays are not the expected ones."""
    if set(given) != set(expected):
        raise EncoderError(f"{what} are {sorted(given)}, not {sorted(expected)}")


def check_options(used: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise `EncoderError` where an encoder uses other options than the file gives: `save` writes them as used."""
    wrong = [name for name, value in given.items() if name not in used or repr(used[name]) != repr(value)]
    if wrong:
        raise EncoderError(f"{wrong[0]!r} is {given[wrong[0]]!r}")


def observation_of(contents: EncoderContents) -> ObservationSpec:
    """Return the type and shape of observations. Raise `EncoderError` where the file has none."""
    if contents.observation is None:
        raise EncoderError("the type and shape of its observations are missing")
    return contents.observation


def losses_of(settings: Mapping[str, Any]) -> tuple[float | None, list[float]]:
    """Return the final loss and the loss after each epoch. Raise `EncoderError` where they are not numbers."""
    loss, losses = settings["loss"], settings["losses"]
    if type(losses) is not list or {type(number) for number in [*losses, loss]} - {float, type(None)}:
        raise EncoderError("its losses are not numbers")
    return loss, losses


def with_prefix(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the arrays whose names begin with a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
