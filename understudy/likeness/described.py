"""Likeness of descriptions: states are alike where an encoder predicts about the same for them."""

from typing import Any

import numpy as np

from understudy.contracts import DescribesObservations, HasSettings, Log
from understudy.contracts.encoding import Encoder
from understudy.contracts.fitting import ensure_fitted
from understudy.contracts.naming import name_of
from understudy.contracts.offering import offers
from understudy.errors import ContractError, SettingError
from understudy.likeness.pairs import NEIGHBORS, Lists, lists_of_distances, radii_of_distances, sampled
from understudy.likeness.pruning import PairTest
from understudy.likeness.remembering import Remembered
from understudy.settings import positive

MOST_STATES = 20_000
"""Descriptions take some kilobytes each."""

PER_STATE = 20  # observations of a state that its description is the mean of


def forward(encoder: Any, *, tested: bool = True) -> "DescribedLikeness":
    """Return the likeness under which states are alike where `Forward` predicts about the same for them.

    The distance is the squared Hellinger distance between the predicted distributions of what follows, under the
    action where it is largest: from 0, the same, to 1. `encoders.Forward` merges within about .02. Use it where
    observations are many numbers, of which some do not matter. Any encoder that offers
    `contracts.DescribesObservations` will do; one that is not fitted yet is fitted on the log that is asked about.
    Fit it on one half of the episodes, and simulate on the other, for a likeness that has not seen the rows it serves.

    Of a state with several observations, the mean over some of them counts. Where `tested`, two states are not alike
    if the log shows that they are worth more apart than the rule of `audit` allows.
    """
    return DescribedLikeness(encoder, tested)


class DescribedLikeness:
    """States are alike where an encoder predicts about the same for them: see `forward`."""

    def __init__(self, encoder: Any, tested: bool) -> None:
        if isinstance(encoder, type) or not offers(encoder, DescribesObservations):
            raise ContractError(f"{encoder!r} does not describe observations; give an encoders.Forward")
        self._encoder, self._test, self._descriptions = encoder, PairTest(tested), Remembered()

    @property
    def settings(self) -> dict[str, Any]:
        """The encoder's settings, and whether pairs are tested."""
        encoder = dict(self._encoder.settings) if offers(self._encoder, HasSettings) else name_of(self._encoder)
        return {"likeness": "forward", "encoder": encoder, "tested": self._test.on}

    def neighbors(self, log: Log, state: np.ndarray, next_state: np.ndarray, n_states: int, radius: float) -> Lists:
        states, described = self._found(log, state, next_state)
        lists = lists_of_distances(
            lambda part: hellinger(described[part], described), states, n_states, positive("radius", radius)
        )  # fmt: skip
        return self._test(lists, log, state, next_state, n_states)

    def radii(self, log: Log, state: np.ndarray, next_state: np.ndarray, n_states: int) -> np.ndarray:
        states, described = self._found(log, state, next_state)
        if len(states) < 2:
            return np.empty(0)
        distance = np.sort(hellinger(described[sampled(len(states))], described), axis=1)
        return radii_of_distances(distance[:, 1 : NEIGHBORS[-1] + 1])  # the first is the state itself

    def _found(self, log: Log, state: np.ndarray, next_state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the states that the log has, (n,), and the description of each, (n, actions, outcomes)."""
        return self._descriptions(log, state, next_state, lambda: self._describe(log, state, next_state))

    def _describe(self, log: Log, state: np.ndarray, next_state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if offers(self._encoder, Encoder):
            ensure_fitted(self._encoder, log)
        seen = np.concatenate([state, next_state])
        states = np.unique(seen[seen >= 0])
        if len(states) > MOST_STATES:
            raise SettingError(
                f"the log has {len(states):,} states, and forward() compares up to {MOST_STATES:,}; use "
                "likeness.observations(), or states that merge more"
            )
        chosen = some_of_each(seen, PER_STATE)
        own = chosen < len(log)
        batch = np.concatenate([log.observation[chosen[own]], log.next_observation[chosen[~own] - len(log)]])
        found = np.square(self._encoder.descriptions(batch))
        place = np.searchsorted(states, np.concatenate([seen[chosen[own]], seen[chosen[~own]]]))
        total = np.zeros((len(states), *found.shape[1:]))
        np.add.at(total, place, found)
        return states, np.sqrt(total / np.bincount(place, minlength=len(states))[:, None, None])

    def __repr__(self) -> str:
        return f"forward({name_of(self._encoder).split('  #')[0]})"


def hellinger(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return squared Hellinger distances under the action where they are largest, (n, m), from roots of probabilities.

    >>> hellinger(np.array([[[1.0, 0.0]]]), np.array([[[1.0, 0.0]], [[0.0, 1.0]]])).tolist()
    [[0.0, 1.0]]
    """
    largest = np.zeros((len(some), len(others)))
    for action in range(some.shape[1]):
        np.maximum(largest, 1.0 - some[:, action] @ others[:, action].T, out=largest)
    return largest


def some_of_each(state: np.ndarray, most: int) -> np.ndarray:
    """Return places of at most so many entries of each state, the first ones; -1 is left out.

    >>> some_of_each(np.array([5, 5, -1, 5, 2]), 2).tolist()
    [0, 1, 4]
    """
    order = np.argsort(state, kind="stable")
    order = order[state[order] >= 0]
    begins = np.flatnonzero(np.diff(state[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    return np.sort(order[rank < most])
