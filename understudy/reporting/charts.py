"""What the page's interactive charts draw, as plain values: curves, bands, single runs, and what served their steps."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from understudy.evaluation import RungUse
from understudy.evaluation.curves import MeanCurve, episodes_of_point, return_curve, shares_going
from understudy.evaluation.earnings import SHARE
from understudy.evaluation.rung_use import NAMES
from understudy.reporting.drawing import means_of, points_of_mean, reference_first
from understudy.reporting.luck import returns_with_luck
from understudy.reporting.measurements import Measurements
from understudy.reporting.rungs import COLORS, LABELS
from understudy.reporting.svg import NAMES as VARIABLES
from understudy.reporting.svg import PALETTE
from understudy.reporting.thinning import evenly, thinned
from understudy.runs import Run, Runs
from understudy.runs.nouns import noun_of, one_of

MOST_RUNS = 100
"""Single runs of a set that can be shown."""

NUMBERS_OF_RUNS, FEWEST_POINTS, MOST_POINTS_OF_RUN = 25_000, 20, 150
"""Numbers of all single runs of a chart together, and the points of one run at least and at most."""

RUN_BAND = (0.1, 0.9)
"""The quantiles of runs that the band of runs lies between: eight of ten runs are inside."""

DIGITS, DIGITS_OF_RUN = 5, 4
"""Significant digits of a value, and of one of a single run: a screen shows fewer."""


def probe_chart(key: str, sets: Mapping[str, Runs], probe: str, measured: Measurements) -> dict[str, Any]:
    """Return the chart of a scalar probe: mean curves by steps, with all that is known of each set."""
    trusted, reference = measured.trusted(probe), measured.reference if measured.reference in sets else None
    means = means_of(reference_first(sets, reference), probe, share=SHARE)
    places = points_of_run(sum(min(len(sets[name]), MOST_RUNS) for name in means))
    drawn = []
    for name, curve in means.items():
        runs = sets[name]
        steps, values = Runs(tuple(run for run in runs if len(run.steps)), runs.about).curve(probe)
        ladder = measured.rungs.get(name)
        marks = {
            "trusted": trusted.get(name),
            "exact": None if ladder is None else ladder.exact,
            "longest": int(runs.lengths.max()),
        }
        going = shares_going(runs.lengths)
        one = curve_of(name, curve, values, len(runs), [*marks.values(), curve.horizon], len(means))
        singles = singles_of([(run, run.steps, run.curves[probe]) for run in runs[:MOST_RUNS]], steps, places)
        drawn.append(
            one
            | marks
            | {"going": _going(*going, points_of_mean(len(means))), "rungs": _rungs(ladder), "single": singles}
        )
    return {
        "id": key, "kind": "probe", "title": probe, "unit": "step", "logged": None, "sets": colored(drawn, reference),
        "rungs": {name: {"words": LABELS[name], "color": VARIABLES[COLORS[name]]} for name in NAMES},
    }  # fmt: skip


def returns_chart(
    key: str,
    sets: Mapping[str, Runs],
    reference: str | None,
    logged: float | None,
    trusted: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Return the chart of what episodes earned, by their number; `logged` is what an episode of the log earned.

    `trusted` is the last episode of each set that can be believed.
    """
    sets, size = reference_first(sets, reference), episodes_of_point(sets.values())
    places = points_of_run(sum(min(len(runs), MOST_RUNS) for runs in sets.values()))
    drawn = []
    for name, runs in sets.items():
        curve = returns_with_luck(return_curve(runs, SHARE, size), runs)
        if not np.isfinite(curve.mean).any():
            continue
        readings = [(run, *_means(run.returns, int(curve.steps[0]))) for run in runs]
        values = np.full((len(runs), len(curve.steps)), np.nan)
        for place, (_, _, returns) in enumerate(readings):
            values[place, : len(returns)] = returns
        upto = (trusted or {}).get(name)
        one = curve_of(name, curve, values, len(runs), [curve.horizon, upto], len(sets))
        singles = singles_of(readings[:MOST_RUNS], curve.steps, places)
        finished = np.array([len(run.returns) for run in runs])
        going = _going(*shares_going(finished), points_of_mean(len(sets)))
        marks = {"trusted": upto, "exact": None, "longest": int(finished.max()), "going": going, "rungs": None}
        drawn.append(one | marks | {"single": singles})
    noun = noun_of(*sets.values())
    return {
        "id": key, "kind": "return", "title": f"return of {one_of(noun)}", "unit": noun, "logged": _number(logged),
        "sets": colored(drawn, reference), "rungs": {},
    }  # fmt: skip


def points_of_run(n_runs: int) -> int:
    """Return how many points each single run has, so that those of many do not make the page large.

    >>> points_of_run(20), points_of_run(1000), points_of_run(100_000)
    (150, 25, 20)
    """
    return int(np.clip(NUMBERS_OF_RUNS // max(1, n_runs), FEWEST_POINTS, MOST_POINTS_OF_RUN))


def colored(drawn: Sequence[dict[str, Any]], reference: str | None) -> list[dict[str, Any]]:
    """Return sets with the number of their color, by their place among the others, as figures have it; 0: ink."""
    others = [one["name"] for one in drawn if one["name"] != reference]
    number = {name: 1 + place % len(PALETTE) for place, name in enumerate(others)}
    return [one | {"color": number.get(one["name"], 0)} for one in drawn]


def curve_of(
    name: str, curve: MeanCurve, values: np.ndarray, n_runs: int, edges: Sequence[float | None], n_sets: int
) -> dict[str, Any]:
    """Return the mean of a set with both bands, its median, and how many runs have each reading.

    `edges` are steps beside which no reading is left out, and `n_sets` is how many sets the chart has.
    """
    n_known = np.isfinite(values).sum(axis=0)
    shown = np.isfinite(curve.mean)
    # Quantiles where there is a mean: elsewhere they would be those of the few runs that happened to last.
    quantiles = np.full((3, len(curve.steps)), np.nan)
    if shown.any():
        quantiles[:, shown] = np.nanquantile(values[:, shown], (0.5, *RUN_BAND), axis=0)
    at = thinned(curve.steps, curve.mean, points_of_mean(n_sets), [*edges, curve.reach])
    at = at[shown[at]]
    complete = np.flatnonzero(curve.complete)
    columns = {
        "mean": curve.mean, "low": curve.low, "high": curve.high, "median": quantiles[0], "run_low": quantiles[1],
        "run_high": quantiles[2],
    }  # fmt: skip
    return {
        "name": name, "n_runs": n_runs, "x": curve.steps[at].astype(int).tolist(), "runs": n_known[at].tolist(),
        **{key: _numbers(column[at]) for key, column in columns.items()},
        "complete": int(curve.steps[complete[-1]]) if len(complete) else None,
        "seen": None if curve.reach is None else int(curve.reach),
    }  # fmt: skip


def singles_of(readings: Sequence[tuple[Run, np.ndarray, np.ndarray]], steps: np.ndarray, most: int) -> dict[str, Any]:
    """Return readings of single runs at the same steps for all, and the last reading of each, which is never left out.

    `readings` has each run with its steps and values.
    """
    at = evenly(len(steps), most)
    values = [_numbers(one[at[at < len(one)]], DIGITS_OF_RUN) for _, _, one in readings]
    last = [[int(x[-1]), _number(one[-1])] if len(one) else None for _, x, one in readings]
    return {
        "x": steps[at].astype(int).tolist(),
        "seeds": [str(run.seed) for run, *_ in readings],  # JavaScript has no integers of 64 bits
        "values": values,
        "last": last,
    }


def _means(returns: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what a run's episodes earned in groups of `size`, with the number of the last episode of each."""
    n = len(returns) // size
    return size * np.arange(1, n + 1), np.asarray(returns[: n * size], dtype=float).reshape(n, size).mean(axis=1)


def _going(steps: np.ndarray, shares: np.ndarray, n: int) -> dict[str, Any]:
    """Return the share of runs that went on beyond each step, as a staircase of n steps at most."""
    at = evenly(len(steps), n)
    return {"x": steps[at].astype(int).tolist(), "share": _numbers(shares[at])}


def _rungs(found: RungUse | None) -> dict[str, Any] | None:
    """Return which share of the steps in each bin each rung served, and which share of episodes was cut there."""
    if found is None:
        return None
    shares = {name: _numbers(found.shares[rung]) for rung, name in enumerate(NAMES) if np.nansum(found.shares[rung])}
    cut = _numbers(found.cut) if np.nansum(found.cut) else None
    return {"edges": found.edges.astype(int).tolist(), "shares": shares, "cut": cut}


def _numbers(values: Any, digits: int = DIGITS) -> list[float | None]:
    return [_number(value, digits) for value in np.asarray(values, dtype=float).tolist()]


def _number(value: float | None, digits: int = DIGITS) -> float | int | None:
    """Return a number with a few digits, a whole one as such; None where there is none."""
    if value is None or not isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded
