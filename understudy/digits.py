"""Numbers as texts, with as many digits as a reader needs."""

from collections.abc import Callable, Sequence

import numpy as np

FULL = 1e15
"""Numbers below this are written in full."""

SMALL = 1e-4
"""Numbers that are all below this are written with an exponent: six decimals would not show three digits of them."""


def digits(value: float, n: int = 3, *, sign: bool = False, commas: bool = True) -> str:
    """Return a number with n significant digits, and all digits before its decimal point.

    With `sign`, numbers above zero have one; without `commas`, thousands are not set apart, as in names of states.

    >>> digits(0.01234), digits(2553.2), digits(-12_605.4, 4), digits(1385.0, sign=True), digits(12_345.6, commas=False)
    ('0.0123', '2,553', '-12,605', '+1,385', '12346')
    """
    value += 0.0  # of zero there is one only
    form = ("+" if sign else "") + ("," if commas else "")
    if abs(float(f"{value:.{n}g}")) < 10**n or not abs(value) < FULL:  # `not <`: NaN
        return f"{value:{form}.{n}g}"
    return f"{value:{form}.0f}"


def between(low: float, high: float, n: int = 3, *, sign: bool = False, commas: bool = True) -> str:
    """Return an interval, its ends written by `digits`.

    >>> between(-0.5, 1.25, sign=True)
    '-0.5 to +1.25'
    """
    return f"{digits(low, n, sign=sign, commas=commas)} to {digits(high, n, sign=sign, commas=commas)}"


def span_of(noun: str, first: int, last: int) -> str:
    """Return things that are numbered, from a first to a last one, in words.

    >>> span_of("episode", 1, 1_200), span_of("step", 7, 7)
    ('episodes 1 to 1,200', 'step 7')
    """
    return f"{noun}s {first:,} to {last:,}" if last > first else f"{noun} {first:,}"


def decimals(numbers: Sequence[float]) -> int:
    """Return how many decimals show two digits of the smallest of these numbers.

    >>> decimals([0.0123, 2.5]), decimals([310.0, 1200.0])
    (3, 0)
    """
    known = np.abs([x for x in numbers if np.isfinite(x) and x != 0])
    return int(np.clip(1 - np.floor(np.log10(known.min())), 0, 5)) if len(known) else 2


def three_digits(*numbers: float) -> Callable[[float], str]:
    """Return a function that writes a number with the decimals that show three digits of the smallest of these.

    >>> three_digits(0.000812)(0.000812), three_digits(-581.02, -606.4)(-581.02), three_digits(0.0)(0.0)
    ('0.000812', '-581', '0.00')
    >>> three_digits(1.5e-9)(2.25e-9)
    '2.25e-09'
    """
    return _written_like(numbers, 3)


def signed_digits(numbers: Sequence[float]) -> Callable[[float], str]:
    """Return a function that writes a number with its sign, and with two digits of the smallest of these.

    >>> write = signed_digits([0.012, 3.0])
    >>> write(0.5), write(-0.0001), write(-1200.0), signed_digits([2e-9])(1.5e-8)
    ('+0.500', '0.000', '-1,200.000', '+1.5e-08')
    """
    return _written_like(numbers, 2, "+")


def _written_like(numbers: Sequence[float], n: int, sign: str = "") -> Callable[[float], str]:
    """Return a function that writes a number with n digits of the smallest of these that are not 0."""
    known = np.abs([x for x in numbers if np.isfinite(x) and x != 0])
    places = int(np.clip(n - 1 - np.floor(np.log10(known.min())), 0, 6)) if len(known) else 2
    small = len(known) > 0 and known.max() < SMALL

    def write(number: float) -> str:
        text = f"{number:{sign}.{n}g}" if small else f"{number:{sign},.{places}f}"
        return text if text.strip("+-0.,") else text.lstrip("+-")  # a zero has no sign

    return write


def percent(share: float) -> str:
    """Return a share as a percentage, which is 0 or 100 only where the share is exactly that.

    >>> percent(0.389), percent(0.0024), percent(0.9999), percent(1.0), percent(2.5)
    ('39%', '0.24%', 'more than 99%', '100%', '250%')
    """
    if share < 0.01:
        return f"{100 * share:.2g}%"
    return "more than 99%" if 0.995 <= share < 1 else f"{share:.0%}"
