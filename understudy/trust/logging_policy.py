"""The logging policy simulated by QBE on some episodes of a log: many episodes, each of at most so many steps.

An episode that finds no row is not the end of the run, as it is for the simulator `qbe`: where all rows of a queue were
served, they are served again (counted in `again`), and where a queue never had one, the episode is cut off there. A
comparison cuts real episodes off at the same places, so that both are cut off by one rule.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from understudy.contracts import Log
from understudy.contracts.compiling import routine
from understudy.contracts.streams import ACCEPTANCE, streams_of, uniform
from understudy.contracts.vocabulary import Vocabulary
from understudy.simulators.index import grouped

NEVER = np.iinfo(np.int64).max
MOST_CUT = 0.05  # share of logged episodes that may be cut off for want of rows
OVERDRAFT = 0.01  # share of simulated steps that may be served again, as forecast from the other episodes


@dataclass(frozen=True, eq=False)
class Episodes:
    """Episodes as lists of rows, whether logged or simulated; the first observation is that of the opening row."""

    opening: np.ndarray  # (E,)
    rows: np.ndarray  # of all episodes, one after the other
    starts: np.ndarray  # (E + 1,) where each episode's rows begin
    again: int = 0  # rows that had been served before

    def __len__(self) -> int:
        return len(self.opening)

    @property
    def lengths(self) -> np.ndarray:
        """The number of rows of each episode."""
        return np.diff(self.starts)

    @property
    def number(self) -> np.ndarray:
        """The number of the episode that each row is in."""
        return np.repeat(np.arange(len(self)), self.lengths)


class Lookup(NamedTuple):
    """Rows grouped by a key, each group in the order of the log."""

    first: np.ndarray
    members: np.ndarray


class LoggingPolicy:
    """The logging policy of a log with all propensities, to be simulated on some of its episodes.

    The policy at a simulated observation is the propensity of the logged row with the same observation that is nearest
    in time to the simulated step; so a logger that changes slowly over the log is followed. Where no row has that
    observation, as after a row that was truncated, it is that of the nearest row in the same state.
    """

    def __init__(self, log: Log, state: np.ndarray, next_state: np.ndarray) -> None:
        assert log.propensity is not None
        self.log, n_actions = log, log.spec.n_actions
        both = np.concatenate([state, next_state])
        codes = np.where(both < 0, -1, np.unique(both, return_inverse=True)[1])
        self.state, self.next_state = codes[: len(log)], codes[len(log) :]
        self.n_keys = (1 + int(codes.max())) * n_actions
        self.key = np.where(self.state < 0, -1, self.state * n_actions + log.action)
        vocabulary = Vocabulary(log.observation)
        self._next_code = vocabulary.codes(log.next_observation)
        self._same_observation = Lookup(*grouped(vocabulary.codes(log.observation), len(vocabulary)))
        self._same_state = Lookup(*grouped(self.state, 1 + int(codes.max())))
        self._limit = log.max_episode_steps or NEVER

    def supply(self, episodes: np.ndarray) -> np.ndarray:
        """Return the number of rows that these episodes have in each queue."""
        return np.bincount(self.key[self.log.rows_of(episodes)] + 1, minlength=self.n_keys + 1)[1:]

    def logged(self, episodes: np.ndarray, supply: np.ndarray, horizon: int) -> Episodes:
        """Return logged episodes, each cut off at the horizon and at its first row whose queue has no supply."""
        rows, lengths = self.log.rows_of(episodes), np.diff(self.log.starts)[episodes]
        kept = np.minimum(np.minimum(lengths, horizon), self._first_missing(supply, episodes))
        begins = np.cumsum(lengths) - lengths
        within = np.arange(len(rows)) - np.repeat(begins, lengths) < np.repeat(kept, lengths)
        return Episodes(self.log.starts[:-1][episodes], rows[within], np.append(0, np.cumsum(kept)))

    def reach(self, supply: np.ndarray, episodes: np.ndarray) -> int:
        """Return the largest number of steps up to which few of these episodes meet a queue without supply."""
        met = np.sort(self._first_missing(supply, episodes))
        return int(met[int(MOST_CUT * len(met))])

    def _first_missing(self, supply: np.ndarray, episodes: np.ndarray) -> np.ndarray:
        """Return how many rows of each episode come before the first whose queue has no supply; `NEVER` where all."""
        rows, lengths = self.log.rows_of(episodes), np.diff(self.log.starts)[episodes]
        begins, key = np.cumsum(lengths) - lengths, self.key[rows]
        missing = np.where((key < 0) | (supply[key] == 0), np.arange(len(rows)), NEVER)
        first = np.minimum.reduceat(missing, begins)
        return np.where(first < NEVER, first - begins, NEVER)

    def affordable(self, supply: np.ndarray, others: np.ndarray, most: int) -> int:
        """Return how many episodes to simulate: at most `most`, halved until the supply would suffice for `others`.

        It looks at the rows that other logged episodes need, so that it does not depend on how the simulation goes.
        """
        n = most
        while n > 1:
            demand = self.supply(others[:n])
            beyond = np.maximum(0, demand - supply)[supply > 0].sum()
            if beyond <= OVERDRAFT * demand.sum():
                break
            n //= 2
        return n

    def simulated(self, episodes: np.ndarray, n: int, horizon: int, seed: int) -> Episodes:
        """Return n simulated episodes that take their openings and rows from these episodes, in this order."""
        log = self.log
        sources = log.rows_of(episodes)
        first, members = grouped(self.key[sources], self.n_keys)
        opening = log.starts[:-1][episodes[:n]]
        served, lengths = np.empty(n * horizon, np.int64), np.zeros(n, np.int64)
        again = serve(
            Lookup(first, sources[members]), np.zeros(self.n_keys, np.int64), self._same_observation, self._same_state,
            self._next_code, self.state, self.next_state, log.action, log.terminated,
            np.ascontiguousarray(log.propensity), opening, min(horizon, self._limit), streams_of(seed), served, lengths,
        )  # fmt: skip
        starts = np.append(0, np.cumsum(lengths))
        return Episodes(opening, served[: starts[-1]], starts, int(again))


@routine
def nearest(lookup, key, time):
    """Return the row of a key that is nearest to a time, a row number; -1 where the key has none."""
    if key < 0 or lookup.first[key] == lookup.first[key + 1]:
        return -1
    low, high = lookup.first[key], lookup.first[key + 1] - 1
    while low < high:  # the first row that is not before the time, or the last row
        middle = (low + high) // 2
        if lookup.members[middle] < time:
            low = middle + 1
        else:
            high = middle
    row = lookup.members[low]
    if low > lookup.first[key] and time - lookup.members[low - 1] < row - time:
        row = lookup.members[low - 1]
    return row


@routine
def serve(
    queues, taken, same_observation, same_state, next_code, state, next_state, action, terminated, propensity, opening,
    horizon, streams, served, lengths,
):  # fmt: skip
    """Write the rows of simulated episodes and their lengths, and return how many rows were served again."""
    n_actions, n, again = propensity.shape[1], 0, 0
    for episode in range(len(opening)):
        here, judge = state[opening[episode]], opening[episode]  # the judge is the row whose propensity is used
        step = 0
        while step < horizon and here >= 0 and judge >= 0:
            left = uniform(streams, ACCEPTANCE) * propensity[judge].sum()
            chosen = 0
            while chosen < n_actions - 1 and left >= propensity[judge, chosen]:
                left -= propensity[judge, chosen]
                chosen += 1
            key = here * n_actions + chosen
            first, size = queues.first[key], queues.first[key + 1] - queues.first[key]
            if size == 0:
                break
            again += taken[key] >= size
            row = queues.members[first + taken[key] % size]
            taken[key] += 1
            served[n] = row
            n, step = n + 1, step + 1
            if terminated[row]:
                break
            here = next_state[row]
            judge = nearest(same_observation, next_code[row], opening[episode] + step)
            if judge < 0:
                judge = nearest(same_state, here, opening[episode] + step)
        lengths[episode] = step
    return again
