"""What a learner is told: one step, or many as arrays."""

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np


class Step(NamedTuple):
    """What a learner is told of one step."""

    observation: Any
    action: int
    reward: float
    next_observation: Any
    terminated: bool  # nothing follows: learners do not bootstrap
    truncated: bool  # the episode was cut off here: learners bootstrap, then a new episode begins
    row: int = -1  # the logged row whose action and outcome this is; -1 in a real environment
    emission: int = -1  # the row that lent the next observation or its exogenous part, where that is another one


NEVER_CHANGE = (int, float, str, np.number, np.bool_)


def owned(observation: Any) -> Any:
    """An observation for its receiver to keep and to write on: a copy, unless it is a number.

    A read-only view is not enough: `torch.as_tensor` shares its memory and writes past NumPy's flag.
    """
    if isinstance(observation, np.ndarray) and not observation.dtype.hasobject:
        return observation.copy()
    return observation if isinstance(observation, NEVER_CHANGE) else deepcopy(observation)


class Steps(NamedTuple):
    """Consecutive steps, each field an array; for learners that take in many while their policy is frozen."""

    observation: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    next_observation: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray

    @classmethod
    def of(cls, *steps: Step) -> "Steps":
        """Steps that were made one by one."""
        return cls(*map(np.asarray, list(zip(*steps, strict=True))[:6]))
