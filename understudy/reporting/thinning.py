"""Curves with as many points as a screen can show, horizons and extremes kept."""

from collections.abc import Iterable

import numpy as np


def thinned(x: np.ndarray, y: np.ndarray, most: int, keep: Iterable[float | None] = ()) -> np.ndarray:
    """Return the places of at most about `most` of the points of a curve, ascending.

    The first and the last known point stay, the lowest and the highest of each stretch, and for each x of `keep` the
    points on both sides of it: a horizon may lie between two readings, and its edge is never lost. `x` ascends; NaN in
    `y` is where nothing is known.

    >>> thinned(np.arange(1000), np.sin(np.arange(1000)), 10, keep=[500]).tolist()
    [0, 11, 33, 344, 366, 410, 432, 499, 500, 501, 699, 721, 966, 988, 999]
    """
    n = len(x)
    if n <= most:
        return np.arange(n)
    known = np.flatnonzero(np.isfinite(y))
    ends = known[[0, -1]].tolist() if len(known) else []
    places = {0, n - 1, *ends}
    for edge in keep:
        if edge is not None and np.isfinite(edge):
            at = int(np.searchsorted(x, edge))
            places |= {min(max(place, 0), n - 1) for place in (at - 1, at, at + 1)}
    for stretch in np.array_split(np.arange(n), max(1, most // 2)):
        there = stretch[np.isfinite(y[stretch])]
        if len(there):
            places |= {int(there[np.argmin(y[there])]), int(there[np.argmax(y[there])])}
    return np.array(sorted(places))


def evenly(n: int, most: int) -> np.ndarray:
    """Return at most `most` of n places, evenly spaced, the first and the last among them.

    >>> evenly(9, 5).tolist(), evenly(3, 5).tolist()
    ([0, 2, 4, 6, 8], [0, 1, 2])
    """
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int)) if n else np.arange(0)
