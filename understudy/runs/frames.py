"""Runs as Arrow tables, which pandas takes by `.to_pandas()` and polars by `polars.from_arrow`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.tables import arrow_table

if TYPE_CHECKING:
    import pyarrow as pa

    from understudy.runs.run import Run

STOP_TYPES = {"cause": "string", "state": "int64", "action": "int64", "reason": "string"}


def readings_frame(runs: Sequence["Run"]) -> "pa.Table":
    """Return a table with a line for each run and reading: run, seed, step, and a column for each probe."""
    import pyarrow as pa

    read = [number for number, run in enumerate(runs) if len(run.steps)] or list(range(len(runs)))[:1]
    counts = [len(runs[number].steps) for number in read]
    columns = _repeated(runs, read, counts)
    columns["step"] = pa.array(np.concatenate([runs[number].steps for number in read] or [np.empty(0)]), pa.int64())
    for probe in runs[0].curves if runs else ():
        parts = [_column(np.asarray(runs[number].curves[probe])) for number in read]
        columns[_column_name(probe, columns)] = pa.chunked_array(parts)
    return pa.table(columns)


def episodes_frame(runs: Sequence["Run"]) -> "pa.Table":
    """Return a table with a line for each run and finished episode: run, seed, episode from 0, last step, return."""
    import pyarrow as pa

    counts = [len(run.ends) for run in runs]
    columns = _repeated(runs, range(len(runs)), counts)
    columns["episode"] = pa.array(_joined([np.arange(count) for count in counts]), pa.int64())
    columns["step"] = pa.array(_joined([run.ends for run in runs]), pa.int64())
    columns["return"] = pa.array(_joined([run.returns for run in runs]), pa.float64())
    return pa.table(columns)


def runs_frame(runs: Sequence["Run"]) -> "pa.Table":
    """Return a table with a line for each run: how far it got, why it stopped, and the last reading of each probe."""
    import pyarrow as pa

    columns = _repeated(runs, range(len(runs)), [1] * len(runs))
    columns["steps"] = pa.array([len(run) for run in runs], pa.int64())
    columns["episodes"] = pa.array([len(run.ends) for run in runs], pa.int64())
    if any(run.rungs is not None for run in runs):
        columns["exact_steps"] = pa.array([None if run.rungs is None else run.exact_steps for run in runs], pa.int64())
        columns["cuts"] = pa.array([None if run.cuts is None else len(run.cuts) for run in runs], pa.int64())
    stops = {name: [getattr(run.stopped, name) for run in runs] for name in STOP_TYPES}
    columns |= dict(zip(STOP_TYPES, arrow_table(stops, STOP_TYPES).columns, strict=True))
    for probe in runs[0].final if runs else ():
        final = [np.asarray(run.final[probe]).tolist() if probe in run.final else None for run in runs]
        columns[_column_name(probe, columns)] = pa.array(final)
    return pa.table(columns)


def _repeated(runs: Sequence["Run"], numbers: Sequence[int], counts: Sequence[int]) -> dict[str, Any]:
    """Return the columns run and seed, with as many lines for each of these runs as its count."""
    import pyarrow as pa

    seeds = [runs[number].seed for number in numbers]
    small = all(-(2**63) <= seed < 2**63 for seed in seeds)  # a single simulation takes seeds of 127 bits
    seed = pa.array(seeds if small else list(map(str, seeds)), pa.int64() if small else pa.string())
    lines = np.repeat(np.arange(len(numbers)), counts)
    return {"run": pa.array(np.asarray(numbers)[lines] if len(lines) else [], pa.int64()), "seed": seed.take(lines)}


def _column(readings: np.ndarray) -> "pa.Array":
    """Return readings, (K,) or (K, ...), as a column of numbers or of lists, lists of lists for matrices."""
    import pyarrow as pa

    values = pa.array(readings.ravel())
    for axis in range(readings.ndim - 1, 0, -1):
        n_lists = int(np.prod(readings.shape[:axis]))
        offsets = readings.shape[axis] * np.arange(n_lists + 1, dtype=np.int64)
        values = pa.LargeListArray.from_arrays(pa.array(offsets), values)
    return values


def _column_name(probe: str, taken: dict[str, Any]) -> str:
    """Return the name of a probe's column: the probe's, unless a column has it already."""
    return f"probe {probe}" if probe in taken else probe


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0)
