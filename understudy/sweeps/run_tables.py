"""The tables of a sweep: a row for each run, and a row for each reading of a probe; runs as such rows."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.contracts.ladders import RUNGS
from understudy.runs.failures import FailedRun
from understudy.runs.run import Run

if TYPE_CHECKING:
    import pyarrow as pa

REWARD = "reward so far"
"""The probe that all runs of a sweep have: the sum of rewards since the run began."""

RUNG_STEPS = {f"{name}_steps": number for number, name in enumerate(("own", *RUNGS))}
"""The columns of steps that each rung of a ladder served, and the numbers of the rungs."""

RUNS = {
    "number": "int32", "seed": "int64", "steps": "int64", "episodes": "int64", "reward": "float64",
    "cause": "string", "state": "int64", "action": "int64", "place": "string", "label": "string", "reason": "string",
    "bias": "float64", "exact_steps": "int64", "cuts": "int64", **dict.fromkeys(RUNG_STEPS, "int64"),
    "seconds": "float64", "failed": "string", "traceback": "string",
}  # fmt: skip
"""The columns of a run and their types, those of its names apart, which are in the paths."""

CURVES = {"number": "int32", "step": "int64", "probe": "dictionary", "entry": "int32", "value": "float64"}
"""The columns of a reading and their types; a dictionary is one of texts."""


@cache
def schema_of(table: str) -> "pa.Schema":
    """Return the Arrow schema of the table "runs" or "curves"."""
    import pyarrow as pa

    texts = pa.dictionary(pa.int32(), pa.string())
    types = RUNS if table == "runs" else CURVES
    return pa.schema(
        [(name, texts if kind == "dictionary" else pa.type_for_alias(kind)) for name, kind in types.items()]
    )


def runs_table(numbers: Sequence[int], runs: Sequence[Run], seconds: Sequence[float]) -> "pa.Table":
    """Return a row for each finished run; `seconds` is how long each took."""
    stops = [run.stopped for run in runs]
    columns: dict[str, Sequence[Any]] = {
        "number": numbers,
        "seed": [run.seed for run in runs],
        "steps": [len(run) for run in runs],
        "episodes": [len(run.ends) for run in runs],
        "reward": [float(run.final[REWARD]) for run in runs],
        "cause": [stop.cause for stop in stops],
        "state": [stop.state for stop in stops],
        "action": [stop.action for stop in stops],
        "place": [stop.place for stop in stops],
        "label": [None if stop.label is None else str(stop.label) for stop in stops],
        "reason": [stop.reason for stop in stops],
        "bias": [stop.bias for stop in stops],
        "seconds": seconds,
    }
    if any(run.rungs is not None for run in runs):
        counts = [None if run.rungs is None else np.bincount(run.rungs, minlength=len(RUNG_STEPS)) for run in runs]
        columns["exact_steps"] = [None if run.rungs is None else run.exact_steps for run in runs]
        columns["cuts"] = [None if run.cuts is None else len(run.cuts) for run in runs]
        for name, rung in RUNG_STEPS.items():
            columns[name] = [None if count is None else int(count[rung]) for count in counts]
    return _filled(columns, len(runs))


def failures_table(failed: Sequence[FailedRun]) -> "pa.Table":
    """Return a row for each run that raised, with its reason and traceback."""
    columns: dict[str, Sequence[Any]] = {
        "number": [one.number for one in failed],
        "seed": [one.seed for one in failed],
        "failed": [one.reason for one in failed],
        "traceback": [one.traceback for one in failed],
    }
    return _filled(columns, len(failed))


def _filled(columns: dict[str, Sequence[Any]], n_rows: int) -> "pa.Table":
    """Return a table of runs; columns that are not given are null."""
    import pyarrow as pa

    schema = schema_of("runs")
    arrays = [
        pa.array(columns[name], kind) if name in columns else pa.nulls(n_rows, kind)
        for name, kind in zip(schema.names, schema.types, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def curves_table(numbers: Sequence[int], runs: Sequence[Run]) -> "pa.Table":
    """Return a row for each reading of each probe of each run, and for each entry where a reading is an array."""
    import pyarrow as pa

    probes = list(dict.fromkeys(probe for run in runs for probe in run.curves))
    places = {probe: place for place, probe in enumerate(probes)}
    number, step, probe_of, entry, value = ([np.empty(0, kind)] for kind in ("i4", "i8", "i4", "i4", "f8"))
    for run_number, run in zip(numbers, runs, strict=True):
        for probe, curve in run.curves.items():
            n = curve.size
            if not n:
                continue
            width = n // len(run.steps)
            number.append(np.full(n, run_number, np.int32))
            step.append(run.steps if width == 1 else np.repeat(run.steps, width))
            probe_of.append(np.full(n, places[probe], np.int32))
            entry.append(np.zeros(n, np.int32) if width == 1 else np.tile(np.arange(width, dtype=np.int32), n // width))
            value.append(curve if curve.ndim == 1 else curve.ravel())
    named = pa.DictionaryArray.from_arrays(np.concatenate(probe_of), pa.array(probes, pa.string()))
    arrays = [np.concatenate(number), np.concatenate(step), named, np.concatenate(entry), np.concatenate(value)]
    return pa.Table.from_arrays([pa.array(array) for array in arrays], schema=schema_of("curves"))
