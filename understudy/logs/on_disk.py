"""Logs on disk: columns mapped from files, so that a log may be larger than memory, and is read once."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import LogError, SettingError
from understudy.logs.columns import COLUMNS, MOST_ROWS
from understudy.logs.log import Log
from understudy.logs.metadata import checked, known_of, with_known
from understudy.logs.source_files import checked_path, files_of, shown_path
from understudy.logs.times import TIMES
from understudy.mapped import ArrayRoom, is_mapped, made_in
from understudy.stored_arrays import (
    DAMAGED,
    Manifest,
    locked,
    opened_arrays,
    read_manifest,
    remove_others,
    store_arrays,
    write_manifest,
)

MANIFEST = "understudy-log.json"
KIND = "log on disk"
DTYPES = {"action": "<i4", "reward": "<f8", "terminated": "|b1", "truncated": "|b1", "episode": "<i8", "step": "<i4",
          "propensity": "<f8", "time": "<f8", "arrival": "<f8"}  # fmt: skip
"""The dtypes that a log has of its columns; observations are numbers of any."""

BESIDE = ("dropped_reward", "source_row")
"""Arrays of a log that are kept with its columns, where it has them."""

OWN = re.compile(
    rf"\..*|columns-[0-9a-f]{{16}}|index-[0-9a-f]{{24}}[-.].*|(fingerprint|content)\.json|{re.escape(MANIFEST)}"
)
"""The names of what is in the folder of a log. It may be removed, so a folder with anything else is not used."""


@dataclass(frozen=True)
class LogPlace:
    """Where a log is on disk: its folder, and the digest of its manifest, which another log there would not have."""

    folder: Path
    digest: str


def place_of(log: Log) -> LogPlace | None:
    """Return where a log is on disk; None for one in memory, or one that was made from another by changing it.

    One that was sent to another machine is in memory there.
    """
    home = log.__dict__.get("_home")
    return LogPlace(*home) if home is not None and is_mapped(log.action) else None


def is_log_folder(path: Any) -> bool:
    """True for the folder of a log on disk."""
    return isinstance(path, str | os.PathLike) and os.path.isfile(os.path.join(os.fspath(path), MANIFEST))


def open_log(folder: str | os.PathLike) -> Log:
    """Return the log in a folder, mapped from its files. Raise `LogError` where they are damaged."""
    path = checked_path(folder)
    try:
        manifest = read_manifest(path / MANIFEST, KIND)
        log = _log_of(path, manifest)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LogError(f"{shown_path(path)} holds {DAMAGED.format('log', error)}", "file") from None
    return log


def kept_on_disk(folder: str | os.PathLike, source: dict[str, Any] | None, make: Callable[[], Log]) -> Log:
    """Return the log that `make` returns, from a folder: made there at the first call, and opened by later ones.

    `source` is what it is made of, in values of JSON: "files", with sizes and times of change, and "options"; None
    where that is not known. Where files have changed, the log is made again. Raise `LogError` where the folder holds a
    log of something else.
    """
    path = checked_path(folder)
    with _clear_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        with locked(path):
            known = _manifest_in(path)
            if known is not None:
                if source is None or not _same_source(known.facts.get("source"), source):
                    raise SettingError(
                        f"{shown_path(path)} holds a log that was made of other files, or with other options; read it "
                        f"by us.read({os.fspath(folder)!r}) alone, or give another folder, or remove this one"
                    )
                if known.facts["source"] == source:
                    return open_log(path)
            elif not all(map(OWN.fullmatch, os.listdir(path))):
                raise SettingError(f"{shown_path(path)} holds other files; give an empty or a new folder for the log")
            _make(path, source, make)
    return open_log(path)


def _manifest_in(path: Path) -> Manifest | None:
    """Return the manifest of the log in a folder; None where there is none that can be read."""
    try:
        return read_manifest(path / MANIFEST, KIND)
    except (OSError, ValueError):
        return None


def _same_source(known: Any, source: dict[str, Any]) -> bool:
    """True if two sources are of the same paths and options, whether or not the files have changed."""
    if not isinstance(known, dict) or known.get("options") != source["options"]:
        return False
    return [file[0] for file in known.get("files", ())] == [file[0] for file in source["files"]]


def _make(path: Path, source: dict[str, Any] | None, make: Callable[[], Log]) -> None:
    """Write the log that `make` returns; the manifest comes last, so that a log is there as a whole or not at all."""
    room = ArrayRoom(path / f".making-{os.urandom(8).hex()}")
    try:
        with made_in(room):
            log = make()
            if len(log) > MOST_ROWS:
                raise LogError(f"the log has {len(log):,} rows, and {MOST_ROWS:,} is the most; split it by episodes")
            columns = {name: _shared(column) for name, column in log.columns.items()} | {"starts": log.starts}
            columns |= {name: kept for name in BESIDE if (kept := getattr(log, name)) is not None}
            facts = {"rows": len(log), "known": known_of(log), "source": source}
            name = f"columns-{os.urandom(8).hex()}"
            arrays = store_arrays(path / name, columns, room)
            del columns, log
        write_manifest(path / MANIFEST, Manifest(KIND, name, arrays, facts))
        remove_others(path, "columns-", name)
        remove_others(path, "index-", "")
    finally:
        room.close()


def _shared(column: np.ndarray) -> np.ndarray:
    """Return truth values that are all False as one value in memory, and other columns as they are."""
    if column.dtype == bool and not column.any():
        return np.broadcast_to(np.False_, column.shape)
    return column


def _log_of(path: Path, manifest: Manifest) -> Log:
    arrays = opened_arrays(path, manifest)
    n_rows, starts = manifest.facts["rows"], arrays.pop("starts")
    dropped, source = (arrays.pop(name, None) for name in BESIDE)
    columns = {name: arrays[name] for name in (*COLUMNS, *TIMES) if name in arrays}
    if any(len(column) != n_rows for column in columns.values()) or not set(columns) >= set(COLUMNS) - {"propensity"}:
        raise ValueError("columns are missing, or differ in length")
    for name, column in columns.items():
        if (column.dtype.str if name in DTYPES else "") != DTYPES.get(name, "") or (
            name not in DTYPES and column.dtype.kind not in "iuf"
        ):
            raise ValueError(f"{name} is of type {column.dtype}")
        if column.ndim != 1 and name not in ("observation", "next_observation", "propensity"):
            raise ValueError(f"{name} has shape {column.shape}")
    observation, following = columns["observation"], columns["next_observation"]
    if observation.shape != following.shape or observation.dtype != following.dtype:
        raise ValueError("observations and next observations differ in shape or type")
    if starts.dtype != np.int64 or starts.ndim != 1 or len(starts) < 2 or starts[0] != 0 or starts[-1] != n_rows:
        raise ValueError("episodes do not end with the log")
    if dropped is not None and (dropped.dtype != np.float64 or dropped.shape != (len(starts) - 1,)):
        raise ValueError("dropped_reward is not of these episodes")
    if source is not None and (source.dtype != np.int32 or source.shape != (n_rows,)):
        raise ValueError("source_row is not of these rows")
    log = replace(with_known(columns, checked(manifest.facts["known"])), dropped_reward=dropped, source_row=source)
    starts.setflags(write=False)
    log.__dict__["starts"] = starts  # a cached property: found once, when the log was made
    log.__dict__["_home"] = path.resolve(), manifest.digest
    return log


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    """Context manager: raise `LogError` where the disk is full, or cannot be written."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise LogError(
            f"{shown_path(path)} cannot be written ({reason}); a log on disk takes some 35 bytes a row, and its "
            "observations: free space, or give a folder on a larger disk",
            "file",
        ) from None


def source_of(source: Any, options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a log is made of, as `kept_on_disk` takes it; None for what is not in files."""
    paths: list[Any]
    files = files_of(source)
    if files is not None:
        paths = [file.path for file in files]
    elif isinstance(source, str | os.PathLike):
        paths = [checked_path(source)]
    else:
        from pyarrow import dataset

        if not isinstance(source, dataset.FileSystemDataset):
            return None
        paths = list(source.files)
    like = options.get("like")
    if isinstance(like, str | os.PathLike):  # what codes are taken from
        several = None if is_log_folder(like) else files_of(like)
        own = os.path.join(like, MANIFEST) if is_log_folder(like) else like
        paths = [*paths, *([own] if several is None else [file.path for file in several])]
    found = []
    for path in paths:
        try:
            stat = os.stat(path)
        except OSError:
            return None  # a format that is not of one file, or no file: reading it tells
        found.append([os.path.abspath(path), stat.st_size, stat.st_mtime_ns])
    return {"files": found, "options": {name: _told(value) for name, value in options.items() if value is not None}}


def _told(value: Any) -> Any:
    """Return an option of `read` as JSON holds it."""
    if isinstance(value, Log):
        return {"log": value.fingerprint}
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        return blake2b(repr(value).encode(), digest_size=16).hexdigest()
