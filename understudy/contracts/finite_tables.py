"""A finite problem written out as tables, and kernels that draw from them."""

from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel
from understudy.contracts.streams import ENVIRONMENT, uniform


class Tables(NamedTuple):
    """A finite problem: S states that emit observations, A actions, at most K outcomes of each.

    Probabilities are stored cumulated along their last axis. Unused outcomes repeat the last cumulated value, so they
    are never picked.
    """

    start: np.ndarray  # (S,) float64: probability of beginning in a state, cumulated
    outcome: np.ndarray  # (S, A, K) float64: probability of each outcome, cumulated
    next_state: np.ndarray  # (S, A, K) int32
    reward: np.ndarray  # (S, A, K) float64
    terminated: np.ndarray  # (S, A, K) bool
    emission: np.ndarray  # (S, E) float64: probability of each observation a state emits, cumulated
    observation: np.ndarray  # (S, E) int32: the code of that observation


@kernel
def pick(cumulated, u):
    """Return the first index whose cumulated probability exceeds u."""
    last = len(cumulated) - 1
    for index in range(last):
        if u < cumulated[index]:
            return index
    return last


@kernel
def pick_start(tables, streams):
    """Draw the state that an episode begins in."""
    return pick(tables.start, uniform(streams, ENVIRONMENT))


@kernel
def emit(tables, state, streams):
    """Draw an observation that a state emits."""
    if tables.observation.shape[1] == 1:
        return tables.observation[state, 0]
    return tables.observation[state, pick(tables.emission[state], uniform(streams, ENVIRONMENT))]


@kernel
def pick_outcome(tables, state, action, streams):
    """Draw the outcome of an action."""
    if tables.outcome.shape[2] == 1:
        return 0
    return pick(tables.outcome[state, action], uniform(streams, ENVIRONMENT))
