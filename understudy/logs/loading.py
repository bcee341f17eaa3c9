"""Tables from files of all formats, and which format a file is."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from understudy.errors import LogError, SettingError
from understudy.logs.arrow_streams import load_object
from understudy.logs.compression import CODECS, pieces_of, without_codec
from understudy.logs.csv_tables import parse_csv
from understudy.logs.formats.dsjson import is_dsjson, load_dsjson
from understudy.logs.formats.hdf5 import MAGIC, load_hdf5
from understudy.logs.formats.loaded import LoadedTable
from understudy.logs.formats.minari_sets import EpisodeSource, load_minari, load_minari_id
from understudy.logs.formats.open_bandit import is_open_bandit, open_bandit
from understudy.logs.formats.vw_text import is_vw_text, load_vw_text
from understudy.logs.parquet_files import PARQUET, parquet_table
from understudy.logs.source_files import (
    SourceFile,
    checked_path,
    files_of,
    refuse_no_file,
    refuse_unreadable,
    shown_path,
)

CSV = (".csv", *(f".csv{ending}" for ending in CODECS))
FORMATS = ("parquet", "csv", "open-bandit", "vw", "dsjson", "hdf5", "minari")
"""The values of `format`."""

ENDINGS = {"parquet": PARQUET, "csv": (".csv",), "vw": (".vw",), "dsjson": (".dsjson",), "hdf5": (".h5", ".hdf5")}
"""The endings of files of each format, before that of their compression. Other files are known by how they begin."""

HEAD = 2**16  # bytes by which a format is known


def load(
    source: Any,
    format: str | None = None,  # noqa: A002 - as everybody calls it
    *,
    names: Sequence[str] = (),
    recognize: bool = True,
    progress: bool | None = None,
    **columns: Iterable[str],
) -> LoadedTable:
    """Return the table in one or more files, an object of another library, or a Minari data set given by its id.

    `names` are the columns that were asked for; for other columns see `parse_csv`. With `recognize`, tables of Open
    Bandit are known by their columns.
    """
    if format is not None and format not in FORMATS:
        raise SettingError(f"format={format!r} is unknown; give one of {', '.join(FORMATS)}")
    path: Path | None = None
    if isinstance(source, str | os.PathLike) and format == "minari":
        return load_minari(load_minari_id(os.fspath(source)), progress)
    files = files_of(source)
    if files is not None and format in (None, "parquet", "open-bandit"):
        path = files[0].path
        loaded = LoadedTable(parquet_table(files, progress))
    elif files is not None:
        raise SettingError(f"format={format!r} is about single files, and only Parquet files are read together")
    elif isinstance(source, str | os.PathLike):
        path = checked_path(source)
        loaded = load_file(path, format, names, progress, **columns)
    elif format in (None, "minari") and isinstance(source, EpisodeSource):
        return load_minari(source, progress)
    elif format in (None, "open-bandit"):
        loaded = LoadedTable(load_object(source, progress))
    else:
        raise SettingError(f"format={format!r} is about files, not a {type(source).__name__}; leave format= out")
    found = loaded.table.column_names
    if format == "open-bandit" or (format is None and recognize and is_open_bandit(found) and "action" not in found):
        return open_bandit(loaded.table, path)
    return loaded


def load_file(
    path: Path,
    format: str | None = None,  # noqa: A002
    names: Sequence[str] = (),
    progress: bool | None = None,
    **columns: Iterable[str],
) -> LoadedTable:
    """Return the table in a file; `format` is found by its name and its content where it is None."""
    loaders: dict[str, Callable[[], LoadedTable]] = {
        "parquet": lambda: LoadedTable(parquet_table([SourceFile(path, {})], progress)),
        "csv": lambda: LoadedTable(_load_csv(path, progress, **columns)),
        "vw": lambda: load_vw_text(path, progress),
        "dsjson": lambda: load_dsjson(path, progress),
        "hdf5": lambda: load_hdf5(path, names, progress),
    }
    with refuse_unreadable(path):
        refuse_no_file(path)
        kind = _format_of(path) if format in (None, "open-bandit") else format
        return loaders[kind or "csv"]()


def _format_of(path: Path) -> str:
    """Return the format of a file, by its name or else by how it begins."""
    name = without_codec(path.name)
    for kind, endings in ENDINGS.items():
        if name.endswith(endings):
            return kind
    head = next(pieces_of(path, progress=False), b"")[:HEAD]
    begins = {
        "parquet": head.startswith(b"PAR1"),
        "hdf5": head.startswith(MAGIC),
        "dsjson": is_dsjson(head),
        "vw": is_vw_text(head),
    }
    if found := [kind for kind, so in begins.items() if so]:
        return found[0]
    raise LogError(
        f"{shown_path(path)} is in no format that is known by its name or content; convert it, rename it (.csv, "
        f".parquet, ...), or say format= one of {', '.join(FORMATS)}",
        "file",
    )


def _load_csv(path: Path, progress: bool | None, **columns: Iterable[str]) -> Any:
    return parse_csv(b"".join(pieces_of(path, progress)), **columns)
