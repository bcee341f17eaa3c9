"""Tables of efficiency, fidelity and what ran out, as the page shows them."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from understudy.digits import decimals, percent
from understudy.evaluation import Fidelity
from understudy.logs.findings import counted
from understudy.reporting.measurements import Comparisons, Measurements
from understudy.reporting.naming import quoted
from understudy.reporting.returns import earnings_cell, earnings_format, notes_on_returns
from understudy.reporting.shortages import CAUSES_IN_WORDS, shortage
from understudy.runs import Runs
from understudy.runs.nouns import noun_of, one_of
from understudy.tables import NONE, Column, Table, rounded

MOST_NAMED = 5
"""States that are named, of those that ran out."""


def efficiency_table(measured: Measurements) -> Table:
    """Return how long the log could answer for each set of runs, and what an episode earned there."""
    horizons, runs, earned = measured.trusted(), measured.runs, measured.earnings
    columns = (
        Column("", numeric=False),
        Column("runs"),
        Column("steps, median"),
        *[Column("exact up to")] * bool(measured.rungs),
        *[Column("trusted up to")] * bool(horizons),
        Column("quartiles"),
        Column("nine of ten reached"),
        Column("episodes, median"),
        Column(f"return {one_of(noun_of(*runs.values()))}"),
        Column("log served"),
        Column("rows looked at per step"),
    )
    write = earnings_format(earned)
    rows, values = [], []
    for name, found in measured.efficiency.items():
        low, high = found.quartiles
        at_least = "≥ " if 2 * found.n_limited >= found.n_runs and runs[name].about.log_rows else ""
        rows.append(
            (
                name,
                f"{found.n_runs:,}",
                f"{at_least}{found.steps:,.0f}",
                *[NONE if (exact := exact_of(measured, name)) is None else f"{exact:,}"] * bool(measured.rungs),
                *[f"{horizons[name]:,}" if name in horizons else NONE] * bool(horizons),
                f"{low:,.0f}{NONE}{high:,.0f}",
                f"{found.horizon:,}",
                f"{found.episodes:,.0f}",
                earnings_cell(earned.get(name), write),
                NONE if found.share_served is None else f"{at_least}{percent(found.share_served)}",
                NONE if found.rows_per_step is None else f"{found.rows_per_step:.2f}",
            )
        )
        values.append(
            (
                name, found.n_runs, found.steps, *[exact] * bool(measured.rungs),
                *[horizons.get(name)] * bool(horizons), found.quartiles, found.horizon, found.episodes,
                earned.get(name), found.share_served, found.rows_per_step,
            )
        )  # fmt: skip
    notes = [f"“{name}” has no finished run and is left out." for name, set_ in runs.items() if not len(set_)]
    if any(row[2].startswith("≥") for row in rows):
        notes.append("≥: max_steps stopped those runs, not the log; how long it could have answered is not known.")
    notes += notes_on_returns(runs, earned, horizons)
    if any(set_.about.log_episodes == 1 for set_ in runs.values()):
        notes.append("The log is one episode: its order is fixed, and runs differ by acceptance and learner only.")
    return Table("Efficiency", columns, tuple(rows), tuple(values), tuple(notes))


def exact_of(measured: Measurements, name: str) -> int | None:
    """Return the exact horizon of a set on a ladder; None for other sets."""
    found = measured.rungs.get(name)
    return None if found is None else found.exact


def stops_table(runs: Mapping[str, Runs]) -> Table:
    """Return the causes for which the runs of each set stopped: how many runs, and in which states most."""
    columns = (
        Column("", numeric=False),
        Column("why runs stopped", numeric=False),
        Column("runs"),
        Column("where", numeric=False),
    )
    rows, values = [], []
    for name, set_ in runs.items():
        causes = Counter(run.stopped.cause for run in set_)
        for cause, count in causes.most_common():
            stops = [run.stopped for run in set_ if run.stopped.cause == cause]
            words = {stop.group: shortage(stop) for stop in reversed(stops) if stop.state is not None}
            places = Counter(str(words[stop.group]) for stop in stops if stop.state is not None)
            rows.append((str(name), CAUSES_IN_WORDS.get(cause, cause), f"{count:,}", _where(places)))
            values.append((str(name), cause, count, dict(places)))
    return Table("What ran out", columns, tuple(rows), tuple(values))


def fidelity_table(found: Comparisons, probe: str) -> Table:
    """Return how far each set's mean curve of a probe is from the reference's.

    Errors up to different steps are not comparable, so the first columns are up to the shared horizon. Beside them
    stand those up to each set's own horizon, where that is another step.
    """
    at_shared, own = found.at_shared, found.at_own
    known = [one for one in (*at_shared.values(), *own.values()) if isinstance(one, Fidelity)]
    digits = decimals([x for one in known for x in (one.rmse, one.floor, one.mean_error)])
    decided = any(isinstance(one, Fidelity) and one.interval for one in at_shared.values())
    apart = any(isinstance(one, Fidelity) and one.horizon != found.shared_horizon for one in own.values())

    headings = ["RMSE", "floor", "mean error", "max error"]
    group = "" if found.shared_horizon is None else f"all up to step {found.shared_horizon:,}"
    columns = [Column("", numeric=False), *(Column(heading, group=group) for heading in headings)]
    if decided:
        level = next(one.level for one in known)
        columns += [Column(f"error, {level:.0%} interval", group=group), Column("margin", group=group)]
        columns += [Column("verdict", numeric=False, group=group)]
    if apart:
        columns += [
            Column(heading, group="each up to its own horizon") for heading in ["own horizon", "own RMSE", "own floor"]
        ]

    rows, values = [], []
    for name in own:
        value: list[Any] = [name, *errors_of(at_shared[name])]
        cells = [name, *(rounded(x, digits) for x in value[1:])]
        if decided:
            value += _decision(at_shared[name])
            cells += [_roots(value[-3], digits), rounded(value[-2], digits), value[-1] or NONE]
        if apart:
            one = own[name]
            value += [one.horizon if isinstance(one, Fidelity) else None, *errors_of(one)[:2]]
            cells += [f"{one.horizon:,}" if isinstance(one, Fidelity) else NONE]
            cells += [rounded(x, digits) for x in value[-2:]]
        rows.append(tuple(cells))
        values.append(tuple(value))
    title = f"Fidelity of {probe}" + ("" if found.shared_horizon is None else f" up to step {found.shared_horizon:,}")
    return Table(title, tuple(columns), tuple(rows), tuple(values), fidelity_notes(at_shared))


def errors_of(found: Fidelity | str) -> list[float | None]:
    """Return RMSE, floor, mean and maximum error; None where there is no fidelity."""
    if isinstance(found, str):
        return [None] * 4
    return [found.rmse, found.floor, found.mean_error, found.max_error]


def _decision(found: Fidelity | str) -> list[Any]:
    """Return interval, margin and verdict; None where there is no fidelity."""
    return [None] * 3 if isinstance(found, str) else [found.interval, found.margin, found.verdict]


def _where(places: Counter[str]) -> str:
    """Return what ran out most, and how often."""
    named = [f"{what} ({count:,})" for what, count in places.most_common(MOST_NAMED)]
    if len(places) > MOST_NAMED:
        named.append(counted(len(places) - MOST_NAMED, "other"))
    return "; ".join(named) or NONE


def _roots(interval: tuple[float, float] | None, digits: int) -> str:
    """Return the interval of a squared error in the probe's own units."""
    if interval is None:
        return NONE
    low, high = (np.sqrt(max(0.0, end)) for end in interval)
    return f"{low:,.{digits}f}{NONE}{high:,.{digits}f}"


def fidelity_notes(found: Mapping[str, Fidelity | str]) -> tuple[str, ...]:
    """Return why sets have no verdict or no number: each reason once, with the sets it holds for unless all."""
    reasons: dict[str, list[str]] = {}
    for name, one in found.items():
        if text := one if isinstance(one, str) else one.note:
            reasons.setdefault(text, []).append(name)
    return tuple(
        f"{text}." if len(names) == len(found) and len(found) > 1 else f"{quoted(names)}: {text}."
        for text, names in reasons.items()
    )
