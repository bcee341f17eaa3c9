"""Arrays of a simulator in which observations are coded as a learner's tables index them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from understudy.contracts.encoding import CountsFits
from understudy.contracts.offering import offers
from understudy.errors import LogError
from understudy.simulators.read_only import read_only


class LogPositions:
    """Codes that are positions in the log: row r's next observation has code r, episode e's opening N + e."""

    n = fits = 0

    @property
    def encoder(self) -> "LogPositions":
        return self

    def __reduce__(self) -> str:
        return "LOG_POSITIONS"  # in other processes, too, there is one


LOG_POSITIONS = LogPositions()


def opening_positions(n_rows: int, episodes: range) -> np.ndarray:
    """Return the codes that are positions in the log, of the openings of some episodes of a log of so many rows.

    Raise `LogError` where 32 bits do not hold them.
    """
    if n_rows + episodes.stop > 2**31:
        raise LogError(
            f"rows and episodes are more than {2**31:,} together, so that this learner cannot tell observations by "
            "their places in the log; split it by episodes"
        )
    return n_rows + np.arange(episodes.start, episodes.stop, dtype=np.int32)


class CodedArrays:
    """Arrays with observations coded as a learner's tables index them, kept until its encoder is fitted again.

    Calling it with a learner's codes, or None, returns what `make(codes)` returned for them, read-only. An encoder that
    does not count its fits (`fits`) may have been fitted since the last call, so its arrays are made at each call.
    Learners without an encoder use integer observations as codes, and share one set of arrays; each call checks that
    the largest observation is in the learner's table.
    """

    def __init__(self, make: Callable[[Any], tuple], largest: np.ndarray) -> None:
        self._make, self._largest = make, largest
        self._plain = self._made(None)
        self._last: tuple[Any, tuple, tuple] | None = None

    def __call__(self, codes: Any) -> tuple:
        if codes is None:
            return self._plain
        if codes.encoder is None:
            codes.batch(self._largest)
            return self._plain
        fits = codes.encoder.fits if offers(codes.encoder, CountsFits) else None
        if fits is None:
            return self._made(codes)
        last, version = self._last, (codes.n, fits)
        if last is None or last[0] is not codes.encoder or last[1] != version:
            last = self._last = (codes.encoder, version, self._made(codes))
        return last[2]

    def _made(self, codes: Any) -> tuple:
        return tuple(map(read_only, self._make(codes)))


def largest_observation(*columns: np.ndarray) -> np.ndarray:
    """Return the observation that needs the largest table, as a batch of one; any one where they are not integers.

    A negative one is returned where there is any: no table has a row for it.
    """
    if columns[0].ndim > 1 or columns[0].dtype.kind not in "iu":
        return columns[0][:1]
    lowest = min(column.min() for column in columns)
    return np.array([lowest if lowest < 0 else max(column.max() for column in columns)])
