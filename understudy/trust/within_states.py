"""Tests within states: given state and action, does anything else that is known of a row predict what follows?

Where a state is sufficient and outcomes have one law over the whole log, neither the observation, nor what came before
it, nor the time of the row does. Then outcomes may be permuted within each state and action. The statistic of a state
is that of `encoders.sufficiency`; the largest over all states, each standardized, is compared with the largest of
permuted rows, so that the level holds for all states together, however many they are.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from understudy.contracts import Log
from understudy.encoders.sufficiency import Blocks, dependence, observation_blocks, outcome_blocks, sampled
from understudy.logs.naming import like_words, observation_words

MOST_STATES = 400  # tested: those with most rows
MOST_ROWS, MORE_ROWS = 200, 500  # of a state and action, drawn at random: for a first look, for a closer one
WIDEST = 8  # features of a block; wider ones are projected at random

Features = Callable[[np.ndarray, np.random.Generator], Blocks]
"""Makes blocks of features of some rows."""


class StatedLog(NamedTuple):
    """A log, with the states that an encoder makes of its observations."""

    log: Log
    state: np.ndarray  # (N,) of each row's observation; -1 for none
    next_state: np.ndarray  # (N,)

    @property
    def states(self) -> np.ndarray:
        """The states that rows leave from, in order."""
        return np.unique(self.state[self.state >= 0])

    def words(self, state: int) -> str:
        """Return a state by the columns and values of an observation that it stands for."""
        seen = self.log.observation[self.state == state]
        example = observation_words(self.log.spec, seen[0])
        n = len(np.unique(seen.reshape(len(seen), -1), axis=0))
        return example if n == 1 else like_words(example, n - 1)

    def observation(self, rows: np.ndarray, rng: np.random.Generator) -> Blocks:
        """Return features of the observation of each row."""
        return observation_blocks(self.log.observation[rows], rng)

    def history(self, rows: np.ndarray, rng: np.random.Generator) -> Blocks:
        """Return features of the step before each row: its state and its action; 0 where an episode begins."""
        first = np.isin(rows, self.log.starts)
        before = np.where(first, rows, rows - 1)
        columns = (self.state[before], self.log.action[before])
        blocks = [block for column in columns for block in observation_blocks(column, rng)]
        return [first[:, None].astype(np.float32), *(np.where(first[:, None], 0, block) for block in blocks)]

    def time(self, rows: np.ndarray, rng: np.random.Generator) -> Blocks:
        """Return features of each row's place in the log: a trend, and the first half against the second."""
        n = len(self.log)
        return [(rows / n)[:, None], (rows >= n / 2)[:, None].astype(np.float64)]

    def outcomes(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[Blocks, Blocks]:
        """Return features of the reward of each row, and of what follows: the end, the next observation and state."""
        reward, *following = outcome_blocks(self.log, rows, rng)
        over = self.log.terminated[rows, None]
        states = [np.where(over, 0, block) for block in observation_blocks(self.next_state[rows], rng)]
        return [reward], [*following, *states]


class Predictions(NamedTuple):
    """How well features predict outcomes within each state, beside what they do for permuted rows."""

    state: np.ndarray  # (K,) the states that could be tested
    statistic: np.ndarray  # (K, 2, 1 + permutations): of rewards and of what follows; the first is that of the log
    n_rows: int  # in these states


def predictions(
    stated: StatedLog,
    features: Features,
    only: np.ndarray,
    rng: np.random.Generator,
    permutations: int,
    most_rows: int = MOST_ROWS,
) -> Predictions:
    """Return how well features predict outcomes within the largest of some states (`only`), given the action.

    At most `most_rows` of each state and action are used, drawn at random. Statistics are standardized over those of
    permuted rows.
    """
    order = np.argsort(stated.state, kind="stable")
    begins, ends = (np.searchsorted(stated.state[order], only, side) for side in ("left", "right"))
    tested: list[int] = []
    statistics: list[np.ndarray] = []
    n_rows = 0
    for place in np.argsort(begins - ends, kind="stable")[:MOST_STATES]:
        members = order[begins[place] : ends[place]]
        rows = sampled(members, stated.log.action[members], rng, most_rows)
        if not len(rows):
            continue
        action, left = stated.log.action[rows], _narrow(features(rows, rng), rng)
        rights = [_narrow(right, rng) for right in stated.outcomes(rows, rng)]
        statistics += map(_standardized, dependence(left, rights, action, rng, permutations))
        tested.append(int(only[place]))
        n_rows += len(members)
    found = np.array(statistics).reshape(len(tested), 2, 1 + permutations)
    return Predictions(np.array(tested, dtype=np.int64), found, n_rows)


def p_value(*found: Predictions) -> float:
    """Return the p-value of no features of these predicting outcomes, in any state or in all states together."""
    tested = [one.statistic for one in found if len(one.state)]
    each = [statistic.reshape(-1, statistic.shape[-1]) for statistic in tested]
    together = [_standardized(kind) for statistic in tested for kind in statistic.sum(axis=0)]
    largest = np.concatenate([*each, together]).max(axis=0)
    return (1 + int((largest[1:] >= largest[0] - 1e-4).sum())) / len(largest)


def _narrow(blocks: Blocks, rng: np.random.Generator) -> Blocks:
    """Return blocks of at most `WIDEST` columns."""
    return [b if b.shape[1] <= WIDEST else b @ rng.normal(size=(b.shape[1], WIDEST)).astype(np.float32) for b in blocks]


def _standardized(statistic: np.ndarray) -> np.ndarray:
    """Return a statistic of mean 0 and variance 1 over its permutations; 0 where it varies by rounding only."""
    mean, spread = statistic.mean(), statistic.std()
    return (statistic - mean) / spread if spread > 1e-4 * abs(mean) and spread > 1e-9 else np.zeros_like(statistic)
