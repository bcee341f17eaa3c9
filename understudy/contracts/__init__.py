"""What simulators, learners, encoders and environments promise each other."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from understudy.contracts.encoding import Encoder
from understudy.logs import Log

__all__ = [
    "CAUSES", "Encoder", "Exhausted", "Learner", "Log", "LoopOwner", "Rehearsal",
    "Simulator", "Step", "Steps", "Stop", "owned",
]  # fmt: skip


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


@dataclass(frozen=True)
class Stop:
    """Why a run ended, as a record that prints as a sentence.

    A state is shown as the observation it stands for; where it stands for several, by its number and one of them.

    >>> print(Stop("queue empty", state=3, place="page=3", counts={"steps": 120}))
    page=3 has no row left after 120 steps
    >>> print(Stop("queue empty for action", state=7, example="x=0.12, v=-0.4", action=1, label="buy"))
    state 7 (such as x=0.12, v=-0.4) has no row left with action buy after 0 steps
    """

    cause: str  # one of CAUSES
    state: int | None = None
    action: int | None = None
    mass: float | None = None  # policy mass on actions that the log does not support
    counts: Mapping[str, int] = field(default_factory=dict)
    place: str | None = None  # the observation that the state stands for, in words; None where they are several
    example: str | None = None  # one of these, in words
    label: str | None = None  # the action's, where the log has labels

    @property
    def group(self) -> tuple[str, str | int | None, int | None]:
        """What runs that stopped alike have in common: the cause, the place and the action."""
        return self.cause, self.state if self.place is None else self.place, self.action

    @property
    def what(self) -> str:
        """What ran out, in a word or two."""
        return CAUSES[self.cause][0].format(place=self._where("rows"), action=self._action)

    @property
    def reason(self) -> str:
        """The cause as a clause, without the counts."""
        mass = None if self.mass is None else f"{self.mass:.3g}"
        return CAUSES[self.cause][1].format(place=self._where("the log"), action=self._action, mass=mass)

    @property
    def _action(self) -> str | int | None:
        return self.action if self.label is None else self.label

    def _where(self, everywhere: str) -> str:
        if self.state is None:
            return everywhere
        if self.place is not None:
            return self.place
        noun = "exogenous part" if self.cause == "exogenous queue empty" else "state"
        return f"{noun} {self.state}" + ("" if self.example is None else f" (such as {self.example})")

    def __str__(self) -> str:
        return f"{self.reason} after {self.counts.get('steps', 0):,} steps"


CAUSES = {
    "max steps": ("nothing", "max_steps was reached"),
    "learner ended": ("nothing", "the learner asked for no further step"),
    "queue empty": ("{place}", "{place} has no row left"),
    "queue empty for action": ("{place}, action {action}", "{place} has no row left with action {action}"),
    "unsupported": (
        "{place}, action {action}",
        "{place} has no row left whose logger could take action {action} "
        "(policy mass {mass} on actions the log does not support there)",
    ),
    "never logged": ("{place}", "{place} was never logged as a state to act from"),
    "no state": ("states", "the encoder has no state for the current observation"),
    "no row": ("rows", "every logged row has been used"),
    "no opening": ("openings", "every logged opening observation has been used"),
    "exogenous queue empty": ("{place}", "{place} has no row left"),
}
"""Every way a run can end: what ran out, and how that is said."""


class Exhausted(Exception):  # noqa: N818 (nothing went wrong)
    """The log has no further answer. `stop` tells why."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(str(stop))
        self.stop = stop


@runtime_checkable
class Learner(Protocol):
    """Maps what it has seen so far to a policy."""

    def policy(self, observation: Any) -> np.ndarray:
        """The probability of each action here, now.

        Asking changes nothing: two calls between two `learn`s give the same answer.
        """

    def learn(self, step: Step) -> None:
        """Take in one step. Steps of an episode come in order; a terminated or truncated one ends it."""


@runtime_checkable
class LoopOwner(Protocol):
    """A learner that owns its loop: it is handed an environment instead of being asked for policies."""

    def rehearse(self, env: Any) -> None:
        """Act and learn in this Gymnasium env until it is enough, or until a step raises `Exhausted`.

        Rows, probes and `max_steps` are kept by the env; `env.copies(n)` are n envs that share its run. Whatever ends
        the run is raised out of `step` and must be let through.
        """


class Rehearsal(Protocol):
    """One pass of a simulator over its log. Arrays it returns are the caller's own, to keep and to write on."""

    def begin(self) -> Any:
        """Start an episode and return its first observation. Raises `Exhausted` when there is none."""

    def step(self, policy: np.ndarray) -> Step:
        """Let this policy act at the current observation. Raises `Exhausted` when the log has no answer.

        The policy may sum to 1 within 1e-5, and is normalized. After a terminated or truncated step, `begin` comes
        next.
        """


class Simulator(Protocol):
    """Decides which logged row comes next. Immutable: all that changes is in its rehearsals."""

    def start(self, seed: int) -> Rehearsal:
        """A new rehearsal. The same seed gives the same rows for the same policies."""
