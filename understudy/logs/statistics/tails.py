"""How unlikely a deviation is by chance."""

from math import erfc, sqrt

import numpy as np


def freedman(excess: np.ndarray | float, variance: np.ndarray | float, largest: float = 1.0) -> np.ndarray:
    """Return Freedman's bound on P(a sum of martingale differences exceeds its mean by `excess`).

    Unlike a z-score it holds for rare actions and for propensities that depend on earlier rows; at the rates used here
    it requires a z of about 5.3 where the normal law requires 4.9.

    >>> freedman(np.array([0.0, 10.0]), 4.0).round(5)
    array([1.     , 0.00109])
    """
    above = np.maximum(excess, 0.0)
    scale = 2 * (np.asarray(variance) + largest * above / 3)
    return np.exp(-np.divide(above**2, scale, out=np.zeros_like(scale), where=scale > 0))


def normal_tail(z: float) -> float:
    """Return the probability that a normal variable is at least this far from its mean, on either side.

    >>> round(normal_tail(1.96), 3)
    0.05
    """
    return erfc(abs(z) / sqrt(2))


def trend(series: np.ndarray) -> float:
    """Return the rank correlation with time as a z-score, made smaller where neighboring residuals are alike.

    >>> rising = np.arange(50.0)
    >>> round(trend(rising), 9), round(trend(-rising), 9), trend(0 * rising)
    (7.0, -7.0, 0.0)
    """
    _, ranks = np.unique(np.round(series, 9), return_inverse=True)
    ranks = ranks - ranks.mean()
    time = np.arange(len(ranks)) - (len(ranks) - 1) / 2
    if not ranks.any():
        return 0.0
    correlation = (ranks @ time) / sqrt((ranks @ ranks) * (time @ time))
    likeness = _likeness(ranks, time)  # a state that changes slowly is not a trend
    n = len(ranks) * (1 - likeness) / (1 + likeness)
    return float(correlation * sqrt(max(n - 1, 0.0)))


LONG = 200
"""Series of this length or more are long enough to tell a change that stays from a state that changes slowly."""


def _likeness(ranks: np.ndarray, time: np.ndarray) -> float:
    """Return the correlation of neighbors, 0 or more, without what a trend or, in long series, a lasting change makes.

    A line is taken off first, or the means of tenths, whichever leaves less of a correlation. Both make neighbors less
    alike than they are; the shortfall, known for an autoregression (Kendall 1954), is added.
    """
    n = len(ranks)
    found = _neighbors(ranks - time * (ranks @ time) / (time @ time), ranks)
    likeness = found + (2 + 4 * found) / n if found > 0 else 0.0
    if n >= LONG:
        tenth = np.arange(n) * 10 // n
        found = _neighbors(ranks - (np.bincount(tenth, ranks) / np.bincount(tenth))[tenth], ranks)
        likeness = min(likeness, found + (1 + 3 * max(found, 0.0)) / (n / 10))
    return float(np.clip(likeness, 0.0, 1.0))


def _neighbors(rest: np.ndarray, ranks: np.ndarray) -> float:
    """Return the correlation of neighboring residuals; 0 where there are none to speak of."""
    return float(rest[1:] @ rest[:-1] / (rest @ rest)) if rest @ rest > 1e-9 * (ranks @ ranks) else 0.0
