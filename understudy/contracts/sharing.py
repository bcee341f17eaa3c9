"""What learners with a loop of their own and the env they are handed share: a run whose actions are accepted rows."""

from typing import Any, Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class SharedRun(Protocol):
    """One run, in which n copies of an env act. Learners that sample by themselves have their samples accepted here."""

    n_copies: int
    n_actions: int
    is_real: bool  # a true environment: the learner's own actions are taken as they are
    is_reading: bool  # probes are being read: what is sampled meanwhile is not an action

    @property
    def waiting(self) -> np.ndarray:
        """True for each copy that waits for an action, (n_copies,)."""

    @property
    def has_pending(self) -> bool:
        """True if steps were accepted that an env has yet to return."""

    def accept(self, policies: np.ndarray, *, sampled: bool = True) -> np.ndarray:
        """Take a logged row for each copy that waits, by its policy, (n_copies, n_actions).

        Returns the actions of those rows, -1 for copies that do not wait. Raises `Exhausted` when the run is over.
        """


@runtime_checkable
class HasSharedRun(Protocol):
    """An env, or a vector of envs, whose steps are a run's. Gained: `learners.accepting` works on it."""

    shared_run: SharedRun


@runtime_checkable
class RehearsalEnv(HasSharedRun, Protocol):
    """The Gymnasium env that a `LoopOwner` is handed."""

    learner: Any  # the object that probes read; the loop owner unless it sets another

    def copies(self, n: int) -> list[Any]:
        """Return this env and n - 1 others that share its run; before the first reset, once."""
