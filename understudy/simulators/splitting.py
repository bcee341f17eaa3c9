"""The two parts of observations as codes and arrays, for simulators that replay them apart."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from understudy.contracts import Log, SplitsObservations
from understudy.contracts.vocabulary import Vocabulary
from understudy.errors import ContractError, SettingError
from understudy.simulators.index import Index

MOST_PAIRS = 50_000_000


class PartEncoder:
    """An encoder whose states are one part of each observation, as an oracle splits them."""

    fitted = True

    def __init__(self, split: Callable, part: int) -> None:
        self.split, self.part = split, part

    def fit(self, log: Log) -> "PartEncoder":
        """Return itself: nothing is learned."""
        return self

    def encode(self, observations: np.ndarray) -> np.ndarray:
        """Return that part of each observation, from 0 up. Raise `ContractError` where split returns anything else."""
        parts = self.split(observations)
        if not isinstance(parts, tuple | list) or len(parts) != 2:
            raise ContractError("split must return two arrays: the endogenous and exogenous part of each observation")
        part = np.asarray(parts[self.part])
        if part.dtype.kind not in "iu" or part.shape != (len(observations),) or (len(part) and part.min() < 0):
            raise ContractError(
                f"split made {part.dtype} of shape {part.shape} of {len(observations):,} observations; "
                "parts are integers from 0 up, one for each"
            )
        return part


class CodedParts:
    """The two parts of a log's observations, by a learned split: a code for each value, and an observation with it."""

    def __init__(self, log: Log, split: SplitsObservations) -> None:
        self.split = split
        here, there = split.parts(log.observation), split.parts(log.next_observation)
        self._values = [
            Vocabulary(*(np.ascontiguousarray(part) for part in pair)) for pair in zip(here, there, strict=True)
        ]
        seen = np.concatenate([log.observation, log.next_observation])
        self.examples = []  # of each part, (n values, ...): observations that have them
        for codes in self.of(seen):
            first = np.unique(codes, return_index=True)[1]
            self.examples.append(seen[first])

    def of(self, observations: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the code of each part of observations, -1 for a value that the log does not have."""
        parts = self.split.parts(observations)
        return tuple(values.codes(np.ascontiguousarray(part)) for values, part in zip(self._values, parts, strict=True))

    def merge(self, z: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return the observations of pairs of codes."""
        return self.split.joined(self.examples[0][z], self.examples[1][c])


@dataclass(frozen=True, eq=False)
class LearnedRewards:
    """How rewards are formed by a learned split: the row's share, and that of the exogenous parts."""

    of_row: np.ndarray | float  # (N,) what each row's reward is without its exogenous part's share
    leaving: np.ndarray  # (n_exogenous,) what leaving an exogenous part adds
    known: Callable[[np.ndarray, np.ndarray], np.ndarray]  # of pairs of codes, whether a reward for them is known


def learned_oracles(log: Log, split: SplitsObservations) -> dict[str, Any]:
    """Return split, merge and reward functions of a learned split, and how rewards are formed."""
    coded = CodedParts(log, split)
    if split.reward_form == "table":
        z, c = coded.of(log.next_observation)
        sums = np.full((len(coded.examples[0]), len(coded.examples[1])), np.nan)
        sums[z, c] = log.reward
        known, nothing = np.isfinite(sums), np.zeros(len(coded.examples[1]))
        learned = LearnedRewards(0.0, nothing, lambda z, c: known[z, c])
        return {
            "split": coded.of, "merge": coded.merge, "learned": learned,
            "reward": lambda z, c: np.where(known[z, c], sums[z, c], 0.0),
        }  # fmt: skip
    leaving, arriving = split.reward_shares(coded.examples[1])
    learned = LearnedRewards(reward_of_rows(log, split), leaving, lambda z, c: np.ones(len(z), bool))
    return {"split": coded.of, "merge": coded.merge, "learned": learned, "reward": lambda z, c: arriving[c]}


def reward_of_rows(log: Log, split: SplitsObservations) -> np.ndarray:
    """Return the reward of each row without its exogenous part's share; itself where that part has none."""
    share = split.reward_shares(log.observation)[0] + split.reward_shares(log.next_observation)[1]
    return log.reward - share


def rewarded(index: Index, rewards: np.ndarray | float) -> Index:
    """Return an index with other rewards in its records."""
    records = index.records.copy()
    records["reward"] = rewards
    return replace(index, records=records)


def require_pairs(n_endogenous: int, n_exogenous: int) -> None:
    """Raise `SettingError` where there are too many pairs of parts to be merged ahead."""
    if n_endogenous * n_exogenous > MOST_PAIRS:
        raise SettingError(
            f"{n_endogenous:,} endogenous and {n_exogenous:,} exogenous parts are too many pairs to merge ahead; "
            "split into parts with fewer values"
        )
