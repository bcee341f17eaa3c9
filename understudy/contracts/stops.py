"""Why a run ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from understudy.errors import ContractError
from understudy.logs.naming import like_words


@dataclass(frozen=True)
class Stop:
    """Why a run ended, as a record that prints as a sentence.

    A state is shown as the observation it stands for; where it stands for several, as one of them and those like it.
    An action is shown as its column and its label or number.

    >>> print(Stop("queue empty", state=3, place="page=3", counts={"steps": 120}))
    page=3 has no row left after 120 steps
    >>> print(Stop("queue empty for action", state=7, example="x=1, v=4", others=14, action=1, label="b", column="arm"))
    x=1, v=4 (and 14 like it) has no row left with arm=b after 0 steps
    """

    cause: str  # one of CAUSES
    state: int | None = None
    action: int | None = None
    mass: float | None = None  # policy mass on actions that the log does not support
    counts: Mapping[str, int] = field(default_factory=dict)
    place: str | None = None  # the observation that the state stands for, in words; None where there are several
    example: str | None = None  # one of several observations, in words
    label: str | None = None  # the label of the action, where the log has labels
    column: str | None = None  # the log's column of actions, where it has a name
    others: int | None = None  # how many observations the state stands for beside the example, where they were counted
    bias: float | None = None  # by how much the law of an episode may be off, in total variation: an estimate, on the
    # safe side, where a bound was exceeded or the log does not support the policy; None where nothing of that was met

    def __post_init__(self) -> None:
        if not isinstance(self.cause, str) or self.cause not in CAUSES:
            raise ContractError(f"the cause of a Stop is {self.cause!r}; give one of {', '.join(map(repr, CAUSES))}")

    @property
    def group(self) -> tuple[str, str | int | None, int | None]:
        """A key that is equal for runs that stopped for the same reason: cause, place and action."""
        return self.cause, self.state if self.place is None else self.place, self.action

    @property
    def what(self) -> str:
        """What ran out, in a few words."""
        return CAUSES[self.cause][0].format(place=self._where("rows"), action=self._action)

    @property
    def reason(self) -> str:
        """The cause as a clause, without the counts."""
        mass = None if self.mass is None else f"{self.mass:.3g}"
        return CAUSES[self.cause][1].format(place=self._where("the log"), action=self._action, mass=mass)

    @property
    def _action(self) -> str:
        return f"{self.column or 'action'}={self.action if self.label is None else self.label}"

    @property
    def where(self) -> str | None:
        """The state that had no answer, in words; None where the run did not stop in a state."""
        if self.state is None or self.place is not None:
            return None if self.state is None else self.place
        is_part = self.cause == "exogenous queue empty"
        if self.example is not None:
            return "the exogenous part of " * is_part + like_words(self.example, self.others)
        return f"{'exogenous part' if is_part else 'state'} {self.state}"

    def _where(self, everywhere: str) -> str:
        return everywhere if self.where is None else self.where

    def __str__(self) -> str:
        told = f"{self.reason} after {self.counts.get('steps', 0):,} steps"
        return told if self.bias is None else f"{told}; the law of an episode may be off by {self.bias:.2g}"


CAUSES = {
    "max steps": ("nothing", "max_steps was reached"),
    "learner ended": ("nothing", "the learner asked for no further step"),
    "queue empty": ("{place}", "{place} has no row left"),
    "queue empty for action": ("{place}, {action}", "{place} has no row left with {action}"),
    "unsupported": (
        "{place}, {action}",
        "{place} has no row left whose logger could take {action} "
        "(policy mass {mass} on actions the log does not support there)",
    ),
    "never logged": ("{place}", "{place} was never logged as a state to act from"),
    "no state": ("states", "the encoder has no state for the current observation"),
    "no row": ("rows", "every logged row has been used"),
    "no opening": ("openings", "every logged opening observation has been used"),
    "exogenous queue empty": ("{place}", "{place} has no row left"),
    "exogenous part ended": (
        "the exogenous part",
        "the exogenous part was not logged any further than this episode needs it",
    ),
    "reward unknown": ("rewards", "no logged step arrives where this one does, so its reward is not known"),
    "used up": ("episodes", "every logged episode has been offered"),
    "too many cut": (
        "{place}",
        "more of the last episodes were cut off than max_cut allows, the last one where {place} had no answer left",
    ),
    "cut off": ("the recording", "the recording stopped in the middle of the episode that was going on"),
}
"""Every way a run can end: what ran out, and a clause that says so."""


class Exhausted(Exception):  # noqa: N818 (it is not an error)
    """The log has no further answer. `stop` says why."""

    def __init__(self, stop: Stop) -> None:
        if not isinstance(stop, Stop):
            raise ContractError(f"Exhausted takes a Stop: Exhausted(Stop('no row')); it was given {stop!r}")
        super().__init__(stop)  # not its sentence: what is pickled is made again from the same argument
        self.stop = stop
