"""Learners that are told late what they earned: after so many decisions, by time stamps, or a batch at a time."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from understudy.contracts import HasSettings, Learner, Step
from understudy.contracts.late_learning import HasClock, LearnsLate
from understudy.contracts.offering import offers
from understudy.contracts.simulating import log_of
from understudy.errors import ContractError, SettingError
from understudy.settings import real, whole


class LateOutcome(NamedTuple):
    """What followed a decision, on its way to the learner."""

    arrives: float  # when
    number: int  # of the decision
    step: Step
    policy: np.ndarray  # that the decision was made with


class Delayed:
    """A learner whose rewards are on their way for a while, as they are in most deployments.

    An outcome arrives after `decisions` further decisions; or, with `arrival`, at a time stamp of its own. Arrived
    outcomes are learned from in the order of their arrival, `batch` of them at a time, or, with `period`, when the
    clock passes the next multiple of it: 86,400 is once a day, for time stamps in seconds.

    `time` and `arrival` have a number for each row of the log: when it was decided, and when its outcome was known. The
    clock is the time of the decision at hand, so rows must be replayed in the order of the log (`order="log"`).

    `pending` outcomes have not been learned from yet. At the end of a run they are what is still on its way: the probe
    `us.probes.pending` reads it. Replay passes over most rows of a log, so that between two decisions more of the log's
    time goes by than in a deployment that decides about all of them: delays by time stamps are fewer decisions long.

    >>> from understudy.learners import EpsilonGreedy
    >>> learner = Delayed(EpsilonGreedy(2, seed=0), decisions=2)
    >>> for number in range(3):
    ...     learner.learn(Step(0, 1, 1.0, 0, True, False))
    >>> learner.learner.counts.tolist(), learner.pending
    ([[0.0, 1.0]], 2)
    """

    def __init__(
        self,
        learner: Learner,
        *,
        decisions: int = 0,
        batch: int = 1,
        time: Any = None,
        arrival: Any = None,
        period: float | None = None,
    ) -> None:
        if not offers(learner, Learner):
            raise ContractError(f"{type(learner).__name__} cannot be delayed: give a learner with policy and learn")
        self.learner = learner
        self.decisions, self.batch = whole("decisions", decisions, least=0), whole("batch", batch)
        self.time, self.arrival = times("time", time), times("arrival", arrival)
        self.period = None if period is None else real("period", period, 0, ends=False)
        if self.time is None and (self.arrival is not None or self.period is not None):
            raise SettingError("arrival= and period= are of the log's clock; give time=, when each row was decided")
        if self.time is not None and self.decisions:
            raise SettingError(
                "give decisions=, or time= and arrival=, not both: they are two ways to delay an outcome"
            )
        if self.time is not None and self.arrival is not None:
            _check_times(self.time, self.arrival)
        self._under_way: list[LateOutcome] = []  # a heap, the next to arrive first
        self._arrived: list[LateOutcome] = []
        self._n_decided, self._now, self._last_period = 0, -np.inf, -np.inf
        self._policy = np.empty(0)  # of the decision at hand

    @property
    def settings(self) -> dict[str, Any]:
        """Every argument that decides what the learner does, except its seed."""
        return {
            "learner": self.learner, "decisions": self.decisions, "batch": self.batch, "time": self.time,
            "arrival": self.arrival, "period": self.period,
        }  # fmt: skip

    @property
    def learned_state(self) -> dict[str, Any]:
        """What it knows: the learner inside, and what has not arrived."""
        return {
            "learner": self.learner,
            "decided": self._n_decided,
            "waiting": [*sorted(self._under_way), *self._arrived],
        }

    @property
    def pending(self) -> int:
        """The number of outcomes that were not learned from yet."""
        return len(self._under_way) + len(self._arrived)

    def hear_opening(self, row: int) -> None:
        """Be told which row of the log the decision at hand is of: its time is the clock's."""
        if self.time is not None:
            self._now = self._time_of(row)
            self._deliver()
            self._set_clock()

    def policy(self, observation: Any) -> np.ndarray:
        policy = self.learner.policy(observation)
        self._policy = np.array(policy)
        return policy

    def learn(self, step: Step) -> None:
        arrives = float(self._n_decided + self.decisions)
        if self.time is not None:
            self._now = max(self._now, self._time_of(step.row))
            arrives = self._now if self.arrival is None else float(self.arrival[step.row])
        heappush(self._under_way, LateOutcome(arrives, self._n_decided, step, self._policy))
        self._deliver()
        self._n_decided += 1
        self._set_clock()

    def check_simulator(self, simulator: Any) -> None:
        """Raise `SettingError` where time stamps are not those of the rows of a simulator, or it has another order."""
        if self.time is None:
            return
        log = log_of(simulator)
        if log is None:
            raise SettingError("time= has the time stamps of a log, and there is none here; give decisions= instead")
        if len(log) != len(self.time):
            raise SettingError(
                f"time= has {len(self.time):,} rows, and the log that is replayed {len(log):,}: parts of a log, such "
                "as its halves, number their rows anew; give the time stamps of that log, or decisions= instead"
            )
        settings = simulator.settings if offers(simulator, HasSettings) else {}
        if settings.get("order") != "log":
            raise SettingError("time= is a clock that runs in the order of the log; give the simulator order='log'")

    def _set_clock(self) -> None:
        """Let the learner's random draws be those of this decision, whatever it has learned."""
        if offers(self.learner, HasClock):
            self.learner.clock = self._n_decided

    def _time_of(self, row: int) -> float:
        if not 0 <= row < len(self.time):  # type: ignore[arg-type]
            raise SettingError(
                f"row {row} has no time stamp: time= has {len(self.time):,} and is of the log that is replayed"  # type: ignore[arg-type]
            )
        return float(self.time[row])  # type: ignore[index]

    def _deliver(self) -> None:
        """Take in what has arrived, and let the learner learn where a batch is full or a period is over."""
        now = float(self._n_decided) if self.time is None else self._now
        while self._under_way and self._under_way[0].arrives <= now:
            self._arrived.append(heappop(self._under_way))
        if self.period is None:
            complete = len(self._arrived) >= self.batch
        else:
            complete, self._last_period = now // self.period > self._last_period, now // self.period
        if complete:
            for outcome in self._arrived:
                self._learn_from(outcome)
            self._arrived = []

    def _learn_from(self, outcome: "LateOutcome") -> None:
        if offers(self.learner, LearnsLate):
            self.learner.learn_late(outcome.step, outcome.policy)
        else:
            self.learner.learn(outcome.step)

    def __repr__(self) -> str:
        return f"Delayed({self.learner!r}, {self.pending} pending)"


def delayed(make: Callable[[int], Learner], **options: Any) -> Callable[[int], Delayed]:
    """Return a function that makes learners whose outcomes arrive late: for `experiment`. Options as of `Delayed`.

    >>> from understudy.learners import EpsilonGreedy
    >>> make = delayed(lambda seed: EpsilonGreedy(2, seed=seed), decisions=100, batch=50)
    >>> make(0).batch
    50
    """
    return lambda seed: Delayed(make(seed), **options)


def times(name: str, values: Any) -> np.ndarray | None:
    """Return time stamps as numbers, seconds where they are dates; None for None. Raise `SettingError` for gaps."""
    if values is None:
        return None
    array = np.asarray(values)
    if array.dtype.kind == "M":
        missing = np.isnat(array)
        array = array.astype("datetime64[us]").astype(np.int64) / 1e6
        array = np.where(missing, np.nan, array)
    if array.dtype.kind not in "biuf" or array.ndim != 1 or not len(array):
        raise SettingError(f"{name}= is not a column of time stamps; give a number or a date for each row of the log")
    array = array.astype(np.float64)
    if np.isnan(array).any():
        raise SettingError(f"{name}= is missing in row {int(np.isnan(array).argmax())}; give every row a time stamp")
    return array


def _check_times(time: np.ndarray, arrival: np.ndarray) -> None:
    if len(time) != len(arrival):
        raise SettingError(f"time= has {len(time):,} rows and arrival= {len(arrival):,}; give both for each row")
    early = np.flatnonzero(arrival < time)
    if len(early):
        raise SettingError(
            f"arrival= is before time= in row {early[0]}: an outcome cannot be known before its decision"
        )
