"""What a learner learns from: one step, or many as arrays."""

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np


class Step(NamedTuple):
    """One step, as a learner is given it."""

    observation: Any
    action: int
    reward: float
    next_observation: Any
    terminated: bool  # nothing follows: learners do not bootstrap
    truncated: bool  # the episode was cut off here: learners bootstrap, then a new episode begins
    row: int = -1  # the logged row whose action and outcome this is; -1 in a real environment
    emission: int = -1  # the row that lent the next observation or its exogenous part, where that is another one


class EpisodeCut(NamedTuple):
    """What a rehearsal returns instead of a step where it cuts the episode under way: the log had no answer."""

    action: int  # the one that was drawn, and that no row has


IMMUTABLE_TYPES = (int, float, str, np.number, np.bool_)


def owned(observation: Any) -> Any:
    """Return an observation that its receiver may keep and write on: a copy, unless it is a number or a text.

    A read-only view is not enough: tensors made by `torch.as_tensor` share its memory and ignore NumPy's flag.
    """
    if isinstance(observation, np.ndarray) and not observation.dtype.hasobject:
        return observation.copy()
    return observation if isinstance(observation, IMMUTABLE_TYPES) else deepcopy(observation)


class Steps(NamedTuple):
    """Consecutive steps, each field an array; for learners whose policy stays the same for many steps."""

    observation: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    next_observation: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray

    @classmethod
    def of(cls, *steps: Step) -> "Steps":
        """Return steps that were made one by one as arrays."""
        return cls(*map(np.asarray, list(zip(*steps, strict=True))[:6]))
