"""What a learner may offer to be told late what it earned; see `learners.Delayed`."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from understudy.contracts.steps import Step
from understudy.logs import Log


@runtime_checkable
class HasClock(Protocol):
    """A learner whose schedules and random draws follow a count of its decisions.

    Promised: `clock` is the number of decisions so far, and can be set. Gained: `learners.Delayed` sets it where
    outcomes arrive later than decisions are made; without it, draws would stay the same until the next one arrives.
    """

    clock: int


@runtime_checkable
class LearnsLate(Protocol):
    """A learner that must know, where an outcome arrives late, which policy it had when it acted, as Exp3 must.

    Promised: with the policy that it has now, `learn_late` does what `learn` does. Gained: `learners.Delayed` calls it.
    """

    def learn_late(self, step: Step, policy: np.ndarray) -> None:
        """Take in a step that was taken by an earlier policy, (n_actions,)."""


@runtime_checkable
class HearsOpenings(Protocol):
    """A learner that is told which row each episode begins with, before it is asked for a policy there.

    Promised: nothing. Gained: it can know the time of a decision, or what else the log has beside the observation.
    Such learners run in plain Python.
    """

    def hear_opening(self, row: int) -> None:
        """Be told the row that an episode begins with; -1 where there is none, as in a true environment."""


@runtime_checkable
class ChecksSimulator(Protocol):
    """A learner that is not for every simulator.

    Promised: `check_simulator` raises `SettingError` with a sentence. Gained: it is called before a run begins.
    """

    def check_simulator(self, simulator: Any) -> None:
        """Raise `SettingError` where the learner cannot learn in a simulator."""


@runtime_checkable
class FollowsLog(Protocol):
    """A learner that looks up in the log what its steps do not tell, such as when a row was decided.

    Promised: after `follow`, rows of steps and openings are rows of that log. Gained: it is called before a run begins,
    and before `warm_start` shows the learner part of a log.
    """

    def follow(self, log: Log) -> None:
        """Be told which log the rows of the coming steps are of."""


@runtime_checkable
class HasPending(Protocol):
    """A learner to which outcomes are on their way.

    Promised: `pending` is their number. Gained: `probes.pending` reads it.
    """

    pending: int
