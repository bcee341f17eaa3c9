"""The mean curve of a probe over runs, and how far all of them stand behind it."""

from dataclasses import dataclass

import numpy as np

from understudy.runs import Runs
from understudy.runs.run import reached

FEWEST = 0.5
"""The share of runs below which their mean is not drawn: it would be that of the few that happened to last."""

POINTS = 100
"""Of a curve by episodes, about."""


@dataclass(frozen=True, eq=False)
class MeanCurve:
    """The mean of a probe at each reading, over the runs that have one.

    Runs without a reading, mostly since they have stopped, are not like the others. `below` and `above` tell what
    their absence can cost: how much lower and higher the mean of all runs would be if those had the lowest and the
    highest reading that any run has shown by then.
    """

    steps: np.ndarray  # (K,)
    mean: np.ndarray  # (K,); NaN where too few runs have a reading
    half_width: np.ndarray  # (K,): 1.96 standard errors over runs; NaN where not complete
    complete: np.ndarray  # (K,): whether all runs have a reading, or the share of them that was asked for
    horizon: int  # the largest step that all runs, or that share of them, reached
    below: np.ndarray  # (K,)
    above: np.ndarray  # (K,)

    @property
    def low(self) -> np.ndarray:
        """The lower end of the band: the standard errors, and what absent runs can cost."""
        return self.mean - self.half_width - self.below

    @property
    def high(self) -> np.ndarray:
        """The upper end."""
        return self.mean + self.half_width + self.above


def is_scalar(runs: Runs, probe: str) -> bool:
    """Whether a reading of the probe is one number."""
    read = next((run for run in runs if len(run.steps)), None)
    if read is not None:
        return np.ndim(read.curves[probe]) == 1
    return all(np.ndim(run.final.get(probe, 0.0)) == 0 for run in runs)


def has_readings(runs: Runs, probe: str) -> bool:
    """Whether any run was read at all: one that stopped early enough never was."""
    return probe in runs.probes and any(np.isfinite(run.curves[probe]).any() for run in runs)


def mean_curve(runs: Runs, probe: str, share: float = 1.0) -> MeanCurve:
    """The mean curve of a scalar probe, complete where at least this share of the runs has a reading.

    >>> from understudy.contracts import Stop
    >>> from understudy.runs import Run
    >>> def run(*curve):
    ...     steps, none, stop = 10 * np.arange(1, len(curve) + 1), np.empty(0), Stop("no opening")
    ...     return Run(0, np.arange(10 * len(curve)), none, None, none, none, steps, {"g": np.array(curve)}, {}, stop)
    >>> both = mean_curve(Runs((run(1.0, 2.0), run(3.0))), "g")
    >>> both.steps, both.mean, both.complete, both.horizon
    (array([10, 20]), array([ 2., nan]), array([ True, False]), 10)
    """
    read = Runs(tuple(run for run in runs if len(run.steps)), runs.about)
    return _mean(*read.curve(probe), len(runs), share, runs.horizon(share))


def return_curve(runs: Runs, share: float = 1.0) -> MeanCurve:
    """The mean return of the first, second, ... episode of each run, by the number of the episode instead of steps.

    Unlike the episodes that happen to end between two steps, these are long and short ones alike. Where a run has more
    than some hundred, as many neighbors are averaged as make some hundred points.
    """
    finished = np.array([len(run.returns) for run in runs])
    size = max(1, int(np.median(finished)) // POINTS)
    values = np.full((len(runs), int(finished.max()) // size), np.nan)
    for place, run in enumerate(runs):
        n = len(run.returns) // size
        values[place, :n] = run.returns[: n * size].reshape(n, size).mean(axis=1)
    last = size * np.arange(1, values.shape[1] + 1)
    return _mean(last, values, len(runs), share, reached(finished, share))


def _mean(steps: np.ndarray, values: np.ndarray, n_runs: int, share: float, horizon: int) -> MeanCurve:
    """The mean over runs, (R, K) with NaN where a run has no reading; runs that were never read may be left out."""
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
    """How far a mean is above another, where both were read; the half width is of both errors together."""
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


def shares_going(runs: Runs) -> tuple[np.ndarray, np.ndarray]:
    """The steps at which runs stopped, from 0, and the share of runs that went on beyond each."""
    lengths = np.sort(runs.lengths)
    steps, first = np.unique(lengths, return_index=True)
    left = np.append(len(lengths) - first[1:], 0) / len(lengths)
    return np.concatenate([[0], steps]), np.concatenate([[1.0], left])
