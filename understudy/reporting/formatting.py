"""Numbers as texts, with as many decimals as a reader needs."""

from collections.abc import Callable, Sequence

import numpy as np

from understudy.tables import NONE


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
    """
    known = np.abs([x for x in numbers if np.isfinite(x) and x != 0])
    digits = int(np.clip(2 - np.floor(np.log10(known.min())), 0, 6)) if len(known) else 2
    return lambda number: f"{number:,.{digits}f}"


def rounded(value: float | None, digits: int) -> str:
    """Return a number with this many decimals; a dash where there is none.

    >>> rounded(1234.567, 1), rounded(None, 1)
    ('1,234.6', '–')
    """
    return NONE if value is None or not np.isfinite(value) else f"{value:,.{digits}f}"


def percent(share: float) -> str:
    """Return a share as a percentage, which is 0 or 100 only where the share is exactly that.

    >>> percent(0.389), percent(0.0004), percent(1.0), percent(2.5)
    ('39%', '0.04%', '100%', '250%')
    """
    return f"{share:.1g}%" if share == 0 else f"{100 * share:.1g}%" if share < 0.01 else f"{share:.0%}"
