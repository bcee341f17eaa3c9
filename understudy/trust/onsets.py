"""From where on a curve lies above a level: at the earliest, by its mean, and at the latest."""

from dataclasses import dataclass

import numpy as np

from understudy.evaluation.intervals import Interval


@dataclass(frozen=True)
class Onset:
    """The window from which on a curve is above zero in every window, as far as intervals tell.

    It lies between `earliest` and `latest` with the probability of the intervals' level. Windows are tested from the
    first to the last for being below, and from the last to the first for being above, each only if all before it in
    that order were told: so the chance that any of these claims is wrong stays that of one test.
    """

    earliest: int  # all windows before it are told to be below
    by_mean: int | None  # from it on, the mean itself is above; None where it is not even in the last window
    latest: int | None  # from it on, all windows are told to be above; None where not even the last is


def onset(curve: Interval) -> Onset:
    """Return from which window on a curve is above zero."""
    below = curve.high < 0
    earliest = len(below) if below.all() else int(np.argmin(below))
    return Onset(earliest, holds_from(curve.mean > 0), holds_from(curve.low > 0))


def holds_from(told: np.ndarray) -> int | None:
    """Return the place from which on all values are True, None where the last is not.

    >>> holds_from(np.array([True, False, True, True])), holds_from(np.array([True, False]))
    (2, None)
    """
    if told.all():
        return 0
    place = len(told) - int(np.argmin(told[::-1]))
    return place if place < len(told) else None
