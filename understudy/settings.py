"""Checks of numbers that users give as arguments: each returns a Python number, or raises `SettingError`."""

import math
from numbers import Integral, Real
from typing import Any

from understudy.errors import SettingError

MOST_STEPS = 2**63 - 1
"""The largest number that kernels count to."""

LARGEST_SEED = 2**127
"""Seeds lie between its negative and itself: generators use 128 bits of a seed, and further bits would be ignored."""

LONGEST = 60
"""Characters of a refused value that a message shows."""


def whole(name: str, number: Any, least: int | None = 1, most: int | None = None) -> int:
    """Return a whole number from `least` to `most`. Raise `SettingError` for anything else, True and "3" included.

    >>> whole("runs", 64.0)
    64
    """
    found = None
    if isinstance(number, bool):
        pass
    elif isinstance(number, Integral):
        found = int(number)
    elif isinstance(number, Real):
        try:
            found = int(float(number)) if float(number).is_integer() else None
        except OverflowError:  # a fraction that is larger than any float
            found = None
    if found is None or (least is not None and found < least) or (most is not None and found > most):
        limits = ("" if least is None else f" from {least}{' up' if most is None else ''}") + (
            "" if most is None else f" to {most}"
        )
        raise SettingError(f"{name} is {shown(number)}; give {name}=, a whole number{limits}")
    return found


def steps_of(name: str, number: Any) -> int | None:
    """Return a number of steps, episodes or envs that kernels can count to, or None where `number` is None."""
    return None if number is None else whole(name, number, most=MOST_STEPS)


def seed_of(number: Any) -> int:
    """Return a seed: any whole number of at most 127 bits, negative ones included. Raise `SettingError` for others."""
    seed = whole("seed", number, least=None)
    if not -LARGEST_SEED <= seed < LARGEST_SEED:
        raise SettingError(
            f"seed is {shown(number)}, of more than 127 bits, and not all of them would count; give fewer"
        )
    return seed


def real(name: str, number: Any, least: float = -math.inf, most: float = math.inf, *, ends: bool = True) -> float:
    """Return a finite number from `least` to `most`, both excluded where `ends` is False. Raise `SettingError` else.

    >>> real("level", 0.95, 0, 1, ends=False)
    0.95
    """
    found = math.nan
    if isinstance(number, Real) and not isinstance(number, bool):
        try:
            found = float(number)
        except OverflowError:
            found = math.inf
    inside = least <= found <= most if ends else least < found < most
    if not (inside and math.isfinite(found)):
        words = (" from", " to") if ends else (" above", " and below" if least > -math.inf else " below")
        limits = (f"{words[0]} {least}" if least > -math.inf else "") + (
            f"{words[1]} {most}" if most < math.inf else ""
        )
        raise SettingError(f"{name} is {shown(number)}; give {name}=, a number{limits or ' that is finite'}")
    return found


def positive(name: str, number: Any) -> float:
    """Return a finite number above 0. Raise `SettingError` for anything else."""
    return real(name, number, 0, ends=False)


def shown(value: Any) -> str:
    """Return a value as a message shows it, cut where it is long."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        return "a number of thousands of digits"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
