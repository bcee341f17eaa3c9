"""What an episode earned, over the same episodes of every run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.digits import between, digits
from understudy.errors import SettingError
from understudy.evaluation.named_runs import named_runs
from understudy.runs import Runs
from understudy.runs.run import reached
from understudy.tables import Column, Table, arrow_table, record_table

if TYPE_CHECKING:
    import pyarrow as pa

SHARE = 0.9
"""The share of the runs of each set that must have finished the episodes that are counted."""

TYPES = {
    "episodes": "int64", "steps": "int64", "mean": "float64", "low": "float64", "high": "float64",
    "error": "float64", "missing": "float64",
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Earnings:
    """What an episode earned on average, over the first `episodes` episodes of every run.

    Runs stop when the log has no answer, which depends on what happened in them, so finished episodes cannot be
    averaged as they come: long runs would count for their later, better episodes, and long episodes would be missing
    at the end of each run. So the same first episodes of every run are counted.

    Where some runs stopped before the last of them, `low` and `high` are what the mean would be if each missing episode
    had earned the lowest and the highest return seen, what unfinished episodes had earned so far included; elsewhere
    they equal the mean. They are a plausible range, not a bound: an episode that was cut off may have gone on worse.

    `error` is 1.96 standard errors. Runs on one log share its luck, which their spread does not show. So the variance
    of one mean over episodes is added to it, as if all runs had been served the same episodes: more runs do not make
    that part smaller. For real runs, and for runs on logs of their own, only the spread of runs counts.
    """

    episodes: int  # counted in each run, from its first
    steps: int  # when the last of them was over, in the slowest run that finished them
    mean: float  # over the episodes that were finished
    low: float
    high: float
    error: float  # NaN for a single run
    missing: float  # share of these episodes that were not finished

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values."""
        return dict(vars(self))

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table of one line, a column for each field."""
        return arrow_table({name: [value] for name, value in vars(self).items()}, TYPES)

    def __str__(self) -> str:
        earned = between(self.low, self.high, 4) if self.missing else digits(self.mean, 4)
        which = f"the first {self.episodes:,} episodes" if self.episodes > 1 else "the first episode"
        error = "" if np.isnan(self.error) else f" (+/- {digits(self.error, 2)})"
        return f"{earned}{error} an episode, over {which} of each run (steps 1 to {self.steps:,})"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return record_table(str(self), vars(self))._repr_html_()


class EarningsBySet(dict[str, Earnings]):
    """The `Earnings` of each set of runs by name: a dict that converts to a table."""

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table, a line for each set: its name, under `set`, and the fields of its `Earnings`."""
        fields = {name: [getattr(found, name) for found in self.values()] for name in TYPES}
        return arrow_table({"set": list(map(str, self)), **fields}, {"set": "string", **TYPES})

    def _repr_html_(self) -> str:
        headings = (Column("set", numeric=False), Column("earned", numeric=False))
        return Table("Earnings", headings, tuple((str(name), str(found)) for name, found in self.items()))._repr_html_()


def earnings(sets: Mapping[str, Runs] | Runs, *, share: float = SHARE) -> EarningsBySet:
    """Return what an episode earned in each set of runs, over the same number of first episodes in all sets.

    A single set is named "runs".

    That number is the largest that at least this share of the runs of every set finished. Sets of which too few runs
    finished an episode are left out. Use it to compare learners on one log, or a learner with the log's own return.

    >>> from understudy.contracts import Stop
    >>> from understudy.runs import Run
    >>> def run(*returns):
    ...     ends, none = 5 * np.arange(1, len(returns) + 1), np.empty(0)
    ...     return Run(0, np.arange(30), none, None, ends, np.array(returns), none, {}, {}, Stop("no opening"))
    >>> found = earnings({"a": Runs((run(1.0, 3.0), run(2.0, 2.0, 9.0))), "b": Runs((run(0.0, 1.0), run(0.0, 1.0)))})
    >>> found["a"].episodes, found["a"].mean, found["b"].mean
    (2, 2.0, 0.5)
    """
    if not 0.5 <= share <= 1.0:
        raise SettingError(
            f"share={share!r} must be from 0.5 to 1: the means of fewer runs would be those of survivors"
        )
    sets = named_runs(sets, "runs")
    finished = {name: reached(np.array([len(run.ends) for run in runs]), share) for name, runs in sets.items() if runs}
    counted = {name: sets[name] for name, n in finished.items() if n}
    episodes = min((finished[name] for name in counted), default=0)
    return EarningsBySet({name: _earnings(runs, episodes) for name, runs in counted.items()})


def _earnings(runs: Runs, episodes: int) -> Earnings:
    values = np.full((len(runs), episodes), np.nan)
    for place, run in enumerate(runs):
        values[place, : len(run.returns)] = run.returns[:episodes]
    known = np.isfinite(values)
    cut_off = [run.partial for run in runs if len(run.returns) < episodes and run.partial is not None]
    seen = np.concatenate([values[known], cut_off])
    low, high = (np.where(known, values, filled) for filled in (seen.min(), seen.max()))
    mean = float(values[known].mean())
    complete = bool(known.all())
    return Earnings(
        episodes=episodes,
        steps=max(int(run.ends[episodes - 1]) for run in runs if len(run.ends) >= episodes),
        mean=mean,
        low=mean if complete else float(low.mean()),
        high=mean if complete else float(high.mean()),
        error=1.96 * _error(values, runs.about.independent),
        missing=float(1 - known.mean()),
    )


def _error(values: np.ndarray, independent: bool) -> float:
    """Return the standard error of the mean of returns, (runs, episodes) with NaN where an episode is missing."""
    n_runs, n_episodes = values.shape
    if n_runs < 2:
        return float("nan")
    of_runs = _jackknife(np.nansum(values, axis=1), np.isfinite(values).sum(axis=1))
    if independent:
        return float(np.sqrt(of_runs))
    if n_episodes > 1:  # differences of neighbors leave out what changes as the learner learns
        steps = np.diff(values, axis=1)
        of_episodes = float(np.nanmean(steps**2)) / 2
    else:
        of_episodes = float(np.nanvar(values, ddof=1))
    return float(np.sqrt(of_runs + of_episodes / n_episodes))


def _jackknife(totals: np.ndarray, counts: np.ndarray) -> float:
    """Return the variance of sum(totals) / sum(counts), by leaving out one run at a time."""
    n, left = len(totals), counts.sum() - counts
    if (left == 0).any():
        return float("inf")
    without = (totals.sum() - totals) / left
    return float((n - 1) / n * ((without - without.mean()) ** 2).sum())
