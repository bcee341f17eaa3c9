"""What simulators prepare for learners that index observations in their own way."""

from collections.abc import Callable
from typing import Any

import numpy as np

from understudy.contracts.encoding import CountsFits
from understudy.contracts.offering import offers


class LogPositions:
    """Codes that say where in the log an observation is: row r's next one is r, episode e's opening is N + e."""

    n = fits = 0

    @property
    def encoder(self) -> "LogPositions":
        return self


LOG_POSITIONS = LogPositions()


class Coding:
    """Arrays with observations coded as a learner's tables index them, made once for each fit of a learner's encoder.

    An encoder that does not count its fits (`fits`) may have been fitted since: its codes are made anew each time.
    A learner without an encoder indexes integer observations by themselves, so all such learners share one set; that
    the largest observation is in its table is checked each time.
    """

    def __init__(self, make: Callable[[Any], tuple], largest: np.ndarray) -> None:
        self._make, self._largest = make, largest
        self._plain = make(None)
        self._last: tuple[Any, tuple, tuple] | None = None

    def __call__(self, codes: Any) -> tuple:
        if codes is None:
            return self._plain
        if codes.encoder is None:
            codes.batch(self._largest)
            return self._plain
        fits = codes.encoder.fits if offers(codes.encoder, CountsFits) else None
        if fits is None:
            return self._make(codes)
        last, version = self._last, (codes.n, fits)
        if last is None or last[0] is not codes.encoder or last[1] != version:
            last = self._last = (codes.encoder, version, self._make(codes))
        return last[2]


def largest_observation(*columns: np.ndarray) -> np.ndarray:
    """The observation that needs the largest table, as a batch of one; any one where they are not integers."""
    if columns[0].ndim > 1 or columns[0].dtype.kind not in "iu":
        return columns[0][:1]
    lowest = min(column.min() for column in columns)
    return np.array([lowest if lowest < 0 else max(column.max() for column in columns)])
