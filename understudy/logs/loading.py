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
from understudy.storage import error_reason

PARQUET, CSV = (".parquet", ".pq"), (".csv", *(f".csv{ending}" for ending in CODECS))
FORMATS = ("parquet", "csv", "open-bandit", "vw", "dsjson", "hdf5", "minari")
"""The values of `format`."""

ENDINGS = {"parquet": PARQUET, "csv": (".csv",), "vw": (".vw",), "dsjson": (".dsjson",), "hdf5": (".h5", ".hdf5")}
"""The endings of files of each format, before that of their compression. Other files are known by how they begin."""

HEAD = 2**16  # bytes by which a format is known
LONGEST = 300  # characters of a path in a message


def checked_path(path: str | os.PathLike) -> Path:
    """Return the path. Raise `LogError` for one that no system can hold."""
    text = os.fsdecode(path)
    try:
        possible = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise LogError(
            f"{shown_path(text)} cannot be a path, since it holds a NUL or half a surrogate pair; rename it", "file"
        )
    return Path(text)


def shown_path(path: str | os.PathLike) -> str:
    """Return a path as a message shows it: its middle left out where it is very long."""
    text = os.fsdecode(path)
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}...{text[-LONGEST // 2 :]}"


def load(
    source: Any,
    format: str | None = None,  # noqa: A002 - as everybody calls it
    *,
    names: Sequence[str] = (),
    recognize: bool = True,
    progress: bool | None = None,
    **columns: Iterable[str],
) -> LoadedTable:
    """Return the table in a file, an object of another library, or a Minari data set that is given by its id.

    `names` are the columns that were asked for; for other columns see `parse_csv`. With `recognize`, tables of Open
    Bandit are known by their columns.
    """
    if format is not None and format not in FORMATS:
        raise SettingError(f"format={format!r} is unknown; give one of {', '.join(FORMATS)}")
    path: Path | None = None
    if isinstance(source, str | os.PathLike) and format == "minari":
        source = load_minari_id(os.fspath(source))
    if isinstance(source, str | os.PathLike):
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
    import pyarrow as pa

    title = shown_path(path)
    loaders: dict[str, Callable[[], LoadedTable]] = {
        "parquet": lambda: LoadedTable(_load_parquet(path)),
        "csv": lambda: LoadedTable(_load_csv(path, progress, **columns)),
        "vw": lambda: load_vw_text(path, progress),
        "dsjson": lambda: load_dsjson(path, progress),
        "hdf5": lambda: load_hdf5(path, names, progress),
    }
    try:
        if path.is_dir():
            raise LogError(f"{title} is a folder; name a file (in Python, read several and concatenate them)", "file")
        if not path.exists():
            raise LogError(f"{title} does not exist; check the path", "file")
        if not path.is_file():  # reading a pipe could wait forever
            raise LogError(f"{title} is not a plain file; save its content as one", "file")
        if path.stat().st_size == 0:
            raise LogError(f"{title} is an empty file; write it again", "file")
        kind = _format_of(path) if format in (None, "open-bandit") else format
        return loaders[kind or "csv"]()
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, MemoryError) as error:
        raise LogError(
            f"{title} cannot be read ({error_reason(error)}); write it again, or check the path", "file"
        ) from None


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


def _load_parquet(path: Path) -> Any:
    import pyarrow.parquet as pq

    with open(path, "rb") as file:  # a file, not a path: from a path Arrow would guess partitions
        table = pq.ParquetFile(file, page_checksum_verification=True).read()
    table.column_names  # noqa: B018 - decodes them, or raises here
    return table


def _load_csv(path: Path, progress: bool | None, **columns: Iterable[str]) -> Any:
    return parse_csv(b"".join(pieces_of(path, progress)), **columns)
