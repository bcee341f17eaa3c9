"""The columns of observations over time, as the tests of a split into an endogenous and an exogenous part need them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from understudy.contracts import Log
from understudy.logs.recurring import keys_of

MOST_ROWS = 60_000
"""About the most rows that are tested; of a longer log, episodes are drawn at random."""

MOST_GROUPS = 64
"""The most groups that states are put into where tests compare all of them with each other."""


@dataclass(frozen=True, eq=False)
class SplitSample:
    """Rows of a log, with each observation as a row of columns."""

    log: Log
    before: np.ndarray  # (n, columns) observations
    after: np.ndarray  # (n, columns) next observations
    names: tuple[str, ...]

    @cached_property
    def is_first(self) -> np.ndarray:
        """True for the first row of each episode."""
        found = np.zeros(len(self.log), bool)
        found[self.log.starts[:-1]] = True
        return found

    @cached_property
    def row_in_episode(self) -> np.ndarray:
        """The number of rows before each row in its episode."""
        return np.arange(len(self.log)) - np.repeat(self.log.starts[:-1], np.diff(self.log.starts))

    def rows_with(self, lag: int) -> np.ndarray:
        """Return the rows whose episode goes on for `lag` steps at least, their own included."""
        last = np.repeat(self.log.starts[1:], np.diff(self.log.starts)) - 1
        return np.flatnonzero(np.arange(len(self.log)) + lag - 1 <= last)

    def code(self, columns: Sequence[int], at: str = "before") -> np.ndarray:
        """Return a number for each row, equal where these columns are: "before", "after" or "previous" to the step.

        The first row of an episode has no previous observation: a number of its own.
        """
        if at != "previous":
            return keys_of(np.ascontiguousarray((self.before if at == "before" else self.after)[:, list(columns)]))
        earlier = np.roll(self.code(columns), 1)
        return np.where(self.is_first, np.array(1, earlier.dtype), earlier)

    def state(self, columns: Sequence[int], at: str = "before") -> np.ndarray:
        """Return `code` in numbers from 0 up; those of observations and next observations are the same."""
        codes = np.concatenate([self.code(columns, "before"), self.code(columns, "after")])
        numbers = np.unique(codes, return_inverse=True)[1]
        return numbers[: len(self.log)] if at == "before" else numbers[len(self.log) :]


def sampled(
    log: Log, before: np.ndarray, after: np.ndarray, names: tuple[str, ...], seed: int, most: int = MOST_ROWS
) -> SplitSample:
    """Return the sample of a log; where it is long, of episodes drawn at random, until they have `most` rows."""
    if len(log) <= most:
        return SplitSample(log, before, after, names)
    order = np.random.default_rng(seed).permutation(log.n_episodes)
    n_rows = np.cumsum(np.diff(log.starts)[order])
    chosen = np.sort(order[: 1 + int(np.searchsorted(n_rows, most))])
    rows = log.rows_of(chosen)
    return SplitSample(log.select(chosen), before[rows], after[rows], names)


def binned(values: np.ndarray, parts: int = 8, few: int = 16) -> np.ndarray:
    """Return a number for each value: of equal values where there are few distinct ones, else between quantiles.

    >>> binned(np.array([5.0, 7.0, 5.0])).tolist()
    [0, 1, 0]
    """
    distinct = np.unique(values)
    if len(distinct) <= few:
        return np.searchsorted(distinct, values)
    edges = np.unique(np.quantile(values, np.linspace(0, 1, parts + 1)[1:-1]))
    return np.searchsorted(edges, values, side="right")


def paired(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return a number for each pair of codes."""
    one, other = (_small(code) for code in (one, other))
    return one * (1 + int(other.max(initial=0))) + other


def _small(code: np.ndarray) -> np.ndarray:
    """Return codes as they are where they are small numbers from 0 up, else numbered anew."""
    small = code.dtype.kind in "iub" and len(code) > 0 and code.min() >= 0 and code.max() < 4 * len(code)
    return code.astype(np.int64) if small else np.unique(code, return_inverse=True)[1]


def grouped_states(states: np.ndarray) -> np.ndarray:
    """Return states as they are where there are few, else in `MOST_GROUPS` groups that mean nothing."""
    return states if states.max(initial=0) < MOST_GROUPS else states % MOST_GROUPS
