"""Logs written to Parquet, CSV and dsjson files, and as Minari data sets."""

import csv
import io
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from understudy.errors import LogError, SettingError
from understudy.logs.arrays import first_true
from understudy.logs.arrow_columns import to_arrow, to_numpy
from understudy.logs.coded_observations import ROLES
from understudy.logs.columns import TRUTH_VALUES, action_codes
from understudy.logs.compression import CODECS, packed_stream
from understudy.logs.csv_tables import parse_csv
from understudy.logs.formats.dsjson_writing import write_dsjson
from understudy.logs.formats.minari_writing import write_minari
from understudy.logs.labels import listing
from understudy.logs.loading import CSV
from understudy.logs.log import Log
from understudy.logs.metadata import to_metadata
from understudy.logs.parquet_files import PARQUET
from understudy.logs.source_files import checked_path, shown_path
from understudy.storage import error_reason, write_whole

ENDINGS = {"parquet": PARQUET, "csv": CSV, "dsjson": (".dsjson", *(f".dsjson{ending}" for ending in CODECS))}
WRITTEN = (*ENDINGS, "minari")
"""The values of `format` of `write`."""

CHUNK = 10_000  # rows of CSV written together


def write(log: Log, path: str | os.PathLike, format: str | None = None) -> None:  # noqa: A002
    """Write a log to a Parquet, CSV or dsjson file, all of it or nothing, or as a Minari data set.

    The format is that of the name's ending, .parquet, .csv or .dsjson, of which the last two may be compressed (.gz,
    .zst, .bz2); with `format="minari"`, `path` is the id of a new data set.

    Parquet keeps everything, except what each dropped last row earned (`log.dropped_reward`), of which the notes tell
    the sum. CSV keeps the values only, of coded observations those that they were coded from. Read again, labels that
    no row took, categories' own order, small dtypes and the log's notes are lost, and so is where propensities came
    from, so that estimates look as if they were logged. What was derived is lost, too: a `next_observation` that was
    taken from the next row counts as recorded then (to `exo_psrs`, for one). Labels that would come back in another
    order than their propensities, or not at all, are refused. Times are written in seconds; from a CSV, read them with
    `time="time"` and `arrival="arrival"`. dsjson is for decisions of one step with propensities, and keeps these, their
    contexts and rewards; Minari keeps numbers only: neither labels, nor how text was coded, nor notes. Neither keeps
    times.
    """
    if format not in (None, *WRITTEN):
        raise SettingError(f"format={format!r} cannot be written; give one of {', '.join(WRITTEN)}")
    if format == "minari":
        write_minari(log, os.fspath(path))
        return
    target = checked_path(path)
    name = target.name.lower()
    kind = next((kind for kind, endings in ENDINGS.items() if name.endswith(endings)), None)
    if kind is None or format not in (None, kind):
        endings = ENDINGS[format] if format is not None else [ending for some in ENDINGS.values() for ending in some]
        raise LogError(f"{shown_path(target)}: a log is written as {', '.join(endings)}; give the file such an ending")
    writers = {"parquet": _write_parquet, "csv": _write_csv, "dsjson": write_dsjson}

    def write_content(temporary: Path) -> None:
        with open(temporary, "xb") as file, packed_stream(file, name) as packed:
            writers[kind](log, packed)

    import pyarrow as pa

    if kind == "csv":
        _refuse_labels_that_csv_loses(log)
    try:
        write_whole(target, write_content)
    except (OSError, pa.ArrowException) as error:
        raise LogError(
            f"{shown_path(target)} cannot be written ({error_reason(error)}); check the folder, its rights and its "
            "space"
        ) from None


def _write_parquet(log: Log, file: BinaryIO) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {name: to_arrow(column) for name, column in _written(log).items()}
    if log.spec.actions is not None:
        columns["action"] = pa.DictionaryArray.from_arrays(_labeled_codes(log), list(log.spec.actions))
    table = pa.table(columns).replace_schema_metadata(to_metadata(log))
    pq.write_table(table, file, write_page_checksum=True)


def _written(log: Log) -> dict[str, np.ndarray]:
    """Return the columns that a file holds: of a logger that was recognized as uniform, it is recognized again."""
    columns = log.columns
    if log.propensity_source is not None and log.propensity_source.kind == "uniform":
        columns["propensity"] = columns["propensity"][:, 0]
    return columns


def _labeled_codes(log: Log) -> np.ndarray:
    """Return the action codes of a log with labels. Raise `LogError` for a code without a label."""
    unlabeled = (log.action < 0) | (log.action >= log.spec.n_actions)
    if unlabeled.any():
        row = first_true(unlabeled)
        raise LogError(f"action {log.action[row]} in row {row} has no label; fix the column before writing")
    return log.action


def _refuse_labels_that_csv_loses(log: Log) -> None:
    """Raise `LogError` for labels that reading a CSV would change, or put in another order than their propensities."""
    if log.spec.actions is None:
        return
    taken = np.unique(_labeled_codes(log))
    text = io.StringIO()
    csv.writer(text).writerows([("action", "code"), *((log.spec.actions[code], code) for code in taken)])
    try:
        values = to_numpy("action", parse_csv(text.getvalue().encode(), ["action"]).column("action"))
        codes, labels = action_codes(values, None)
        problem = None if labels is None or set(labels) <= {*log.spec.actions, *TRUTH_VALUES} else "changed"
    except LogError as error:
        problem = str(error)
    propensity = _written(log).get("propensity")
    has_all = propensity is not None and propensity.ndim == 2
    if problem is None and has_all and codes.tolist() != taken.tolist():
        whole = labels is None or len(labels) == log.spec.n_actions
        problem = "in another order than their propensities" if whole else None
    if problem is not None:
        raise LogError(
            f"labels {listing(log.spec.actions)} would not come back from a CSV ({problem}); write Parquet instead"
        )


def _write_csv(log: Log, file: Any) -> None:
    """Write a CSV in plain Python: `repr` writes floats and integers differently, which Arrow's writer does not."""
    names, columns = _flat_columns(log)
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(names)
    for at in range(0, len(log), CHUNK):
        writer.writerows(zip(*(column[at : at + CHUNK].tolist() for column in columns), strict=True))
        file.write(text.getvalue().encode())
        text.seek(0)
        text.truncate()


def _flat_columns(log: Log) -> tuple[list[str], list[np.ndarray]]:
    """Return names and one-dimensional columns; an array has one for each entry, named `observation_0_3`."""
    names, columns = [], []
    for name, column in _written(log).items():
        if name == "action" and log.spec.actions is not None:
            column = np.array(log.spec.actions, object)[_labeled_codes(log)]
        elif name in ROLES and log.spec.coding is not None:
            values = log.spec.coding.decode(column).columns
            names += [name] if len(values) == 1 else [f"{name}_{entry}" for entry in range(len(values))]
            columns += [_as_written(one) for one in values]
            continue
        for index in np.ndindex(column.shape[1:]):
            names.append("_".join([name, *map(str, index)]))
            columns.append(column[(slice(None), *index)])
    return names, columns


def _as_written(column: Any) -> np.ndarray:
    """Return decoded values as a CSV has them: dates and times as ISO texts, durations in seconds."""
    import pyarrow as pa

    if pa.types.is_duration(column.type):
        return column.cast(pa.int64()).to_numpy() / 1e6
    temporal = pa.types.is_temporal(column.type)
    return np.array((column.cast(pa.string()) if temporal else column).to_pylist(), object)
