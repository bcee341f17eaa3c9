"""Samples of a long log, on which tests are made that would take too much time and memory on all of its rows.

Which rows are tested must not depend on what is in them: a test is then of a shorter log with the same law, and its
rate of false alarms holds as it does there. Only copies are sampled by what they hold, since a copy and its original
have to be in the sample together; the test of copies allows for any set of contents that was fixed before.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from understudy.logs.blocks import one_later, slices, width_of
from understudy.logs.log import Log
from understudy.logs.recurring import keys_of, scrambled
from understudy.logs.repeated_rows import take_rows

MOST_ROWS = 2_000_000
"""The rows that tests are made on, about; a log with no more is tested as a whole."""

STRETCHES = 1000
"""Places of the log that a sample is taken from, spread evenly over its time."""

ROWS_LOOKED_AT = 4
"""Rows of an episode by which it is sampled by what it holds: its first, its last, and some between."""


class Sample(NamedTuple):
    """Some rows of a log in their order, or all of them."""

    log: Log
    rows: np.ndarray | None = None  # (n,) the number of each row in the whole log; None where it is the whole log
    words: str = ""  # how a finding about these rows begins

    def row_numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers in the whole log of some rows of the sample."""
        return rows if self.rows is None else self.rows[rows]


def sample_of(log: Log) -> Sample:
    """Return stretches of whole episodes, one after another; stretches of rows where episodes are few and long.

    There is one stretch at a random place of each thousandth of the log, so that all times have their share.
    """
    if len(log) <= MOST_ROWS:
        return Sample(log)
    rng = np.random.default_rng(0)
    rows = None
    n_episodes = log.n_episodes * MOST_ROWS // len(log)
    if n_episodes >= STRETCHES:
        episodes = stretches(log.n_episodes, n_episodes, rng)
        rows = log.rows_of(episodes)
        what = f"{len(episodes):,} whole episodes"
    if rows is None or len(rows) > 2 * MOST_ROWS:  # a few episodes have most of the rows
        rows = stretches(len(log), MOST_ROWS, rng)
        what = f"{STRETCHES:,} stretches"
    words = f"in a sample of {len(rows):,} of {len(log):,} rows ({what}), "
    return Sample(_with_rows(log, rows), rows, words)


def stretches(n: int, n_taken: int, rng: np.random.Generator) -> np.ndarray:
    """Return about `n_taken` of the numbers 0 to n - 1, in order: a stretch of them out of each of many equal parts.

    >>> stretches(10_000_000, 5_000, np.random.default_rng(0))[:7]
    array([ 8502,  8503,  8504,  8505,  8506, 16367, 16368])
    """
    length = max(1, n_taken // STRETCHES)
    bounds = np.linspace(0, n, STRETCHES + 1).astype(np.int64)
    places = bounds[:-1] + rng.integers(np.maximum(1, np.diff(bounds) - length + 1))
    return (places[:, None] + np.arange(length)).reshape(-1)


def _with_rows(log: Log, rows: np.ndarray) -> Log:
    """Return a log of some rows with their own episodes' ids, so that rows of one episode are never taken for two."""
    chosen: dict[str, Any] = {name: take_rows(column, rows) for name, column in log.columns.items()}
    source = rows if log.source_row is None else log.source_row[rows]
    return replace(log, **chosen, dropped_reward=None, source_row=source)


def sample_by_content(log: Log) -> Sample:
    """Return the episodes with certain contents, for tests of copies: either all episodes that are equal or none."""
    if len(log) <= MOST_ROWS:
        return Sample(log)
    limit = np.uint64(int(MOST_ROWS / len(log) * 2**64))
    kept, n_rows = [], 0
    for episodes in slices(log.n_episodes, ROWS_LOOKED_AT * width_of(log.observation)):
        found = episodes.start + np.flatnonzero(_content_keys(log, episodes) < limit)
        kept.append(found)
        n_rows += int((log.starts[found + 1] - log.starts[found]).sum())
        if n_rows > 2 * MOST_ROWS:  # contents that very many episodes have, or very long ones
            break
    chosen = np.concatenate(kept)
    if not len(chosen):
        chosen = np.zeros(1, np.int64)
    rows = log.rows_of(chosen)[: 4 * MOST_ROWS]
    words = f"in a sample of {len(chosen):,} of {log.n_episodes:,} episodes (by what they hold), "
    return Sample(_with_rows(log, rows), rows, words)


def _content_keys(log: Log, episodes: slice) -> np.ndarray:
    """Return a random number for each of some episodes, equal where the episodes are."""
    first, lengths = log.starts[episodes], log.starts[one_later(episodes)] - log.starts[episodes]
    found = scrambled(lengths.astype(np.uint64))
    n_looked_at = ROWS_LOOKED_AT if int(lengths.max()) > 1 else 1
    for place in range(n_looked_at):
        rows = first + (lengths - 1) * place // max(1, n_looked_at - 1)
        for column in (log.observation, log.action, log.reward, log.next_observation):
            found = scrambled(found * np.uint64(0x9E3779B97F4A7C15) + keys_of(column[rows]).astype(np.uint64))
    return found
