"""The mean curve of a probe over runs, and how far all of them stand behind it."""

from dataclasses import dataclass

import numpy as np

from understudy.runs import Runs

FEWEST = 0.5
"""The share of runs below which their mean is not drawn: it would be that of the few that happened to last."""


@dataclass(frozen=True, eq=False)
class MeanCurve:
    """The mean of a probe at each reading, over the runs that have one."""

    steps: np.ndarray  # (K,)
    mean: np.ndarray  # (K,); NaN where too few runs have a reading
    half_width: np.ndarray  # (K,): 1.96 standard errors over runs; NaN where not all have a reading
    complete: np.ndarray  # (K,): whether every run has a reading, so that nobody's absence biases the mean
    horizon: int  # the largest step that every run reached


def is_scalar(runs: Runs, probe: str) -> bool:
    """Whether a reading of the probe is one number."""
    read = next((run for run in runs if len(run.steps)), None)
    if read is not None:
        return np.ndim(read.curves[probe]) == 1
    return all(np.ndim(run.final.get(probe, 0.0)) == 0 for run in runs)


def has_readings(runs: Runs, probe: str) -> bool:
    """Whether any run was read at all: one that stopped early enough never was."""
    return probe in runs.probes and any(np.isfinite(run.curves[probe]).any() for run in runs)


def mean_curve(runs: Runs, probe: str) -> MeanCurve:
    """The mean curve of a scalar probe.

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
    steps, values = read.curve(probe)
    known = np.isfinite(values)
    n = known.sum(axis=0)
    complete = n == len(runs)
    enough = complete | (n >= max(2, FEWEST * len(runs)))
    total = np.where(known, values, 0.0).sum(axis=0)
    mean = np.where(enough, total / np.maximum(n, 1), np.nan)
    half_width = np.full(len(steps), np.nan)
    if len(runs) > 1 and complete.any():
        half_width[complete] = 1.96 * values[:, complete].std(axis=0, ddof=1) / np.sqrt(len(runs))
    return MeanCurve(steps, mean, half_width, complete, int(runs.lengths.min()))


def difference(curve: MeanCurve, reference: MeanCurve) -> MeanCurve:
    """How far a mean is above another, where both were read; the half width is of both errors together."""
    steps, mine, theirs = np.intersect1d(curve.steps, reference.steps, return_indices=True)
    return MeanCurve(
        steps,
        curve.mean[mine] - reference.mean[theirs],
        np.hypot(curve.half_width[mine], reference.half_width[theirs]),
        curve.complete[mine] & reference.complete[theirs],
        min(curve.horizon, reference.horizon),
    )


def shares_going(runs: Runs) -> tuple[np.ndarray, np.ndarray]:
    """The steps at which runs stopped, from 0, and the share of runs that went on beyond each."""
    lengths = np.sort(runs.lengths)
    steps, first = np.unique(lengths, return_index=True)
    left = np.append(len(lengths) - first[1:], 0) / len(lengths)
    return np.concatenate([[0], steps]), np.concatenate([[1.0], left])
