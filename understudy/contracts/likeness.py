"""What a likeness promises: which states may lend each other rows when their own have run out."""

from typing import Protocol, runtime_checkable

import numpy as np

from understudy.logs import Log


@runtime_checkable
class Likeness(Protocol):
    """Says which states are alike: after each action, about the same follows.

    Promised: the relation is symmetric, depends on nothing but the arguments, and no state is alike to itself.
    Gained: a simulator whose state has no row left may serve rows of the states that are alike.

    A part of a log is served with the same states as the whole, so `neighbors` may be called with fewer rows than
    before and the same `n_states`. A class that defines a mapping `settings` is described by it in results folders.
    """

    def neighbors(
        self, log: Log, state: np.ndarray, next_state: np.ndarray, n_states: int, radius: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each state, the other states within a radius.

        `state` and `next_state`, (N,), are the states of each row's observation and next observation, from 0 to
        n_states - 1, -1 for none. Some states may be those of no row.

        Returned are `first`, (n_states + 1,) int64, and `members`, int32: the states that are alike to state z are
        `members[first[z] : first[z + 1]]`, in increasing order. Raise `SettingError` where there are too many.
        """


@runtime_checkable
class SuggestsRadii(Protocol):
    """A likeness that knows which radii are worth trying.

    Gained: `understudy.likeness.audit` chooses a radius without being given any to choose from.
    """

    def radii(self, log: Log, state: np.ndarray, next_state: np.ndarray, n_states: int) -> np.ndarray:
        """Return some radii in increasing order, each larger than 0; none where no two states have a distance."""


@runtime_checkable
class DescribesObservations(Protocol):
    """An encoder that describes observations by what it predicts for them.

    Promised: `descriptions(observations)[i, a]` is the distribution of what follows action a, as roots of
    probabilities. Gained: `understudy.likeness.forward` compares observations by them.
    """

    def descriptions(self, observations: np.ndarray) -> np.ndarray:
        """Return the description of each observation of a batch, (n, actions, outcomes); NaN where there is none."""
