"""One decision about two curves: which is higher in the later half of what was compared, and from where on."""

from dataclasses import dataclass, replace

import numpy as np

from understudy.evaluation.intervals import HalvedReadings, Interval, interval_of, rounding_of
from understudy.trust.onsets import holds_from


@dataclass(frozen=True, eq=False)
class Decision:
    """Whether one learner is ahead of another, by one test, and where that begins.

    The test is about the mean of the later half of the windows: `mean`, with the interval `low` to `high` at `level`.
    Where it has decided, windows are tested from the last to the first until one is not decided in the same way. Each
    is tested only if all before it in this order were decided, so the chance that any of these claims is wrong stays
    what it is for one test.
    """

    mean: float
    low: float
    high: float
    level: float
    first: int  # place of the first window of the later half
    begins: int | None  # place from which on every window is decided; None where not even the last is
    reverse: bool  # True if the other one is ahead in some window before
    curve: Interval  # the difference in each window, at the same level

    @property
    def ahead(self) -> bool:
        """True if the one is ahead of the other."""
        return self.low > 0

    @property
    def behind(self) -> bool:
        """True if the one is behind the other."""
        return self.high < 0


def decide(one: HalvedReadings, other: HalvedReadings, level: float = 0.95) -> Decision:
    """Return the decision about two sets of readings at the same places, whose runs go in pairs."""
    mean, low, high = interval_of_difference(later_halves(one), later_halves(other), level).final
    curve = interval_of_difference(one, other, level)
    n = len(curve.steps)
    told = curve.low > 0 if low > 0 else curve.high < 0 if high < 0 else np.zeros(n, bool)
    begins = holds_from(told)
    reverse = False
    if begins != 0 and (low > 0 or high < 0):
        # A lead that turned around is worth saying: corrected for the number of windows.
        strict = interval_of_difference(one, other, 1 - (1 - level) / n)
        reverse = bool((strict.high < 0).any() if low > 0 else (strict.low > 0).any())
    return Decision(mean, low, high, level, first_of_later_half(n), begins, reverse, curve)


def interval_of_difference(one: HalvedReadings, other: HalvedReadings, level: float = 0.95) -> Interval:
    """Return one curve less another, pair by pair, with an interval that includes the luck of the log.

    `steps` are those of the learner that takes more of them to the same place. What halves of a log show of the
    difference must be extrapolated far where one learner soon has no answer from them; but a difference is never more
    uncertain than its two parts together, so the interval is cut to the sum of their widths.
    """
    found = interval_of(one.less(other), level)
    widths = [(interval.high - interval.low) / 2 for interval in (interval_of(one, level), interval_of(other, level))]
    width = np.maximum(np.fmin((found.high - found.low) / 2, sum(widths)), rounding_of(one.whole, other.whole))
    return replace(found, low=found.mean - width, high=found.mean + width)


def first_of_later_half(n: int) -> int:
    """Return the place of the first of the later half of n windows.

    >>> [first_of_later_half(n) for n in (1, 2, 3, 16)]
    [0, 1, 1, 8]
    """
    return n // 2


def later_halves(readings: HalvedReadings) -> HalvedReadings:
    """Return, at each place, the mean of the later half of the readings so far.

    The last one is what is decided upon. Halves of a log do not reach it; by the places that they do reach the luck of
    the log is carried on to it, as for any curve.
    """
    n = len(readings.steps)
    weights = np.zeros((n, n))
    for place in range(n):
        first = first_of_later_half(place + 1)
        weights[first : place + 1, place] = 1 / (place + 1 - first)
    return replace(readings, whole=_mean(readings.whole, weights), halves=_mean(readings.halves, weights))


def _mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return weighted means of values, (..., K), over those that are known; NaN where the last of them is not."""
    known = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        means = np.where(known, values, 0.0) @ weights / (known.astype(float) @ weights)
    return np.where(known, means, np.nan)
