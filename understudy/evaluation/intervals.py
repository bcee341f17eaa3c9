"""Intervals of mean curves, and of differences of curves, that include the luck of the one log they come from."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.digits import between, digits
from understudy.evaluation.luck_of_one_log import Luck, Moments, degrees_of_freedom, luck_of_one_log
from understudy.small_curves import small_curve
from understudy.tables import NONE, Column, Table

if TYPE_CHECKING:
    import pyarrow as pa

ALLOWANCE = 1.25
"""Factor on the variance due to the log. Curves are not linear in what a log holds, and how far runs get depends on the
log too, so that halves show somewhat too little. Of 16 cases with 50 episodes, on the logs that were used to choose it,
the lowest coverage was 91.6% with 1 and 93.4% with 1.25. The rates in docs/trust.md are of other logs."""

RESOLUTION = 1 / 500
"""The smallest half width, as a share of the curve's range. Where all runs have learned the same, they hardly differ,
and a rare run that none of them shows would move the mean by more than their spread."""

ROUNDING = 1e-12
"""The same, as a share of the largest reading: sums of equal rewards in another order differ by rounding alone."""

MOST_SHOWN = 12


@dataclass(frozen=True, eq=False)
class HalvedReadings:
    """Readings of a probe on the whole log and on halves of it, or differences of two learners' readings."""

    steps: np.ndarray  # (K,)
    whole: np.ndarray  # (R, K); NaN where a run has no reading
    halves: np.ndarray  # (H, r, K)
    going: np.ndarray  # (K,): the share of the halves' runs that reached each reading
    in_log_order: bool = False  # True if all runs meet the log's episodes in the order in which they were logged

    def first(self, n: int) -> "HalvedReadings":
        """Return the first n readings."""
        return self.at(np.arange(n))

    def at(self, places: np.ndarray) -> "HalvedReadings":
        """Return the readings at some places, given by position or as a mask."""
        return replace(
            self, steps=self.steps[places], whole=self.whole[:, places], halves=self.halves[:, :, places],
            going=self.going[places],
        )  # fmt: skip

    def less(self, other: "HalvedReadings") -> "HalvedReadings":
        """Return the differences of paired readings at the same places; steps are those of the slower."""
        return HalvedReadings(
            np.maximum(self.steps, other.steps),
            self.whole - other.whole,
            self.halves - other.halves,
            np.minimum(self.going, other.going),
            self.in_log_order or other.in_log_order,
        )


@dataclass(frozen=True, eq=False)
class Interval:
    """A mean curve with an interval for the truth at each reading, the luck of the log included.

    `low` and `high` hold the true mean with probability `level`, at each reading by itself, if the simulator is exact:
    its assumptions are what `check` and `selfcheck` test. Without them, `low` and `high` hold the mean of what other
    logs of this size would answer. Up to step `reach` the luck was seen in halves of the log; beyond it is
    extrapolated. States that an encoder fitted on this log are the same in all halves: its own luck is left out.
    """

    steps: np.ndarray  # (K,)
    mean: np.ndarray  # (K,)
    low: np.ndarray  # (K,)
    high: np.ndarray  # (K,)
    level: float
    reach: int
    from_runs: np.ndarray  # (K,): the standard error of the mean that is due to runs; more runs make it smaller
    from_log: np.ndarray  # (K,): that which is due to the log; only more log makes it smaller

    @property
    def naive(self) -> tuple[np.ndarray, np.ndarray]:
        """The interval from the spread of runs alone, which leaves the log's luck out: too narrow."""
        return self.mean - 1.96 * self.from_runs, self.mean + 1.96 * self.from_runs

    @property
    def final(self) -> tuple[float, float, float]:
        """The mean, low and high of the last reading."""
        return float(self.mean[-1]), float(self.low[-1]), float(self.high[-1])

    def __iter__(self) -> Iterator[np.ndarray]:
        """Yield steps, mean, low and high, so that they can be assigned at once."""
        return iter((self.steps, self.mean, self.low, self.high))

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table, a line for each reading: step, mean, low, high, from_runs, from_log, seen.

        `seen` is True where halves reached the reading.
        """
        import pyarrow as pa

        columns = {name: getattr(self, name) for name in ("mean", "low", "high", "from_runs", "from_log")}
        return pa.table({"step": self.steps, **columns, "seen": self.steps <= self.reach})

    def __str__(self) -> str:
        if not len(self.steps):
            return "Interval without a reading"
        mean, low, high = self.final
        beyond = "" if self.reach >= self.steps[-1] else f"; beyond step {self.reach:,} the log's luck is extrapolated"
        return (
            f"{digits(mean, 4)} ({between(low, high, 4)}, {self.level:.0%}) at step {self.steps[-1]:,}, "
            f"{len(self.steps):,} readings{beyond}"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = np.unique(np.linspace(0, len(self.steps) - 1, min(MOST_SHOWN, len(self.steps))).astype(int))
        rows = tuple(
            (f"{self.steps[at]:,}", *(number(column[at]) for column in (self.mean, self.low, self.high)))
            for at in shown
        )
        headings = tuple(Column(name) for name in ("step", "mean", "low", "high"))
        picture = small_curve(self.steps, [self.mean], (self.low, self.high))
        return Table(str(self), headings, rows)._repr_html_() + picture


def allowed_for(luck: Luck) -> Luck:
    """Return the luck with the allowance for what halves do not show."""
    return replace(luck, variance=ALLOWANCE * luck.variance, error=ALLOWANCE**2 * luck.error)


def rounding_of(*values: Any) -> float:
    """Return by how much means of such values may differ by rounding alone.

    >>> rounding_of([1.0, -200.0], [np.nan])
    2e-10
    """
    return ROUNDING * max(float(np.max(np.abs(one), where=np.isfinite(one), initial=0.0)) for one in values)


def number(value: float) -> str:
    """Return a number as tables show it."""
    return digits(value, 4) if np.isfinite(value) else NONE


def interval_of(readings: HalvedReadings, level: float = 0.95) -> Interval:
    """Return the interval of the mean of readings."""
    from scipy.stats import t

    moments = Moments.of(readings.whole)
    n_runs = np.isfinite(readings.whole).sum(axis=0)
    luck = allowed_for(
        luck_of_one_log(
            moments.noise * n_runs, Moments.of(readings.halves), readings.going, in_log_order=readings.in_log_order
        )
    )
    degrees = degrees_of_freedom(moments.noise, n_runs, luck)
    half_width = t.ppf((1 + level) / 2, degrees) * np.sqrt(moments.noise + luck.variance)
    known = moments.mean[np.isfinite(moments.mean)]
    half_width = np.maximum(half_width, RESOLUTION * np.ptp(known) if len(known) else 0.0)
    half_width = np.maximum(half_width, rounding_of(readings.whole))
    return Interval(
        readings.steps, moments.mean, moments.mean - half_width, moments.mean + half_width, level,
        int(readings.steps[luck.n_seen - 1]) if luck.n_seen else 0, np.sqrt(moments.noise), np.sqrt(luck.variance),
    )  # fmt: skip
