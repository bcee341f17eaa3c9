"""Learners that are told late what they earned: after so many decisions, by the log's times, or a batch at a time."""

import math
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from understudy.contracts import HasSettings, HearsCuts, Learner, Log, Step
from understudy.contracts.late_learning import HasClock, LearnsLate
from understudy.contracts.offering import offers
from understudy.contracts.simulating import log_of, passes_over
from understudy.errors import ContractError, SettingError
from understudy.logs.times import first_falling_row
from understudy.settings import real, shown, whole

CLOCKS = ("decisions", "time", "arrival")
"""The values of `by`: what decides when an outcome is known."""

PERIODS = {"hour": 3600.0, "day": 86_400.0, "week": 7 * 86_400.0}
"""Periods that have a name, in seconds."""


class LateOutcome(NamedTuple):
    """What followed a decision, on its way to the learner."""

    arrives: float  # when
    number: int  # of the decision
    step: Step
    policy: np.ndarray  # that the decision was made with


class Delayed:
    """A learner whose rewards are on their way for a while, as they are in most deployments.

    With `by="decisions"`, an outcome arrives after `decisions` further decisions. With `by="arrival"`, it arrives as
    long after its decision as it did in the log: at the log's `arrival`, where the log's `time` is the clock. With
    `by="time"` it is known at once, and the log's `time` is the clock of `period`.

    Arrived outcomes are learned from in the order of their arrival, `batch` of them at a time; or, with `period` (in
    seconds, or "hour", "day" or "week"), when the clock passes a multiple of it: once a day is at midnight, UTC, where
    times are dates.

    Times are those of the log that is replayed, so that halves and selections of a log have their own. The clock runs
    in the order of the log: it needs `replay` or `pers` with `order="log"`. Episodes of several steps that overlapped
    come one after another, and the clock stands still until it is as late as the rows.

    `pending` outcomes have not been learned from yet. At the end of a run they are what is still on its way: the probe
    `us.probes.pending` reads it. Replay passes over most rows of a log, so that between two decisions more of the log's
    time goes by than in a deployment that decides about all of them: delays by times are fewer decisions long.

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
        by: str = "decisions",
        period: float | str | None = None,
    ) -> None:
        if not offers(learner, Learner):
            raise ContractError(f"{type(learner).__name__} cannot be delayed: give a learner with policy and learn")
        if by not in CLOCKS:
            raise SettingError(f"by={shown(by)} is unknown; give one of {', '.join(CLOCKS)}")
        self.learner, self.by = learner, by
        self.decisions, self.batch = whole("decisions", decisions, least=0), whole("batch", batch)
        self.period = None if period is None else period_of(period)
        if self.by != "decisions" and self.decisions:
            raise SettingError(f'decisions= counts decisions, and by="{by}" goes by the log\'s times; leave one out')
        if self.by == "decisions" and self.period is not None:
            raise SettingError(
                'period= goes by the log\'s times; give by="time", or by="arrival" where outcomes are late'
            )
        if self.batch > 1 and self.period is not None:
            raise SettingError("batch= and period= are two ways to say when to learn; leave one out")
        if self.by == "time" and self.period is None:
            raise SettingError('by="time" delays nothing by itself; give period=, or by="arrival"')
        self._under_way: list[LateOutcome] = []  # a heap, the next to arrive first
        self._arrived: list[LateOutcome] = []
        self._n_decided = 0
        self._clock: _LogClock | None = None
        self._policy: np.ndarray | None = None  # of the decision at hand

    @property
    def settings(self) -> dict[str, Any]:
        """Every argument that decides what the learner does, except its seed."""
        return {
            "learner": self.learner, "decisions": self.decisions, "batch": self.batch, "by": self.by,
            "period": self.period,
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

    def check_simulator(self, simulator: Any) -> None:
        """Raise `SettingError` where a simulator has no log with the times that are asked for, or another order."""
        if self.by == "decisions":
            return
        settings = simulator.settings if offers(simulator, HasSettings) else {}
        log, name = log_of(simulator), settings.get("simulator", type(simulator).__name__)
        if log is None:
            raise SettingError(
                f'by="{self.by}" goes by the times of a log, and {name} has none; give decisions= instead'
            )
        self._refuse_without_times(log)
        if not passes_over(simulator):
            raise SettingError(
                f'by="{self.by}" is a clock that runs in the order of the log, and {name} takes rows out of that '
                'order; use replay or pers with order="log", or give decisions= instead'
            )
        if settings.get("order") != "log":
            raise SettingError(f'by="{self.by}" is a clock that runs in the order of the log; give {name} order="log"')

    def follow(self, log: Log) -> None:
        """Be told which log the rows of the coming steps are of: the clock goes by its times."""
        if self.by != "decisions":
            self._refuse_without_times(log)
            self._clock = _LogClock(log, -math.inf if self._clock is None else self._clock.now)

    def hear_opening(self, row: int) -> None:
        """Be told which row of the log the decision at hand is of: its time is the clock's."""
        if self.by != "decisions":
            self._log_clock.advance(row)
            self._deliver()
            self._set_draws()

    def policy(self, observation: Any) -> np.ndarray:
        policy = self.learner.policy(observation)
        self._policy = np.array(policy)
        return policy

    def learn(self, step: Step) -> None:
        if self._policy is None:  # a logged step that is shown beforehand: nobody asked for a policy
            self._policy = np.array(self.learner.policy(step.observation))
        arrives = float(self._n_decided + self.decisions)
        if self.by != "decisions":
            arrives = self._log_clock.arrival_of(step.row, late=self.by == "arrival")
        heappush(self._under_way, LateOutcome(arrives, self._n_decided, step, self._policy))
        self._policy = None
        self._deliver()
        self._n_decided += 1
        self._set_draws()

    def hear_cut(self) -> None:
        """Be told that the last step ended its episode: what is on its way is learned from as truncated."""
        last = max([*self._under_way, *self._arrived], key=lambda outcome: outcome.number, default=None)
        if last is not None and last.number == self._n_decided - 1:
            held = self._under_way if last in self._under_way else self._arrived
            held[held.index(last)] = last._replace(step=last.step._replace(truncated=not last.step.terminated))
        elif offers(self.learner, HearsCuts):
            self.learner.hear_cut()

    @property
    def _log_clock(self) -> "_LogClock":
        if self._clock is None:
            raise SettingError(f'by="{self.by}" goes by the times of a log; tell the learner which with follow(log)')
        return self._clock

    def _refuse_without_times(self, log: Log) -> None:
        for name in ("time",) if self.by == "time" else ("time", "arrival"):
            if name not in log.columns:
                raise SettingError(
                    f'by="{self.by}" goes by the column {name} of the log, which it does not have; read the log with '
                    f"{name}=, or give decisions= instead"
                )
        row = first_falling_row(log)
        if row is not None:
            raise SettingError(
                f'by="{self.by}" needs rows in the order of their times, and time falls in row {row:,} of the log; '
                "select episodes in their order, or sort the rows"
            )

    def _set_draws(self) -> None:
        """Let the learner's random draws be those of this decision, whatever it has learned."""
        if offers(self.learner, HasClock):
            self.learner.clock = self._n_decided

    def _deliver(self) -> None:
        """Take in what has arrived, and let the learner learn where a batch is full or a period is over."""
        now = float(self._n_decided) if self.by == "decisions" else self._log_clock.now
        if self.period is not None:
            now = math.nextafter(now // self.period * self.period, -math.inf)  # what arrived before the period began
        while self._under_way and self._under_way[0].arrives <= now:
            self._arrived.append(heappop(self._under_way))
        if len(self._arrived) >= self.batch:
            for outcome in self._arrived:
                self._learn_from(outcome)
            self._arrived = []

    def _learn_from(self, outcome: LateOutcome) -> None:
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


def period_of(period: Any) -> float:
    """Return a period in seconds: a number, or one of the names in `PERIODS`. Raise `SettingError` for others.

    >>> period_of("day"), period_of(60)
    (86400.0, 60.0)
    """
    if isinstance(period, str):
        if period not in PERIODS:
            raise SettingError(f"period={shown(period)} is unknown; give {', '.join(PERIODS)}, or seconds")
        return PERIODS[period]
    return real("period", period, 0, ends=False)


class _LogClock:
    """The time of the decision at hand, by the times of a log. It never runs backward.

    Where row numbers fall, the log begins again, as where it is repeated: the clock goes on from where it is.
    """

    def __init__(self, log: Log, now: float) -> None:
        self._columns = _SharedColumns(log.columns)
        self.now, self._last_row, self._offset = now, -1, 0.0

    def advance(self, row: int) -> None:
        """Let the clock show the time of a row."""
        time = self._columns.time
        if not 0 <= row < len(time):
            raise SettingError(f"row {row} has no time: the log that is followed has {len(time):,} rows")
        if row < self._last_row:
            self._offset = self.now - time[row]
        self._last_row, self.now = row, max(self.now, float(time[row] + self._offset))

    def arrival_of(self, row: int, *, late: bool) -> float:
        """Let the clock show the time of a row, and return when its outcome arrives: now, or as late as in the log."""
        self.advance(row)
        if not late:
            return self.now
        return float(self._columns.arrival[row] + (self.now - self._columns.time[row]))


class _SharedColumns:
    """Columns of a log that copies of a learner share: they are made for each episode that may be passed over."""

    def __init__(self, columns: dict[str, np.ndarray]) -> None:
        self.time, self.arrival = columns["time"], columns.get("arrival", columns["time"])

    def __deepcopy__(self, memo: Any) -> "_SharedColumns":
        return self
