"""How unlikely a deviation is by chance."""

from math import erfc, exp, log1p, sqrt
from typing import NamedTuple

import numpy as np

CUTS = {
    "32nd part": 1 / 32, "sixteenth": 1 / 16, "eighth": 1 / 8, "quarter": 1 / 4, "half": 1 / 2,
    "three quarters": 3 / 4,
}  # fmt: skip
"""Where a series is cut in two to find a level that changes, as a share of its length: learners settle early."""

SHORT_PART = 10  # entries; the mean of a shorter part says little


def freedman(excess: np.ndarray | float, variance: np.ndarray | float, largest: np.ndarray | float = 1.0) -> np.ndarray:
    """Return Freedman's bound on P(a sum of martingale differences exceeds its mean by `excess`).

    Unlike a z-score it holds for rare actions and for propensities that depend on earlier rows; at the rates used here
    it requires a z of about 5.3 where the normal law requires 4.9.

    >>> freedman(np.array([0.0, 10.0]), 4.0).round(5)
    array([1.     , 0.00109])
    """
    above = np.maximum(excess, 0.0)
    scale = 2 * (np.asarray(variance) + largest * above / 3)
    return np.exp(-np.divide(above**2, scale, out=np.zeros_like(scale), where=scale > 0))


def bennett(excess: float, variance: float, largest: float) -> float:
    """Return Bennett's bound on P(a sum exceeds its mean by `excess`), never above `freedman`'s for the same sum.

    >>> bool(bennett(10.0, 4.0, 1.0) < freedman(10.0, 4.0))
    True
    """
    if excess <= 0 or variance <= 0:
        return 1.0
    u = largest * excess / variance
    return exp(-variance / largest**2 * ((1 + u) * log1p(u) - u))


STAKES = 0.8 * 0.5 ** np.arange(10)
"""Shares of what one has that are bet at a time: that which wins the most depends on how far the mean is off."""


def betting(gains: np.ndarray, losses: np.ndarray | float) -> np.ndarray:
    """Return bounds on P(so large a sum), for numbers of 0 or more whose means given those before are 1 at most.

    Who bets a share of what he has on each number makes no profit on average, so a profit of k times has a chance of
    1/k at most, however large single numbers are (Ville's inequality; the mean over `STAKES`). `gains` has, for each of
    `STAKES` (first axis), the sum of log(1 + stake * (x - 1)) over the numbers x above 0; `losses`, how many are 0.

    >>> x = np.array([4.0] * 48 + [0.0] * 72)  # their mean is 1.6
    >>> float(betting(np.log1p(STAKES[:, None] * (x[x > 0] - 1)).sum(axis=1), 72).round(3))
    0.012
    """
    stakes = STAKES.reshape(-1, *[1] * (np.ndim(gains) - 1))
    profit = np.logaddexp.reduce(gains + losses * np.log1p(-stakes), axis=0) - np.log(len(STAKES))
    return np.asarray(np.exp(-np.maximum(profit, 0.0)))


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
    ranks, time = _ranks_and_time(series)
    return _trend(ranks, time, _likeness(ranks, time)) if ranks.any() else 0.0


class Change(NamedTuple):
    """How a series changes over time: along all of it, or from before a cut to after it."""

    z: float  # positive: later values are larger
    tail: float  # the probability of a change at least this large by chance, or a bound on it
    cut: str = ""  # one of CUTS

    def words(self, units: str) -> str:
        """Return the change as the end of a sentence; `units` says what the series is over.

        >>> Change(-9.0, 1e-19).words("90 episodes"), Change(9.0, 1e-19, "half").words("90 episodes")
        ('falls over 90 episodes', 'is larger after the first half of 90 episodes than before')
        """
        if not self.cut:
            return f"{'rises' if self.z > 0 else 'falls'} over {units}"
        return f"is {'larger' if self.z > 0 else 'smaller'} after the first {self.cut} of {units} than before"


def changes(series: np.ndarray) -> list[Change]:
    """Return how a series changes: its trend, and its level before and after each cut that leaves long enough parts.

    Levels are compared in ranks, as draws without replacement. Their tails are Bennett's bound, since rare values
    that all come early would be impossible by the normal law, and are not. Both are for a series with fewer entries
    where neighbors are alike.

    >>> found = changes(np.repeat([0.0, 1.0], [30, 210]) + np.arange(240) % 2)
    >>> largest = max(found, key=lambda one: one.z)
    >>> largest.cut, largest.tail < 1e-4, len(found)
    ('eighth', True, 6)
    """
    ranks, time = _ranks_and_time(series)
    n = len(ranks)
    if not ranks.any():
        return [Change(0.0, 1.0)]
    likeness = min(_likeness(ranks, time), 1 - 1 / n)
    z = _trend(ranks, time, likeness)
    found, together = [Change(z, normal_tail(z))], (1 + likeness) / (1 - likeness)
    largest = float(np.abs(ranks).max()) / (1 - likeness)  # runs of k equal values have likeness 1 - 1/k
    for cut, share in CUTS.items():
        first = round(share * n)
        if min(first, n - first) >= SHORT_PART:
            gap = -float(ranks[:first].sum())
            variance = together * first * (n - first) / (n * (n - 1)) * float(ranks @ ranks)
            tail = 2 * bennett(abs(gap), variance, largest)
            found.append(Change(gap / sqrt(variance), min(1.0, tail), cut))
    return found


def _ranks_and_time(series: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranks of a series and its times, both with mean 0; equal values share the mean of their ranks."""
    _, code, times = np.unique(np.round(series, 9), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - times / 2)[code]
    return ranks - len(ranks) / 2, np.arange(len(ranks)) - (len(ranks) - 1) / 2


def _trend(ranks: np.ndarray, time: np.ndarray, likeness: float) -> float:
    """Return the correlation of ranks with time as a z-score; a state that changes slowly is not a trend."""
    correlation = (ranks @ time) / sqrt((ranks @ ranks) * (time @ time))
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
