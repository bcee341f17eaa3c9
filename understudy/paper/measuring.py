"""Tables of sets of runs: how long, how close, and what is drawn of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import understudy as us
from understudy.evaluation.curves import mean_curve
from understudy.evaluation.fidelity import Fidelity
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

    Of a set of which some run stopped before the first reading nothing can be said.
    """
    first = int(real.curve(probe)[0][0])
    found: dict[str, Fidelity | None] = {
        name: us.fidelity(runs, real, probe, horizon=horizon, margin=margin) if runs.lengths.min() >= first else None
        for name, runs in sets.items()
    }

    def column(of: Callable[[Fidelity], Any], otherwise: Any = None) -> list[Any]:
        return [otherwise if one is None else of(one) for one in found.values()]

    judged = {
        "debiased error": column(lambda one: None if one.squared_error is None else root(one.squared_error)),
        "95 %": column(lambda one: one.interval and tuple(map(root, one.interval))),
        "margin": column(lambda one: one.margin),
        "verdict": column(lambda one: one.verdict or "none: one log", "none: a run stopped at once"),
    }
    return {
        "set": list(found),
        "runs": [len(runs) for runs in sets.values()],
        "horizon": column(lambda one: one.horizon),
        "RMSE": column(lambda one: one.rmse),
        "floor of runs": column(lambda one: one.floor),
        "max error": column(lambda one: one.max_error),
        **(judged if any(one and one.verdict for one in found.values()) else {}),
    }


def by_set(table: Mapping[str, Sequence[Any]]) -> dict[str, dict[str, Any]]:
    """A table's lines by their sets."""
    lines = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    return {line["set"]: line for line in lines}


def error_of(line: Mapping[str, Any], digits: int = 4) -> str:
    """A set's debiased error in words."""
    if line.get("95 %") is None:
        return f"{line['set']}: undecided"
    low, high = line["95 %"]
    return f"{line['set']} {low:.{digits}f} to {high:.{digits}f}, {line['verdict']}"


def all_equivalent(lines: Iterable[Mapping[str, Any]]) -> bool | None:
    """Whether every set is equivalent to real; None where that is undecided."""
    verdicts = {line.get("verdict") for line in lines}
    return False if "different" in verdicts else True if verdicts == {"equivalent"} else None


def all_longer(intervals: Iterable[tuple[float, float]]) -> bool | None:
    """Whether each of some ratios of lengths is above one, by their intervals; one that is below refutes it."""
    lows, highs = zip(*intervals, strict=True)
    return True if min(lows) > 1 else False if min(highs) < 1 else None


def smaller(mine: tuple[float, float] | None, theirs: tuple[float, float] | None) -> bool | None:
    """Whether one error is below another, by intervals that do not meet."""
    if mine is None or theirs is None:
        return None
    return True if mine[1] < theirs[0] else False if mine[0] > theirs[1] else None


def root(squared: float) -> float:
    """An error from its square, which noise taken off may have made negative."""
    return float(np.sqrt(max(0.0, squared)))


def one_log_floor(one_log: Runs, few_logs: Runs, real: Runs, probe: str, horizon: int) -> float:
    """The RMSE that an exact simulator would show on one log: the luck of that log, and the spread of runs."""
    horizon = min(horizon, common_horizon(one_log, few_logs, real))
    luck = luck_of_logs(few_logs, probe, horizon)
    spread = (float(np.mean(upto(runs, probe, horizon).var(axis=0, ddof=1))) / len(runs) for runs in (one_log, real))
    return root(max(0.0, luck) + sum(spread))


def luck_of_logs(runs: Runs, probe: str, horizon: int) -> float:
    """How much the mean curve varies from log to log, a variance, from several runs on each of several logs.

    The one-way analysis of variance: what means of logs vary by, less what is due to the runs that they are means of.
    """
    curves, log = upto(runs, probe, horizon), np.unique([run.log for run in runs], return_inverse=True)[1]
    counts = np.bincount(log)
    means = np.stack([np.bincount(log, column) for column in curves.T], axis=1) / counts[:, None]
    within = ((curves - means[log]) ** 2).sum(axis=0) / (len(runs) - len(counts))
    between = (counts[:, None] * (means - curves.mean(axis=0)) ** 2).sum(axis=0) / (len(counts) - 1)
    typical = (len(runs) - (counts**2).sum() / len(runs)) / (len(counts) - 1)  # runs on a log, where counts differ
    return float(np.mean(between - within) / typical)


def upto(runs: Runs, probe: str, horizon: int) -> np.ndarray:
    """Curves up to a step that all runs reached, (runs, readings)."""
    steps, curves = runs.curve(probe)
    return curves[:, steps <= horizon]


def after(runs: Runs, step: int) -> Runs:
    """The runs without what was read at a step or before."""
    kept = [(run, run.steps > step) for run in runs]
    curves = [{name: curve[late] for name, curve in run.curves.items()} for run, late in kept]
    shortened = (
        replace(run, steps=run.steps[late], curves=curve) for (run, late), curve in zip(kept, curves, strict=True)
    )
    return Runs(tuple(shortened), runs.about)


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


def run_columns(sets: Mapping[str, Runs], probe: str) -> dict[str, list[Any]]:
    """The curves of single runs."""
    columns: dict[str, list[Any]] = {"set": [], "run": [], "step": [], probe: []}
    for name, runs in sets.items():
        for number, run in enumerate(runs):
            columns["set"] += [name] * len(run.steps)
            columns["run"] += [number] * len(run.steps)
            columns["step"] += run.steps.tolist()
            columns[probe] += run.curves[probe].tolist()
    return columns


def ratio_of_medians(ours: Runs, theirs: Runs) -> tuple[float, tuple[float, float]]:
    """How many times as long our median run is, with a 95 % interval by resampling runs.

    Runs of the same seed share a log, so they are resampled in pairs.
    """
    return ratio_of(np.median, ours.lengths, theirs.lengths)


def ratio_of_spreads(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, tuple[float, float]]:
    """How many times the standard deviation of theirs is ours, with a 95 % interval by resampling."""
    return ratio_of(np.std, ours, theirs)


def ratio_of(what: Callable[..., Any], ours: np.ndarray, theirs: np.ndarray) -> tuple[float, tuple[float, float]]:
    """A ratio of statistics of paired values, with a 95 % interval by resampling pairs."""
    pairs = np.stack([ours, theirs])
    drawn = np.random.default_rng(0).integers(len(ours), size=(RESAMPLES, len(ours)))
    low, high = np.quantile(np.divide(*what(pairs[:, drawn], axis=2)), [0.025, 0.975])
    return float(np.divide(*what(pairs, axis=1))), (float(low), float(high))


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
