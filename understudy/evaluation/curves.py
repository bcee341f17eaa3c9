"""The mean curve of a probe over runs, with error bands, and curves as tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.digits import digits
from understudy.errors import SettingError
from understudy.runs import Runs
from understudy.runs.run import reached
from understudy.small_curves import small_curve
from understudy.tables import NONE, Column, Table

if TYPE_CHECKING:
    import pyarrow as pa

FEWEST = 0.5
"""The share of runs below which there is no mean: it would be that of the few runs that happened to last."""

POINTS = 50
"""About how many points a curve by episodes has."""

MOST_SHOWN = 12
"""Readings that a notebook shows of a curve."""


@dataclass(frozen=True, eq=False)
class MeanCurve:
    """The mean of a probe at each reading, over the runs that have one, with the band it lies in.

    A run has no reading at a step mostly because it has stopped before, and runs that stop early differ from the
    others. `below` and `above` allow for that: they say how much lower and higher the mean of all runs would be if the
    missing readings were the lowest and the highest that any run has shown by then.

    The band of runs on one log leaves the luck of that log out, and is too narrow, unless `reach` says up to which step
    halves of the log showed it: `us.halves` makes them.
    """

    steps: np.ndarray  # (K,)
    mean: np.ndarray  # (K,); NaN where too few runs have a reading
    half_width: np.ndarray  # (K,): 1.96 standard errors over runs, or that of `Halves.interval`; NaN where not complete
    complete: np.ndarray  # (K,): True where all runs, or the requested share of them, have a reading
    horizon: int  # the largest step that all runs, or the requested share of them, reached
    below: np.ndarray  # (K,)
    above: np.ndarray  # (K,)
    reach: float | None = None  # the last step at which halves show the log's luck; None where it is left out

    @property
    def low(self) -> np.ndarray:
        """The lower end of the band: the mean, less `half_width` and `below`."""
        return self.mean - self.half_width - self.below

    @property
    def high(self) -> np.ndarray:
        """The upper end of the band: the mean, plus `half_width` and `above`."""
        return self.mean + self.half_width + self.above

    def to_frame(self) -> "pa.Table":
        """Return the curve as an Arrow table, a line for each reading.

        The columns are step, mean, half_width, low, high and complete. pandas takes it by `.to_pandas()`, Polars by
        `polars.from_arrow`.
        """
        import pyarrow as pa

        return pa.table(self._columns())

    def _columns(self) -> dict[str, np.ndarray]:
        columns = {"step": self.steps, "mean": self.mean, "half_width": self.half_width}
        return columns | {"low": self.low, "high": self.high, "complete": self.complete}

    def _repr_html_(self) -> str:
        """Return a table of readings, evenly taken from all."""
        n, columns = len(self.steps), self._columns()
        shown = np.unique(np.linspace(0, n - 1, min(MOST_SHOWN, n)).astype(int))
        rows = tuple(
            (
                f"{self.steps[at]:,}",
                *(
                    digits(columns[name][at], 4) if np.isfinite(columns[name][at]) else NONE
                    for name in ("mean", "half_width", "low", "high")
                ),
                "yes" if self.complete[at] else "no",
            )
            for at in shown
        )
        headings = tuple(Column(name.replace("_", " ")) for name in columns)
        more = (f"{len(shown)} of {n:,} readings: to_frame() has all",) * (n > len(shown))
        picture = small_curve(self.steps, [self.mean], (self.low, self.high))
        return Table(f"Mean curve of {n:,} readings", headings, rows, notes=more)._repr_html_() + picture


def is_scalar(runs: Runs, probe: str) -> bool:
    """True if a reading of the probe is one number, not a vector."""
    read = next((run for run in runs if len(run.steps)), None)
    if read is not None:
        return np.ndim(read.curves[probe]) == 1
    return all(np.ndim(run.final.get(probe, 0.0)) == 0 for run in runs)


def has_readings(runs: Runs, probe: str) -> bool:
    """True if any run has a reading of the probe: a run that stops before the first reading has none."""
    return probe in runs.probes and any(np.isfinite(run.curves[probe]).any() for run in runs)


def mean_curve(runs: Runs, probe: str, share: float = 1.0) -> MeanCurve:
    """Return the mean curve of a scalar probe over runs, with error bands.

    The mean is complete where at least `share` of the runs have a reading; elsewhere it is one of survivors, and NaN
    where fewer than half of the runs are left. Raise `SettingError` where no run has a reading, or a reading is a
    vector.

    >>> from understudy.contracts import Stop
    >>> from understudy.runs import Run
    >>> def run(*curve):
    ...     steps, none, stop = 10 * np.arange(1, len(curve) + 1), np.empty(0), Stop("no opening")
    ...     return Run(0, np.arange(10 * len(curve)), none, None, none, none, steps, {"g": np.array(curve)}, {}, stop)
    >>> both = mean_curve(Runs((run(1.0, 2.0), run(3.0))), "g")
    >>> both.steps, both.mean, both.complete, both.horizon
    (array([10, 20]), array([ 2., nan]), array([ True, False]), 10)
    """
    if probe in runs.probes and not is_scalar(runs, probe):
        raise SettingError(f"a reading of {probe!r} is a vector, and has no mean curve; give a probe of one number")
    read = Runs(tuple(run for run in runs if len(run.steps)), runs.about)
    if probe in runs.probes and not len(read):
        raise SettingError(f"no run has a reading of {probe!r}: all stopped before it; read more often, with every=")
    return mean_of_readings(*read.curve(probe), len(runs), share, runs.horizon(share))


def episodes_of_point(sets: Iterable[Runs]) -> int:
    """Return how many episodes each point of a curve of returns is the mean of, where sets are drawn together.

    It is the same for all, that of the shortest runs: a point stands at its last episode, so that a mean of more would
    look like a learner that is slower.
    """
    return min((max(1, int(np.median([len(run.returns) for run in runs])) // POINTS) for runs in sets), default=1)


def return_curve(runs: Runs, share: float = 1.0, size: int | None = None) -> MeanCurve:
    """Return the mean return of the first, second, ... episode of each run; `steps` are then numbers of episodes.

    The episodes that happen to end between two steps are more often short than long; the first so many of each run are
    not. Where runs have hundreds of episodes, neighbors are averaged, so that about fifty points remain: `size` of
    them, by default as `episodes_of_point` says.
    """
    finished = np.array([len(run.returns) for run in runs])
    size = episodes_of_point([runs]) if size is None else size
    values = np.full((len(runs), int(finished.max()) // size), np.nan)
    for place, run in enumerate(runs):
        n = len(run.returns) // size
        values[place, :n] = run.returns[: n * size].reshape(n, size).mean(axis=1)
    last = size * np.arange(1, values.shape[1] + 1)
    return mean_of_readings(last, values, len(runs), share, reached(finished, share))


def mean_of_readings(steps: np.ndarray, values: np.ndarray, n_runs: int, share: float, horizon: int) -> MeanCurve:
    """Return the mean curve of values, (R, K), NaN where a run has no reading; runs without any may be left out."""
    known = np.isfinite(values)
    n = known.sum(axis=0)
    complete = n >= max(share * n_runs - 1e-9, 1)
    enough = complete | (n >= max(2, FEWEST * n_runs))
    total = np.where(known, values, 0.0).sum(axis=0)
    mean = np.where(enough, total / np.maximum(n, 1), np.nan)
    half_width = np.full(len(steps), np.nan)
    wide = complete & (n > 1)
    if wide.any():
        half_width[wide] = 1.96 * np.nanstd(values[:, wide], axis=0, ddof=1) / np.sqrt(n[wide])
    absent = 1 - n / n_runs
    lowest = np.minimum.accumulate(np.where(known, values, np.inf).min(axis=0))
    highest = np.maximum.accumulate(np.where(known, values, -np.inf).max(axis=0))
    below, above = (np.where(absent > 0, absent * gap, 0.0) for gap in (mean - lowest, highest - mean))
    return MeanCurve(steps, mean, half_width, complete, horizon, below, above)


def difference(curve: MeanCurve, reference: MeanCurve) -> MeanCurve:
    """Return a mean curve minus another, at the steps of both; the half width is that of both errors together."""
    steps, mine, theirs = np.intersect1d(curve.steps, reference.steps, return_indices=True)
    return MeanCurve(
        steps,
        curve.mean[mine] - reference.mean[theirs],
        np.hypot(curve.half_width[mine], reference.half_width[theirs]),
        curve.complete[mine] & reference.complete[theirs],
        min(curve.horizon, reference.horizon),
        curve.below[mine] + reference.above[theirs],
        curve.above[mine] + reference.below[theirs],
    )


def shares_going(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the places at which runs stopped, beginning with 0, and the share of runs that went on beyond each.

    `ends` has the steps of each run, or the episodes that it finished.

    >>> shares_going(np.array([10, 20, 20, 40]))
    (array([ 0, 10, 20, 40]), array([1.  , 0.75, 0.25, 0.  ]))
    """
    steps, first = np.unique(np.sort(ends), return_index=True)
    left = np.append(len(ends) - first[1:], 0) / len(ends)
    return np.concatenate([[0], steps]), np.concatenate([[1.0], left])


def curve_table(sets: Mapping[str, Runs], probe: str, share: float = 1.0) -> "pa.Table":
    """Return the mean curves of several sets of runs as one Arrow table, a line for each set and reading.

    The columns are set, step, mean, half_width, low, high and complete, as `mean_curve` gives them.
    """
    import pyarrow as pa

    columns: dict[str, list[Any]] = {"set": []}
    for name, runs in sets.items():
        curve = mean_curve(runs, probe, share)._columns()
        columns["set"] += [name] * len(curve["step"])
        for column, values in curve.items():
            columns.setdefault(column, []).extend(values.tolist())
    return pa.table(columns)


def run_table(sets: Mapping[str, Runs], probe: str) -> "pa.Table":
    """Return the curves of single runs as an Arrow table, a line for each set, run and reading.

    The columns are set, run (its number in the set, from 0), step, and the probe by its name.
    """
    import pyarrow as pa

    columns: dict[str, list[Any]] = {"set": [], "run": [], "step": [], probe: []}
    for name, runs in sets.items():
        for number, run in enumerate(runs):
            columns["set"] += [name] * len(run.steps)
            columns["run"] += [number] * len(run.steps)
            columns["step"] += run.steps.tolist()
            columns[probe] += run.curves[probe].tolist()
    return pa.table(columns)
