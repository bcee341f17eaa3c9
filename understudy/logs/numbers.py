"""Numbers that users give: as Python's own, or a sentence that says why they will not do."""

import math
from numbers import Integral, Real
from typing import Any

from understudy.errors import LogError

MOST_STEPS = 2**63 - 1
"""As far as kernels count."""

LARGEST_SEED = 2**127
"""Seeds are smaller, and not below its negative: generators take in 128 bits of a seed, and more would be lost."""


def whole(name: str, number: Any, least: int | None = 1, most: int | None = None) -> int:
    """A whole number from `least` to `most`. Raises `LogError` for anything else; so for True and "3".

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
        raise LogError(f"{name} is {_told(number)}; give {name}=, a whole number{limits}")
    return found


def steps_of(name: str, number: Any) -> int | None:
    """A number of steps, episodes or envs, as far as kernels count, or None where none is asked for."""
    return None if number is None else whole(name, number, most=MOST_STEPS)


def seed_of(number: Any) -> int:
    """A seed: any whole number of 127 bits, negative ones too. Raises `LogError` for anything else."""
    seed = whole("seed", number, least=None)
    if not -LARGEST_SEED <= seed < LARGEST_SEED:
        raise LogError(f"seed is {_told(number)}, of more than 127 bits, and not all of them would count; give fewer")
    return seed


def real(name: str, number: Any, least: float = -math.inf, most: float = math.inf, *, ends: bool = True) -> float:
    """A finite number from `least` to `most`, or between them without these `ends`. Raises `LogError` for others.

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
        raise LogError(f"{name} is {_told(number)}; give {name}=, a number{limits or ' that is finite'}")
    return found


def positive(name: str, number: Any) -> float:
    """A finite number above 0. Raises `LogError` for anything else."""
    return real(name, number, 0, ends=False)


def _told(number: Any) -> str:
    try:
        text = repr(number)
    except ValueError:  # an integer of more digits than Python writes
        return "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:60]}..."
