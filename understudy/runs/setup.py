"""What one run needs, and what every form of the loop reads from a rehearsal."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.contracts import (
    EpisodeCut,
    Exhausted,
    HasOpening,
    HasRung,
    HasState,
    Rehearsal,
    Step,
    Stop,
    TellsStop,
)
from understudy.contracts.ladders import ladder_of
from understudy.contracts.offering import offers
from understudy.contracts.simulating import passes_over
from understudy.errors import ContractError
from understudy.runs.backends import always
from understudy.runs.probes import Readings
from understudy.runs.record import RunRecord
from understudy.runs.shares import tell_share

WITHOUT_LIMIT = int(np.iinfo(np.int64).max)
"""Steps of a run that only the log ends."""

TELL_EVERY = 1024
"""Steps in Python after which a run tells how far it is."""


class Cancelled(Exception):  # noqa: N818 (it is not an error)
    """The run was cancelled: `keep_going` returned False."""


@dataclass(frozen=True)
class RunSetup:
    """A simulator, a learner, and the options of their run."""

    simulator: Any
    learner: Any
    seed: int
    max_steps: int | None
    readings: Readings
    keep_going: Callable[[], bool] = always

    @property
    def limit(self) -> int:
        """The number of steps to stop at."""
        return WITHOUT_LIMIT if self.max_steps is None else self.max_steps

    def new_record(self) -> RunRecord:
        """Return an empty record of the run."""
        return RunRecord(self.simulator, self.readings, self.seed, self.max_steps)

    def new_rehearsal(self) -> "CheckedRehearsal":
        """Return a rehearsal of the simulator, as the plain loop asks it."""
        rehearsal = self.simulator.start(self.seed)
        ladder = ladder_of(self.simulator)
        return CheckedRehearsal(rehearsal, self.readings.counts_visits, passes_over(self.simulator), ladder)

    def check_cancelled(self) -> None:
        """Raise `Cancelled` where `keep_going` returns False."""
        if not self.keep_going():
            raise Cancelled("the run was cancelled: keep_going returned False")

    def tell_steps(self, n_steps: int) -> None:
        """Tell how far the run is, where it is known how many steps it will have at most."""
        if self.max_steps is not None:
            tell_share(self.keep_going, n_steps / self.max_steps)


def note_step(error: Exception, record: RunRecord, learner: Any) -> None:
    """Add a note to an error that says which learner's step it comes from."""
    if any(note.startswith("raised by probe") for note in vars(error).get("__notes__", ())):
        return  # the learner was only looked at
    error.add_note(f"at step {record.n_steps + 1:,} of {type(learner).__name__}")


class NoAnswer(Exception):  # noqa: N818 (it is not an error)
    """This run's own rehearsal is exhausted. (A learner or a probe may raise the `Exhausted` of another one.)"""

    def __init__(self, stop: Stop) -> None:
        super().__init__(str(stop))
        self.stop = stop


class CheckedRehearsal:
    """A rehearsal as the plain loop asks it: its end is `NoAnswer`, and what is not a `Step` is refused."""

    def __init__(
        self, rehearsal: Rehearsal, counts_visits: bool, passes_over: bool = False, ladder: tuple[str, ...] = ()
    ) -> None:
        self._rehearsal, self._counts_visits, self._passes_over = rehearsal, counts_visits, passes_over
        self._has_ladder, self._may_cut = bool(ladder), "cut" in ladder
        self.rung = 0  # of the last step, where the simulator has a ladder
        self.state = -1  # of the current observation, where visits are counted

    def begin(self) -> Any:
        """Start an episode and return its first observation."""
        try:
            observation = self._rehearsal.begin()
        except Exhausted as exhausted:
            raise NoAnswer(exhausted.stop) from None
        if self._counts_visits:
            self.state = state_of(self._rehearsal)
        return observation

    def step(self, policy: Any) -> Step | EpisodeCut | None:
        """Let this policy act; return None where the episode is passed over, `EpisodeCut` where it is cut."""
        try:
            step = self._rehearsal.step(policy)
        except Exhausted as exhausted:
            raise NoAnswer(exhausted.stop) from None
        if isinstance(step, EpisodeCut) and self._may_cut:
            return step
        if not isinstance(step, Step) and not (step is None and self._passes_over):
            raise not_a_step(self._rehearsal, step)
        if self._counts_visits:
            self.state = state_of(self._rehearsal)
        if self._has_ladder:
            self.rung = rung_of(self._rehearsal)
        return step

    @property
    def opening(self) -> int:
        """The row that the current episode began with."""
        return opening_of(self._rehearsal)

    def stop(self, n_steps: int) -> Stop:
        """Return why a run ends that could have gone on."""
        return stop_of(self._rehearsal, n_steps)


def opening_of(rehearsal: Rehearsal) -> int:
    """Return the row that the current episode began with; -1 where the rehearsal does not say."""
    return rehearsal.opening if offers(rehearsal, HasOpening) else -1


def state_of(rehearsal: Rehearsal) -> int:
    """Return the state of the current observation; -1 where the rehearsal does not say."""
    return rehearsal.state if offers(rehearsal, HasState) else -1


def rung_of(rehearsal: Rehearsal) -> int:
    """Return the rung of a ladder that served the last step; 0 where the rehearsal does not say."""
    return rehearsal.rung if offers(rehearsal, HasRung) else 0


def not_a_step(rehearsal: Rehearsal, returned: Any) -> ContractError:
    """Return the error for a rehearsal whose `step` returned something else than a `Step`."""
    return ContractError(
        f"step(policy) of {type(rehearsal).__name__} returned a {type(returned).__name__}; return "
        "understudy.contracts.Step, or raise understudy.contracts.Exhausted(Stop(...)) when the log has no answer"
    )


def stop_of(rehearsal: Rehearsal, n_steps: int) -> Stop:
    """Return why a run stopped: what the rehearsal says, or, where it does not say, that `max_steps` was reached."""
    return rehearsal.stop() if offers(rehearsal, TellsStop) else Stop("max steps", counts={"steps": n_steps})
