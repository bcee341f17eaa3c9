"""Tables of the grid with noise bits: lengths, ratios of lengths, and estimates."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import understudy as us
from paper.items import Columns
from paper.noisy_grid import PSRS_X, PSRS_Z, QBE_X, QBE_Z, SETTINGS, Case, Sets, exact_values
from paper.verdicts import mean_with_interval
from understudy.runs import Runs

CLOSE = {"setting 1": 0.1, "setting 2": 0.01}
"""Margins of the mean estimate: a fiftieth of the exact value, and a hundredth of the goal's reward."""

STRIPS = {
    "setting 1": "setting 1: the uniform policy (row order)",
    "setting 2": "setting 2: a near-optimal policy",
    "setting 3": "setting 3: Q-learning",
}


def estimates_of(runs: Runs) -> np.ndarray:
    """Return the estimate that each run ended with."""
    return np.array([float(run.final["estimate"]) for run in runs])


def distinct(runs: Runs) -> int:
    """Return how many different estimates runs ended with; sums of the same numbers in another order are equal."""
    return len(np.unique(estimates_of(runs).round(9)))


def flattened(found: Mapping[Case, Mapping[str, Sets]], settings: tuple[str, ...] = SETTINGS) -> Any:
    """Return all sets as (setting, case, name, runs), ordered by setting."""
    return [
        (setting, case, name, runs)
        for setting in settings
        for case, sets in found.items()
        for name, runs in sets[setting].items()
    ]


def lengths_drawn(found: Mapping[Case, Mapping[str, Sets]]) -> Columns:
    """Median and quartiles of lengths, as `ranges` takes them."""
    rows = flattened(found)
    quartiles = [np.quantile(runs.lengths, [0.25, 0.5, 0.75]) for *_, runs in rows]
    return _panels(rows) | {
        "middle": [float(q[1]) for q in quartiles],
        "low": [float(q[0]) for q in quartiles],
        "high": [float(q[2]) for q in quartiles],
    }


def values_drawn(found: Mapping[Case, Mapping[str, Sets]]) -> Columns:
    """Estimates of settings 1 and 2, as `ranges` takes them."""
    rows = flattened(found, SETTINGS[:2])
    ends = [np.nanquantile(estimates_of(runs), [0.025, 0.975]) for *_, runs in rows]
    return _panels(rows) | {
        "middle": [float(np.nanmean(estimates_of(runs))) for *_, runs in rows],
        "low": [float(low) for low, _ in ends],
        "high": [float(high) for _, high in ends],
        "exact": [exact_values(case)[setting] for setting, case, *_ in rows],
    }


def _panels(rows: Any) -> dict[str, list[Any]]:
    return {
        "strip": [STRIPS[setting] for setting, *_ in rows],
        "panel": [str(case) for _, case, *_ in rows],
        "set": [name for *_, name, _ in rows],
    }


def ratios_table(found: Mapping[Case, Mapping[str, Sets]]) -> Columns:
    """Medians side by side for each case and setting."""
    places = [(case, setting, sets[setting]) for case, sets in found.items() for setting in SETTINGS]
    medians = [{name: float(np.median(runs.lengths)) for name, runs in sets.items()} for *_, sets in places]
    return {
        "case": [str(case) for case, *_ in places],
        "setting": [setting for _, setting, _ in places],
        **{name: [median[name] for median in medians] for name in (PSRS_X, PSRS_Z, QBE_X, QBE_Z)},
        "PSRS: states / observations": [median[PSRS_Z] / median[PSRS_X] for median in medians],
        "QBE: states / observations": [median[QBE_Z] / median[QBE_X] for median in medians],
        "PSRS / QBE on observations": [median[PSRS_X] / median[QBE_X] for median in medians],
        "PSRS / QBE on states": [median[PSRS_Z] / median[QBE_Z] for median in medians],
    }


def own_ratios(found: Mapping[Case, Mapping[str, Sets]]) -> Columns:
    """Ratios of lengths, states to observations, with a log for each run."""
    places = [
        (setting, case, kind, us.ratio_of_medians(sets[setting][by_states], sets[setting][by_observations]))
        for setting in SETTINGS
        for case, sets in found.items()
        if setting in sets
        for kind, by_states, by_observations in (("PSRS", PSRS_Z, PSRS_X), ("QBE", QBE_Z, QBE_X))
    ]
    return {
        "setting": [setting for setting, *_ in places],
        "case": [str(case) for _, case, *_ in places],
        "simulator": [kind for *_, kind, _ in places],
        "states / observations": [ratio.value for *_, ratio in places],
        "95%": [ratio.interval for *_, ratio in places],
    }


def printed_table(printed: Mapping[tuple[str, str], Sets]) -> Columns:
    """Lengths of PSRS in row order."""
    ratios = [us.ratio_of_medians(sets[PSRS_Z], sets[PSRS_X]) for sets in printed.values()]
    return {
        "setting": [setting for setting, _ in printed],
        "openings": [openings for _, openings in printed],
        PSRS_X: [float(np.median(sets[PSRS_X].lengths)) for sets in printed.values()],
        PSRS_Z: [float(np.median(sets[PSRS_Z].lengths)) for sets in printed.values()],
        "ratio": [ratio.value for ratio in ratios],
        "95% over runs": [ratio.interval for ratio in ratios],
    }


def against_qbe(found: Mapping[Case, Mapping[str, Sets]]) -> Columns:
    """Ratios of lengths, PSRS to QBE."""
    places = [
        (setting, case, keyed, us.ratio_of_medians(sets[setting][psrs], sets[setting][qbe]))
        for setting in SETTINGS
        for case, sets in found.items()
        if setting in sets
        for psrs, qbe, keyed in ((PSRS_X, QBE_X, "observations"), (PSRS_Z, QBE_Z, "states"))
    ]
    return {
        "setting": [setting for setting, *_ in places],
        "case": [str(case) for _, case, *_ in places],
        "queued by": [keyed for *_, keyed, _ in places],
        "PSRS / QBE": [ratio.value for *_, ratio in places],
        "95%": [ratio.interval for *_, ratio in places],
    }


def estimates_table(found: Mapping[Case, Mapping[str, Sets]]) -> Columns:
    """Mean estimates over independent runs beside exact values, and whether they are as close as they should be."""
    rows = flattened(found, SETTINGS[:2])
    means = [mean_with_interval(estimates_of(runs)) for *_, runs in rows]
    exact = [exact_values(case)[setting] for setting, case, *_ in rows]
    return {
        "setting": [setting for setting, *_ in rows],
        "case": [str(case) for _, case, *_ in rows],
        "set": [name for *_, name, _ in rows],
        "exact value": exact,
        "mean estimate": [mean for mean, _ in means],
        "95%": [interval for _, interval in means],
        "margin": [CLOSE[setting] for setting, *_ in rows],
        "verdict": [
            judgement(interval, value, CLOSE[setting])
            for (_, interval), value, (setting, *_) in zip(means, exact, rows, strict=True)
        ],
    }


def judgement(interval: tuple[float, float], exact: float, margin: float) -> str:
    """Return the verdict on whether an estimate is within a margin of the exact value.

    >>> judgement((0.9, 1.2), 1.0, 0.3), judgement((1.4, 1.6), 1.0, 0.3), judgement((1.2, 1.6), 1.0, 0.3)
    ('equivalent', 'different', 'undecided')
    """
    low, high = interval[0] - exact, interval[1] - exact
    if max(abs(low), abs(high)) < margin:
        return "equivalent"
    return "different" if min(abs(low), abs(high)) > margin and low * high > 0 else "undecided"


def stacked(tables: Mapping[str, Columns]) -> Columns:
    """Return tables of the same columns as one, with a column case of their names."""
    first = next(iter(tables.values()))
    names = [name for name, table in tables.items() for _ in table["set"]]
    return {"case": names} | {key: [value for table in tables.values() for value in table[key]] for key in first}
