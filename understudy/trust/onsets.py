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
    by_mean: int | None  # from it on, the mean is above, smoothed; None where it is not even in the last window
    latest: int | None  # from it on, all windows are told to be above; None where not even the last is


def onset(curve: Interval) -> Onset:
    """Return from which window on a curve is above zero."""
    below = curve.high < 0
    earliest = len(below) if below.all() else int(np.argmin(below))
    latest, by_mean = holds_from(curve.low > 0), holds_from(rising(curve.mean) > 0)
    if by_mean is not None:
        by_mean = max(earliest, by_mean if latest is None else min(by_mean, latest))
    return Onset(earliest, None if by_mean == len(below) else by_mean, latest)


def rising(mean: np.ndarray) -> np.ndarray:
    """Return the curve that never falls and is nearest to a mean, by least squares.

    Of a mean that wavers, the last window in which it happens to be below a level is near its end, however early the
    level was reached: more windows, later. This curve passes the level where the mean does on the whole.

    >>> rising(np.array([0.0, 2.0, 1.0, 3.0]))
    array([0. , 1.5, 1.5, 3. ])
    """
    blocks: list[tuple[float, int]] = []  # the mean and the length of each flat part
    for value in mean.tolist():
        blocks.append((value, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (one, n), (other, m) = blocks[-2:]
            blocks[-2:] = [((n * one + m * other) / (n + m), n + m)]
    return np.concatenate([np.full(n, value) for value, n in blocks])


def holds_from(told: np.ndarray) -> int | None:
    """Return the place from which on all values are True, None where the last is not.

    >>> holds_from(np.array([True, False, True, True])), holds_from(np.array([True, False]))
    (2, None)
    """
    if told.all():
        return 0
    place = len(told) - int(np.argmin(told[::-1]))
    return place if place < len(told) else None
