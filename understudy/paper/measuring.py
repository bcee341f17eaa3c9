"""Tables of sets of runs: how long, how close, and what is drawn of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import understudy as us
from understudy.reporting.curves import mean_curve
from understudy.runs import Runs

RESAMPLES = 2000


def lengths_columns(sets: Mapping[str, Runs]) -> dict[str, list[Any]]:
    """How long the runs of each set were, and what mostly ran out."""
    found = {name: us.efficiency(runs) for name, runs in sets.items()}
    return {
        "set": list(found),
        "runs": [one.n_runs for one in found.values()],
        "steps, median": [one.steps for one in found.values()],
        "quartiles": [one.quartiles for one in found.values()],
        "shortest": [one.shortest for one in found.values()],
        "longest": [one.longest for one in found.values()],
        "rows looked at per step": [one.rows_per_step for one in found.values()],
        "what ran out, mostly": [next(iter(one.stops)) for one in found.values()],
    }


def fidelity_columns(
    sets: Mapping[str, Runs], real: Runs, probe: str, horizon: int | None = None, margin: float | None = None
) -> dict[str, list[Any]]:
    """How close each set is to real runs. The debiased error and the verdict need a log for each run.

    A set of which some run stopped before the first reading is left out.
    """
    first = int(real.curve(probe)[0][0])
    read = {name: runs for name, runs in sets.items() if runs.lengths.min() >= first}
    found = {name: us.fidelity(runs, real, probe, horizon=horizon, margin=margin) for name, runs in read.items()}
    judged: dict[str, list[Any]] = {
        "debiased error": [None if one.squared_error is None else root(one.squared_error) for one in found.values()],
        "95 %": [one.interval and tuple(map(root, one.interval)) for one in found.values()],
        "margin": [one.margin for one in found.values()],
        "verdict": [one.verdict or "none: one log" for one in found.values()],
    }
    return {
        "set": list(found),
        "runs": [one.n_runs for one in found.values()],
        "horizon": [one.horizon for one in found.values()],
        "RMSE": [one.rmse for one in found.values()],
        "noise floor": [one.floor for one in found.values()],
        "max error": [one.max_error for one in found.values()],
        **(judged if any(one.verdict for one in found.values()) else {}),
    }


def root(squared: float) -> float:
    """An error from its square, which noise taken off may have made negative."""
    return float(np.sqrt(max(0.0, squared)))


def one_log_floor(one_log: Runs, own_logs: Runs, real: Runs, probe: str, horizon: int) -> float:
    """The RMSE that an exact simulator would show on one log: the luck of that log, and the spread of runs.

    How curves vary over logs is what runs with a log each vary by beyond those that share one.
    """
    sets = [set_.curve(probe) for set_ in (one_log, own_logs, real)]
    steps = sets[0][0][sets[0][0] <= min(horizon, common_horizon(one_log, own_logs, real))]
    within, total, true = (curves[:, np.isin(at, steps)].var(axis=0, ddof=1) for at, curves in sets)
    luck = np.mean(total - within)  # over the curve: at a step it may well come out negative
    return root(float(luck.clip(0) + np.mean(within) / len(one_log) + np.mean(true) / len(real)))


def common_horizon(*sets: Runs) -> int:
    """The largest step that every run of every set reached."""
    return int(min(runs.lengths.min() for runs in sets))


def curve_columns(sets: Mapping[str, Runs], probe: str) -> dict[str, list[Any]]:
    """The mean curves as they are drawn."""
    columns: dict[str, list[Any]] = {"set": [], "step": [], "mean": [], "half width": [], "complete": []}
    for name, runs in sets.items():
        curve = mean_curve(runs, probe)
        columns["set"] += [name] * len(curve.steps)
        columns["step"] += curve.steps.tolist()
        columns["mean"] += curve.mean.tolist()
        columns["half width"] += curve.half_width.tolist()
        columns["complete"] += curve.complete.tolist()
    return columns


def ratio_of_medians(ours: Runs, theirs: Runs) -> tuple[float, tuple[float, float]]:
    """How many times as long our median run is, with a 95 % interval by resampling runs.

    Runs of the same seed share a log, so they are resampled in pairs.
    """
    lengths = np.stack([ours.lengths, theirs.lengths])
    drawn = np.random.default_rng(0).integers(len(ours), size=(RESAMPLES, len(ours)))
    ratios = np.divide(*np.median(lengths[:, drawn], axis=2))
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(np.divide(*np.median(lengths, axis=1))), (float(low), float(high))


def mean_with_interval(values: np.ndarray) -> tuple[float, tuple[float, float]]:
    """A mean over independent runs with its 95 % interval (Student's)."""
    from scipy import stats

    values = np.asarray(values)[np.isfinite(values)]
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), (float(values.mean() - half), float(values.mean() + half))


def listed(names: Any) -> str:
    """Names in a sentence."""
    names = list(names)
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
