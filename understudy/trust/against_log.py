"""A learner beside the logging policy: how likely it does worse, when it is worst, and what that costs in all."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.digits import between, digits, signed_digits, span_of
from understudy.evaluation import Halves
from understudy.evaluation.intervals import HalvedReadings, Interval, interval_of, number, rounding_of
from understudy.runs.nouns import noun_of, one_of
from understudy.tables import NONE, Column, Table, arrow_table
from understudy.trust.logged_earnings import LoggedEarnings, logged_earnings
from understudy.trust.windows import Windows

if TYPE_CHECKING:
    import pyarrow as pa

LEVEL = 0.95

UNKNOWN = "halves of the log answer too few steps to show its luck"

TYPES = {
    "learner": "string", "first": "int64", "last": "int64", "step": "int64", "mean": "float64", "low": "float64",
    "high": "float64", "worse": "float64", "worse_in_all": "float64", "mean_worse": "float64",
    "regret": "float64", "regret_low": "float64",
    "regret_high": "float64",
}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class AgainstLog:
    """What a learner earns an episode less what the logging policy does, in windows of episodes.

    - `difference`: of the means, with an interval that includes the luck of the log, on both sides.
    - `worse`: the probability that one deployment of the learner earns less, over the episodes of that window, than the
      logging policy earns on average. Both the spread of runs and the luck of the log are in it. Where a few episodes
      earn by chance, it is near a half whatever the policy.
    - `worse_in_all`: the same over all episodes by the end of that window: the risk of deploying it once.
    - `mean_worse`: the probability that the mean over many deployments is below the logging policy's: it tends to 0 or
      1 as the log grows, and `worse` does not.
    - `regret`: how much less a deployment has earned in all by the end of that window, in the mean; below 0 where more.
    """

    learner: str
    logged: float  # what an episode of the log earned on average
    first: np.ndarray  # (K,): the first episode of each window
    last: np.ndarray  # (K,): the last
    difference: Interval
    worse: np.ndarray  # (K,)
    worse_in_all: np.ndarray  # (K,)
    mean_worse: np.ndarray  # (K,)
    regret: Interval
    cut_off: int = 0  # episodes of the log that were cut off before they were over, and count up to there
    noun: str = "episode"  # what an episode is called: "decision", where each is a single one
    complete: int | None = None  # so many first episodes are those of the log: later ones were not finished; None: all
    level: float = LEVEL  # of the intervals
    single: float = 0.0  # the share of the spread of what the log's episodes earned that is due to one of them
    along: bool = False  # True if runs met the log in its own order, and `logged` is of the stretch that they met
    cut: float = 0.0  # by how much intervals are wider to each side, since episodes of the log were cut off
    bias: float = 0.0  # the same, since runs were accepted by too low a bound

    @property
    def worst(self) -> tuple[int, int, float]:
        """The first and last episode of the worst window, and by how much the learner differs from the log there."""
        place = int(np.argmin(self.difference.mean))
        return int(self.first[place]), int(self.last[place]), float(self.difference.mean[place])

    def __str__(self) -> str:
        first, last, least = self.worst
        total, low, high = self.regret.final
        place = int(np.argmin(self.difference.mean))
        begin = (
            f"against the logging policy, which earns {digits(self.logged)} {one_of(self.noun)}: {self.learner} earns "
            f"least in {span_of(self.noun, first, last)} ({digits(least, sign=True)} {one_of(self.noun)}"
        )
        if not np.isfinite([self.worse[place], self.worse[-1], low]).all():
            return f"{begin}); {UNKNOWN}, and so how likely that is"
        return (
            f"{begin}; one deployment is worse there with probability {self.worse[place]:.2f}); in "
            f"{span_of(self.noun, self.first[-1], self.last[-1])} one is worse with probability "
            f"{self.worse[-1]:.2f}, and by then the mean deployment has earned "
            f"{digits(abs(total))} {'less' if total > 0 else 'more'} in all ({_range(total, low, high)})"
        )

    __repr__ = __str__

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns of `to_frame`."""
        shown = {
            "first": self.first, "last": self.last, "step": self.difference.steps, "mean": self.difference.mean,
            "low": self.difference.low, "high": self.difference.high, "worse": self.worse,
            "worse_in_all": self.worse_in_all, "mean_worse": self.mean_worse, "regret": self.regret.mean,
            "regret_low": self.regret.low,
            "regret_high": self.regret.high,
        }  # fmt: skip
        return {"learner": [self.learner] * len(self.last)} | {
            name: list(map(_plain, one)) for name, one in shown.items()
        }

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values, curves as lists."""
        columns = {name: values for name, values in self.columns().items() if name != "learner"}
        told = {
            "learner": self.learner,
            "logged": self.logged,
            "cut_off": self.cut_off,
            "wider_for_cut_off": self.cut,
            "wider_for_bound": self.bias,
            "complete": self.complete,
            "worst": list(self.worst),
        }
        return told | columns

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table, a line for each window of episodes."""
        return arrow_table(self.columns(), TYPES)

    def table(self) -> Table:
        """Return a table for people, a line for each window of episodes."""
        steps = () if self.noun == "decision" else ("up to step",)  # each decision is a step
        names = (f"{self.noun}s", *steps, f"difference {one_of(self.noun)}", f"{100 * self.level:.3g}%", "more in all",
                 "one deployment earned less")  # fmt: skip
        shown = (self.first, self.last, self.difference.steps, self.difference.mean, self.difference.low,
                 self.difference.high, -self.regret.mean, self.worse_in_all)  # fmt: skip
        write = signed_digits(self._half_widths(self.difference))
        in_all = signed_digits(self._half_widths(self.regret))
        known = np.isfinite(self.difference.low) & np.isfinite(self.worse_in_all)
        rows = tuple(
            (
                f"{first:,} to {last:,}" if last > first else f"{first:,}",
                *(f"{step:,}" for _ in steps),
                write(mean),
                f"{write(low)} to {write(high)}" if known[place] else NONE,
                in_all(more),
                NONE if not known[place] else "<1%" if worse < 0.005 else f"{worse:.0%}",
            )
            for place, (first, last, step, mean, low, high, more, worse) in enumerate(zip(*shown, strict=True))
        )
        headings = tuple(Column(name, numeric=name != names[0]) for name in names)
        return Table(f"What “{self.learner}” earns more than the logging policy", headings, rows)

    @staticmethod
    def _half_widths(curve: Interval) -> list[float]:
        """Return how wide an interval is to each side: finer decimals say nothing."""
        half_widths = (curve.high - curve.low) / 2
        return half_widths[np.isfinite(half_widths)].tolist() or [float(np.abs(curve.mean).max())]

    def _repr_html_(self) -> str:
        names = ("last episode", "step", "difference", "low", "high", "worse", "mean worse", "regret")
        shown = (self.last, self.difference.steps, self.difference.mean, self.difference.low, self.difference.high,
                 self.worse, self.mean_worse, self.regret.mean)  # fmt: skip
        rows = tuple(tuple(number(float(value)) for value in line) for line in zip(*shown, strict=True))
        return Table(str(self), tuple(map(Column, names)), rows)._repr_html_()


def against_log(
    name: str, found: Halves, windows: Windows, level: float = LEVEL, logged: LoggedEarnings | None = None
) -> AgainstLog:
    """Return a learner beside the logging policy, in windows of episodes, with intervals of this level.

    How well the log's own mean is known is seen from the spread of its episodes. That lucky logs make both look better
    is not used, so the intervals are wide rather than narrow. `logged` is what the log earned, if it was computed.
    """
    from scipy.stats import norm

    logged = logged_earnings(found, windows) if logged is None else logged
    readings = windows.readings[name]
    own, quantile = interval_of(readings, level), float(norm.ppf((1 + level) / 2))
    width = np.maximum((own.high - own.low) / 2, quantile * logged.least)
    mean = own.mean - logged.mean
    low, high = logged.around(mean, width, logged.error, level)
    from_log = np.hypot(np.maximum(own.from_log, logged.least), logged.error)
    difference = replace(own, mean=mean, low=low, high=high, from_log=from_log)
    rounding = rounding_of(readings.whole, *logged.mean) or np.finfo(float).tiny
    sizes = np.diff(windows.ends, prepend=0)
    less, in_all = regret(readings, sizes, logged, level), np.cumsum(readings.whole * sizes, axis=1)
    worse = _share_below(readings.whole, logged.mean, np.maximum(from_log, rounding))
    n = np.cumsum(sizes)
    worse_in_all = _share_below(in_all, logged.in_all * n, np.maximum(less.from_log, rounding * n))
    towards_zero = np.where(mean > 0, mean - low, high - mean) / quantile  # with all that makes the interval wider
    return AgainstLog(
        name, logged.later, windows.ends - sizes + 1, windows.ends, difference, worse, worse_in_all,
        norm.cdf(-mean / np.maximum(towards_zero, rounding)), less, found.runs.about.log_cut_off or 0,
        noun_of(found.runs), found.runs.about.log_complete, level, logged.single, found.in_log_order,
        logged.cut, logged.bias,
    )  # fmt: skip


def _share_below(values: np.ndarray, level: np.ndarray, luck: np.ndarray) -> np.ndarray:
    """Return the probability that a run, (R, K), is below a level, (K,), if the log's luck has this deviation, (K,)."""
    from scipy.stats import norm

    known = np.isfinite(values)
    return np.where(known, norm.cdf((level - values) / luck), 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def regret(
    readings: HalvedReadings,
    sizes: np.ndarray,
    logged: LoggedEarnings,
    level: float = LEVEL,
) -> Interval:
    """Return what was earned less than the logging policy, summed from the first episode on.

    The luck of the log is fitted on the mean over all episodes so far, of which that of a sum follows: fitted on sums,
    it would not grow where halves have ended and no longer show it.
    """
    from scipy.stats import norm

    n = np.cumsum(sizes)
    whole, halves = (np.cumsum(values * sizes, axis=-1) / n for values in (readings.whole, readings.halves))
    so_far = interval_of(replace(readings, whole=whole, halves=halves), level)
    width = np.maximum((so_far.high - so_far.low) / 2, float(norm.ppf((1 + level) / 2)) * logged.least_in_all)
    more = so_far.mean - logged.in_all
    low, high = logged.around(more, width, logged.error_in_all, level)
    from_log = np.hypot(np.maximum(so_far.from_log, logged.least_in_all), logged.error_in_all)
    return replace(
        so_far, mean=-n * more, low=-n * high, high=-n * low, from_runs=n * so_far.from_runs, from_log=n * from_log
    )


def _range(total: float, low: float, high: float) -> str:
    """Return an interval of a regret in words, turned around where it is a gain."""
    low, high = (low, high) if total > 0 else (-high, -low)
    return between(low, high)


def _plain(value: Any) -> float | int | None:
    """Return a number of NumPy's as Python's; None where it is not known."""
    return value.item() if np.isfinite(value) else None
