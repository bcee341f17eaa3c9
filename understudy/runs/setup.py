"""What one run needs, and what every form of the loop reads from a rehearsal."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.contracts import HasOpening, HasState, Rehearsal, Stop, TellsStop
from understudy.contracts.offering import offers
from understudy.errors import ContractError
from understudy.runs.backends import always
from understudy.runs.probes import Readings
from understudy.runs.record import RunRecord


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
        return int(np.iinfo(np.int64).max) if self.max_steps is None else self.max_steps

    def new_record(self) -> RunRecord:
        """Return an empty record of the run."""
        return RunRecord(self.simulator, self.readings, self.seed, self.max_steps)

    def check_cancelled(self) -> None:
        """Raise `Cancelled` where `keep_going` returns False."""
        if not self.keep_going():
            raise Cancelled("the run was cancelled: keep_going returned False")


def opening_of(rehearsal: Rehearsal) -> int:
    """Return the row that the current episode began with; -1 where the rehearsal does not say."""
    return rehearsal.opening if offers(rehearsal, HasOpening) else -1


def state_of(rehearsal: Rehearsal) -> int:
    """Return the state of the current observation; -1 where the rehearsal does not say."""
    return rehearsal.state if offers(rehearsal, HasState) else -1


def not_a_step(rehearsal: Rehearsal, returned: Any) -> ContractError:
    """Return the error for a rehearsal whose `step` returned something else than a `Step`."""
    return ContractError(
        f"step(policy) of {type(rehearsal).__name__} returned a {type(returned).__name__}; return "
        "understudy.contracts.Step, or raise understudy.contracts.Exhausted(Stop(...)) when the log has no answer"
    )


def stop_of(rehearsal: Rehearsal, n_steps: int) -> Stop:
    """Return why a run stopped: what the rehearsal says, or, where it does not say, that `max_steps` was reached."""
    return rehearsal.stop() if offers(rehearsal, TellsStop) else Stop("max steps", counts={"steps": n_steps})
