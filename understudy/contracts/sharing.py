"""What learners with their own loop share with the env they are handed: a run in which sampled actions are accepted."""

from typing import Any, Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class SharedRun(Protocol):
    """One run, in which n copies of an env act.

    Gained: a learner that samples its actions by itself has them sampled here, by accepting logged rows.
    """

    n_copies: int
    n_actions: int
    is_real: bool  # a true environment: the learner's own actions are taken as they are
    is_reading: bool  # probes are being read: what is sampled meanwhile is not an action

    @property
    def waiting(self) -> np.ndarray:
        """True for each copy that waits for an action, (n_copies,)."""

    @property
    def has_pending(self) -> bool:
        """True if steps were accepted that no env has returned yet."""

    def accept(self, policies: np.ndarray, *, sampled: bool = True) -> np.ndarray:
        """Take a logged row for each copy that waits, by its policy, (n_copies, n_actions).

        Return the actions of those rows, -1 for copies that do not wait. Raise `Exhausted` when the run is over.
        """


@runtime_checkable
class HasSharedRun(Protocol):
    """An env, or a vector of envs, whose steps belong to a shared run. Gained: `learners.accepting` works on it."""

    shared_run: SharedRun


@runtime_checkable
class RehearsalEnv(HasSharedRun, Protocol):
    """The Gymnasium env that a `LoopOwner` is handed. Gained: several envs can act in one run."""

    learner: Any  # the object that probes read: the loop owner, unless it sets another

    def copies(self, n: int) -> list[Any]:
        """Return this env and n - 1 others that share its run. Call it once, and before the first reset."""
