"""Parts of very large logs, for tests that would not fit into memory."""

import numpy as np

import understudy as us
from understudy.logs.statistics.samples import STRETCHES, stretches

MOST_TESTED = 20_000_000
"""Rows of which states are audited and a self-check is made: these take up to 100 bytes a row."""


def part_to_test(log: us.Log) -> us.Log:
    """Return the log, or where it is very large whole episodes from all over it, chosen by their places alone.

    A test of them is one of a shorter log with the same law: it is right as often, and sees less.
    """
    n_episodes = log.n_episodes * MOST_TESTED // max(1, len(log))
    if len(log) <= MOST_TESTED or n_episodes < STRETCHES:
        return log
    return log.select(stretches(log.n_episodes, n_episodes, np.random.default_rng(0)))


def part_in_words(part: us.Log, log: us.Log) -> str:
    """Return a sentence that says what was tested, for a log that was not tested as a whole."""
    return (
        f"states and self-check: tested on {part.n_episodes:,} episodes from all over the log, {len(part):,} of its "
        f"{len(log):,} rows"
    )
