"""What a learner promises, and what it may offer beside that.

`Learner` and `LoopOwner` are the two forms of a learner: one of them is needed. Every other protocol here is optional:
a learner with its members gains what the docstring says, and a learner without them runs as well.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from understudy.contracts.encoding import Encoder
from understudy.contracts.offering import offers
from understudy.contracts.steps import Step, Steps
from understudy.errors import SettingError
from understudy.logs import Log


@runtime_checkable
class Learner(Protocol):
    """A learner: maps what it has seen so far to a policy. One of the two forms that `simulate` takes."""

    def policy(self, observation: Any) -> np.ndarray:
        """Return the probability of each action at an observation, (n_actions,), summing to 1 within 1e-5.

        Asking changes nothing: two calls between two `learn`s give the same answer.
        """

    def learn(self, step: Step) -> None:
        """Take in one step. Steps of an episode come in order; a terminated or truncated one ends it."""


@runtime_checkable
class LoopOwner(Protocol):
    """A learner with a loop of its own, which is handed an environment. The other form that `simulate` takes."""

    def rehearse(self, env: Any) -> None:
        """Act and learn in a Gymnasium env, a `RehearsalEnv`, until done or until a step raises `Exhausted`.

        The env records rows and probes and keeps to `max_steps`; `env.copies(n)` are n envs that share its run. Do not
        catch what `step` raises: it ends the run.
        """


# What a loop owner may offer.


@runtime_checkable
class HasPlannedSteps(Protocol):
    """A loop owner that knows how many steps it will take.

    Promised: `rehearse` ends by itself after about `total_timesteps` steps; None where it does not. Gained: simulators
    that never run out need no max_steps=.
    """

    total_timesteps: int | None


@runtime_checkable
class HasObservationSpace(Protocol):
    """A loop owner that says which Gymnasium space observations are in.

    Promised: the space holds every observation of the log; None for the range of the log's observations. Gained: the
    env that is handed to `rehearse` has that space.
    """

    observation_space: Any


# What a learner may offer to be faster.


@runtime_checkable
class ObservationCodes(Protocol):
    """How a learner with a table finds the row of an observation.

    Promised: every observation has a code from 0 to n - 1, the same each time. Gained: compiled loops work on codes.
    """

    n: int
    encoder: Encoder | None  # None: observations are integers, and are their own codes

    def batch(self, observations: np.ndarray, needed: np.ndarray | bool = True) -> np.ndarray:
        """Return the code of each observation as int32; 0 where none is needed (after a terminal step)."""


@runtime_checkable
class CompiledLearner(Protocol):
    """A learner whose state is a NamedTuple of arrays that kernels work on.

    Promised: `act` and `learn`, registered for the class of that NamedTuple with `register_kernels`, do what `policy`
    and `learn` do. Gained: the whole loop is compiled, a thousand times as fast, and runs go on in parallel threads.
    A subclass that overrides `policy` or `learn` without `arrays` is not compiled.
    """

    codes: ObservationCodes | None  # None where the policy is the same for every observation

    def arrays(self) -> Any:
        """Return the NamedTuple of arrays, the same object each time; None where this learner cannot be compiled."""


@runtime_checkable
class ReadsObservations(Protocol):
    """A learner whose kernels read observations themselves, such as vectors of features, and need no table of codes.

    Promised: `act` and `learn`, registered for the class of what `arrays_on` returns, do what `policy` and `learn` do
    where `code` is a position in the log: r is row r's next observation, and N + e, in a log of N rows, is the first
    observation of episode e, `log.observation[log.starts[e]]`. Gained: the loop is compiled on logs whose observations
    are vectors that never repeat.
    """

    def arrays_on(self, log: Log) -> Any:
        """Return the NamedTuple of arrays for a run on this log; None where this learner cannot be compiled.

        The log's columns may be among them, as they are: kernels do not write on these.
        """


@runtime_checkable
class BatchLearner(Protocol):
    """A learner that gives its policies at many observations at once.

    Promised: `policies` gives what `policy` gives at each of them. Gained: faster validation.
    """

    def policies(self, observations: np.ndarray) -> np.ndarray:
        """Return the policy at each observation of a batch, (n, n_actions)."""


@runtime_checkable
class EpochLearner(BatchLearner, Protocol):
    """A learner whose policy stays the same for a known number of steps, as PPO's does during an epoch.

    Promised: `learn(step)` does the same as `collect` of that one step, and `update` when `steps_until_update` is 0.
    Gained: the loop looks ahead. It asks for the policies at observations that may come in a few large batches, runs
    compiled until the policy changes, and hands over the steps as arrays.
    """

    @property
    def steps_until_update(self) -> int:
        """The number of steps for which the policy stays as it is; 0 when `update` is due."""

    def collect(self, steps: Steps) -> None:
        """Take in consecutive steps, at most `steps_until_update` of them."""

    def update(self) -> None:
        """Change the policy; called when `steps_until_update` is 0."""


@runtime_checkable
class OldEpochLearner(Protocol):
    """An epoch learner by the names that its members had before this release: it is told the new ones.

    Gained: nothing but that warning; it is run step by step.
    """

    frozen: int

    def note(self, steps: Steps) -> None:
        """Now `collect`."""


@runtime_checkable
class StackedLearner(EpochLearner, Protocol):
    """Epoch learners of one kind that compute together. Gained: blocks of up to ten runs, or of `stack_size`
    where they say so (`HasStackSize`), are trained as one batch.

    Promised: each of them ends up as it would have alone.
    """

    @property
    def stack_key(self) -> Any:
        """Learners with equal keys can be stacked."""

    @staticmethod
    def stacked_policies(learners: Sequence[Any]) -> Callable[[Sequence[Any]], np.ndarray]:
        """Return a function of one observation for each learner to their policies, valid until one is updated."""

    @staticmethod
    def update_all(learners: Sequence[Any]) -> None:
        """Do what `update` does, for all of them at once."""


@runtime_checkable
class HasStackSize(Protocol):
    """A stacked learner that says how many of them are to be trained together.

    Promised: at least 1, and the same for all learners with one `stack_key`. Gained: blocks of `stack_size` runs are
    made together, instead of ten.
    """

    stack_size: int


@runtime_checkable
class HasDevice(Protocol):
    """A learner that says where it computes: "cpu", or the name of a GPU.

    Promised: the same for all learners with one `stack_key`. Gained: on "cpu" its stacks are smaller than `stack_size`
    where that keeps more cores busy; on a GPU blocks are of `stack_size`, and nothing is computed where workers are
    forked.
    """

    device: str


@runtime_checkable
class CompiledEpochs(Protocol):
    """An epoch learner whose epochs are compiled: it acts and collects in kernels, and is updated in Python.

    Promised: `act`, `learn` and `hear_cut`, registered for the class of what `epochs_on` returns, do what `policy`,
    `collect` of one step and `hear_cut` do where `code` is a position in the log (see `ReadsObservations`); where
    `has_policy` is False, `policy` raises an error. Gained: nothing is evaluated ahead, an epoch is one compiled call,
    and runs go on in parallel threads.
    """

    def epochs_on(self, log: Log) -> Any:
        """Return a NamedTuple of arrays for a run on this log; None where policies are to be evaluated ahead."""

    def take_in(self) -> None:
        """Take note of the steps that kernels have collected; called before anything else is asked of the learner."""


@runtime_checkable
class EpisodeAbandoner(Protocol):
    """A learner that may end an episode early.

    Promised: after each step, `abandons_episode` is True if the episode should end there. Gained: the next one begins.
    """

    abandons_episode: bool


# What probes, checks and pages read.


@runtime_checkable
class HasValue(Protocol):
    """A learner that values observations.

    Promised: asking changes nothing. Gained: `probes.start_value` reads it.
    """

    def value(self, observation: Any) -> float:
        """Return what the learner expects of an episode from this observation on."""


@runtime_checkable
class HasValues(Protocol):
    """A learner that values many observations at once.

    Promised: `values` gives what `value` gives at each of them. Gained: `probes.start_value` is faster.
    """

    def values(self, observations: np.ndarray) -> np.ndarray:
        """Return the value of each observation of a batch."""


@runtime_checkable
class HasEstimate(Protocol):
    """A learner that evaluates a policy.

    Promised: `estimate` is its current estimate, NaN before the first. Gained: `probes.estimate` reads it.
    """

    estimate: float


@runtime_checkable
class HasActionCount(Protocol):
    """A learner or simulator that knows its number of actions.

    Promised: policies have this length; None where the number is not known. Gained: a mismatch is refused before a run.
    """

    n_actions: int | None


@runtime_checkable
class BoundsRewards(Protocol):
    """A learner that takes rewards of a known range only.

    Promised: `reward_range` is the smallest and the largest reward that it takes; None where it takes any. Gained: a
    log with other rewards is refused before a run.
    """

    reward_range: tuple[float, float] | None


@runtime_checkable
class HasLearnedState(Protocol):
    """A learner that shows what it has learned so far.

    Promised: with `settings`, this is all that decides what it does, its seed apart. Gained: results folders of a
    learner that was trained before are told from those of a fresh one.
    """

    learned_state: Any


@runtime_checkable
class HasSettings(Protocol):
    """An object that says what it depends on, its seed apart.

    Promised: two objects of one class with equal settings behave alike. Gained: results folders compare this mapping
    instead of all that the object holds, and pages show it.
    """

    settings: Mapping[str, Any]


@runtime_checkable
class HasCodes(Protocol):
    """A learner that finds observations by their codes.

    Promised: `codes` is None where it needs none. Gained: an encoder of its codes is fitted on the log of its run.
    """

    codes: ObservationCodes | None


def reward_refusal(learner: BoundsRewards, found: str) -> SettingError:
    """Return the error for a reward outside of a learner's range; `found` says which, and where."""
    low, high = learner.reward_range  # type: ignore[misc]
    return SettingError(
        f"{found}, and {type(learner).__name__} takes rewards from {low:g} to {high:g}; give it reward_range=, the "
        "smallest and the largest reward, which it scales by, or choose a learner that takes any"
    )


def codes_of(learner: Any) -> ObservationCodes | None:
    """Return the codes of a learner with a table, or None."""
    codes = learner.codes if offers(learner, HasCodes) else None
    return codes if offers(codes, ObservationCodes) else None


def defined_with_policy(learner: Any, member: str, plain: Sequence[str] = ("policy", "learn")) -> bool:
    """True if a faster form, `member`, is defined by the class that defines `policy` and `learn`, or by a subclass.

    A subclass that overrides only `policy` or `learn` acts or learns in another way than the inherited faster form, so
    that form must not be used.
    """
    lineage = type(learner).__mro__
    defining = next((cls for cls in lineage if member in vars(cls)), None)
    acting = [cls for cls in lineage if vars(cls).keys() & set(plain)]
    return defining is not None and bool(acting) and lineage.index(defining) <= lineage.index(acting[0])
