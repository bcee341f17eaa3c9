"""Tables of sets of runs: how long, how close, and what is drawn of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import understudy as us
from understudy.evaluation.fidelity import Fidelity
from understudy.runs import Runs


def lengths_columns(sets: Mapping[str, Runs]) -> dict[str, list[Any]]:
    """Return how long the runs of each set were, and what mostly ran out."""
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
    """Return how close each set is to real runs. The debiased error and the verdict need a log for each run.

    Numbers are None for a set in which some run stopped before the first reading.
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
        "95%": column(lambda one: one.interval and tuple(map(root, one.interval))),
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
    """Return the lines of a table by their sets."""
    lines = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    return {line["set"]: line for line in lines}


def root(squared: float) -> float:
    """Return an error from its square, which is negative where more noise was subtracted than there was error."""
    return float(np.sqrt(max(0.0, squared)))


def after(runs: Runs, step: int) -> Runs:
    """Return the runs without their readings up to a step."""
    kept = [(run, run.steps > step) for run in runs]
    curves = [{name: curve[late] for name, curve in run.curves.items()} for run, late in kept]
    shortened = (
        replace(run, steps=run.steps[late], curves=curve) for (run, late), curve in zip(kept, curves, strict=True)
    )
    return Runs(tuple(shortened), runs.about)


def common_horizon(*sets: Runs) -> int:
    """Return the largest step that every run of every set reached."""
    return int(min(runs.lengths.min() for runs in sets))


def curve_columns(sets: Mapping[str, Runs], probe: str) -> dict[str, list[Any]]:
    """Return the mean curves of sets as they are drawn."""
    table = us.curve_table(sets, probe).to_pydict()
    names = {"set": "set", "step": "step", "mean": "mean", "half_width": "half width", "complete": "complete"}
    return {shown: table[name] for name, shown in names.items()}


def run_columns(sets: Mapping[str, Runs], probe: str) -> dict[str, list[Any]]:
    """Return the curves of single runs as they are drawn."""
    return us.run_table(sets, probe).to_pydict()
