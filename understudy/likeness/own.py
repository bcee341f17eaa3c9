"""Likeness by a distance of your own between observations."""

from collections.abc import Callable
from typing import Any

import numpy as np

from understudy.contracts import Log
from understudy.contracts.naming import name_of
from understudy.errors import ContractError, SettingError
from understudy.likeness.pairs import NEIGHBORS, Lists, lists_of_distances, radii_of_distances, sampled
from understudy.likeness.pruning import PairTest
from understudy.settings import positive

MOST_STATES = 20_000
"""All pairs are compared: so many states make 400 million distances."""

N_CHECKED = 50  # states whose distances are compared both ways


def function(f: Callable[[np.ndarray, np.ndarray], Any], *, tested: bool = True) -> "FunctionLikeness":
    """Return the likeness of a distance of your own.

    `f(some, others)` takes two batches of observations, (n, ...) and (m, ...), and returns the distance of each of the
    one from each of the other, (n, m): 0 or more, the same both ways, infinite for what is never alike. Of a state with
    several observations the first in the log counts. Where `tested`, two states are not alike if the log shows that
    they are worth more apart than the rule of `audit` allows.

    >>> function(lambda some, others: abs(some[:, None] - others))
    function(<lambda>)
    """
    return FunctionLikeness(f, tested)


class FunctionLikeness:
    """States are alike where a function of their observations is small: see `function`."""

    def __init__(self, f: Callable[[np.ndarray, np.ndarray], Any], tested: bool) -> None:
        if not callable(f):
            raise ContractError(f"likeness.function takes a function of two batches of observations, not {f!r}")
        self._f, self._test = f, PairTest(tested)

    @property
    def settings(self) -> dict[str, Any]:
        """The function, and whether pairs are tested."""
        return {"likeness": "function", "function": self._f, "tested": self._test.on}

    def neighbors(self, log: Log, state: np.ndarray, next_state: np.ndarray, n_states: int, radius: float) -> Lists:
        states, examples = self._examples(log, state, next_state)
        lists = lists_of_distances(
            lambda part: self._distances(examples[part], examples), states, n_states, positive("radius", radius)
        )  # fmt: skip
        return self._test(lists, log, state, next_state, n_states)

    def radii(self, log: Log, state: np.ndarray, next_state: np.ndarray, n_states: int) -> np.ndarray:
        states, examples = self._examples(log, state, next_state)
        if len(states) < 2:
            return np.empty(0)
        chosen = sampled(len(states))
        distance = self._distances(examples[chosen], examples)
        distance[np.arange(len(chosen)), chosen] = np.inf
        nearest = np.sort(distance, axis=1)[:, : min(NEIGHBORS[-1], len(states) - 1)]
        return radii_of_distances(nearest)

    def _examples(self, log: Log, state: np.ndarray, next_state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the states that the log has, (n,), and an observation of each, (n, ...), both ways checked."""
        seen = np.concatenate([state, next_state])
        states, first = np.unique(seen, return_index=True)
        states, first = (states[1:], first[1:]) if len(states) and states[0] < 0 else (states, first)
        if len(states) > MOST_STATES:
            raise SettingError(
                f"the log has {len(states):,} states, and likeness.function compares up to {MOST_STATES:,}; use "
                "likeness.observations(), or states that merge more"
            )
        own = np.where(first < len(log), first, 0)
        examples = log.observation[own]
        next_only = first >= len(log)
        examples[next_only] = log.next_observation[first[next_only] - len(log)]
        some = examples[:N_CHECKED]
        both_ways = self._distances(some, some)
        if not np.allclose(both_ways, both_ways.T, rtol=1e-6, atol=1e-9):
            raise ContractError(
                f"{name_of(self)} is not the same both ways; a distance from a to b is that from b to a"
            )
        return states, examples

    def _distances(self, some: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the function's distances. Raise `ContractError` where they are not numbers from 0 up, (n, m)."""
        found = np.array(self._f(some.copy(), others.copy()), dtype=np.float64)
        if found.shape != (len(some), len(others)):
            raise ContractError(
                f"{name_of(self)} returned shape {found.shape} for batches of {len(some)} and {len(others)} "
                f"observations; it has to return ({len(some)}, {len(others)}) distances"
            )
        if np.isnan(found).any() or (found < 0).any():
            raise ContractError(f"{name_of(self)} returned NaN or a negative number; distances are 0 or more")
        return found

    def __repr__(self) -> str:
        named = self._f if callable(self._f) and isinstance(self._f, type(function)) else type(self._f)
        return f"function({named.__name__})"
