"""What simulators, rehearsals and learners promise each other where a log may answer by lower rungs, or not at all."""

from typing import Any, Protocol, runtime_checkable

from understudy.contracts.offering import offers

RUNGS = ("like", "reuse", "untried")
"""The lower rungs of a ladder, by their numbers from 1 up; 0 is a row of the state itself."""


@runtime_checkable
class HasLadder(Protocol):
    """A simulator whose steps may come from lower rungs than a row of the state itself, or that may cut episodes.

    Promised: `ladder` names its lower rungs in order, and is empty where it has none; its rehearsals say in `rung`
    which one served the last step (`HasRung`). Where "cut" is among them, `step` may return an `EpisodeCut`: the
    episode under way ends there, what was served of it stands, and `begin` comes next. Gained: `Run.rungs` and
    `Run.cuts`.
    """

    ladder: tuple[str, ...]


@runtime_checkable
class HasRung(Protocol):
    """A rehearsal of a ladder. Promised: `rung` is that of the last step, 0 for a row of the state itself."""

    rung: int


@runtime_checkable
class HearsCuts(Protocol):
    """A learner for which it matters that an episode ended where the log had no answer.

    Promised: `hear_cut` may be called after any step. Gained: it is called where a simulator cuts the episode under
    way: the step learned last was its end, as if it had been truncated. A learner that looks at single steps only, such
    as Q-learning, need not know.
    """

    def hear_cut(self) -> None:
        """Be told that the episode under way is over: no step of it follows the one learned last."""


def ladder_of(simulator: Any) -> tuple[str, ...]:
    """Return the lower rungs of a simulator, in order; none where it has no ladder."""
    return simulator.ladder if offers(simulator, HasLadder) else ()
