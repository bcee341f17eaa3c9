"""Forecasts of how long the log would answer, beside how long it did."""

from understudy.digits import percent
from understudy.reporting.measurements import Measurements
from understudy.tables import NONE, Column, Table


def forecast_table(measured: Measurements) -> Table | None:
    """Return the forecast of each set and its outcome; None where nothing was forecast."""
    columns = (
        Column("", numeric=False),
        Column("steps", group="forecast"),
        Column("range of runs", group="forecast"),
        Column("runs out first", numeric=False, group="forecast"),
        Column("steps, median", group="outcome"),
        Column("runs in range", group="outcome"),
        Column("ran out most", numeric=False, group="outcome"),
    )
    rows, values = [], []
    for name, found in measured.forecasts.items():
        runs, lasted = measured.runs[name], measured.efficiency[name]
        low, high = found.interval
        inside = float(((runs.lengths >= low) & (runs.lengths <= high)).mean())
        first, most = (next(iter(stops), NONE) for stops in (found.runs_out, lasted.stops))
        at_least = "≥ " * (2 * found.n_limited > found.pre_runs)
        range_ = f"{low:,} to {high:,}"
        cells = (f"{at_least}{found.steps:,}", range_, first, f"{lasted.steps:,.0f}", percent(inside), most)
        rows.append((name, *cells))
        values.append((name, found.steps, found.interval, first, lasted.steps, inside, most))
    if not rows:
        return None
    counts = sorted({(found.pre_runs, found.level) for found in measured.forecasts.values()})
    notes = [
        f"The range, from {pre_runs} pre-runs with seeds of their own, was to hold {percent(level)} of runs."
        for pre_runs, level in counts
    ]
    if any(row[1].startswith("≥") for row in rows):
        notes.append("≥: max_steps, or the learner itself, stopped most pre-runs, not the log.")
    return Table("Forecast and outcome", columns, tuple(rows), tuple(values), tuple(notes))
