"""Paths that users give: the files that a folder, a pattern or a list stands for, and how messages show paths."""

import glob
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from understudy.errors import LogError
from understudy.storage import error_reason

LONGEST = 300  # characters of a path in a message
HIDDEN = (".", "_")
"""How names begin that a folder is read without, such as _SUCCESS and .part-0.parquet.crc."""

PARTITION = re.compile(r"([^=]+)=(.*)", re.DOTALL)


class SourceFile(NamedTuple):
    """One of the files of a log, and what its folders say of all of its rows (`day=2024-05-01`), as text."""

    path: Path
    partition: dict[str, str]


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


@contextmanager
def refuse_unreadable(path: Path) -> Iterator[None]:
    """Context manager: raise `LogError`, with the path, for what goes wrong where a file is read."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, MemoryError) as error:
        raise LogError(
            f"{shown_path(path)} cannot be read ({error_reason(error)}); write it again, or check the path", "file"
        ) from None


def refuse_no_file(path: Path) -> None:
    """Raise `LogError` unless there is a file of this path, and something in it."""
    title = shown_path(path)
    if not path.exists():
        raise LogError(f"{title} does not exist; check the path", "file")
    if not path.is_file():  # reading a pipe could wait forever
        raise LogError(f"{title} is not a plain file; save its content as one", "file")
    if path.stat().st_size == 0:
        raise LogError(f"{title} is an empty file; write it again", "file")


def is_pattern(path: str | os.PathLike) -> bool:
    """True for a text with `*`, `?` or `[` that names no file or folder by itself."""
    return glob.has_magic(os.fsdecode(path)) and not os.path.lexists(path)


def files_of(source: Any) -> list[SourceFile] | None:
    """Return the files that a folder, a pattern or a list of paths stands for; None for one path, and other objects.

    Files of folders and patterns are sorted by path, and numbers in it as numbers: part-2 comes before part-10. A
    list keeps its order. Raise `LogError` where there is no file.
    """
    if isinstance(source, list | tuple) and all(isinstance(path, str | os.PathLike) for path in source):
        if not source:
            raise LogError("the list of files is empty; give at least one path", "file")
        found = [file for path in source for file in files_of(path) or [_named(checked_path(path))]]
        _refuse_twice([file.path for file in found])
        return found
    if not isinstance(source, str | os.PathLike):
        return None
    path = checked_path(source)
    with refuse_unreadable(path):
        if is_pattern(path):
            return _matching(os.fsdecode(source))
        return _in_folder(path) if path.is_dir() else None


def _matching(pattern: str) -> list[SourceFile]:
    asked_for = [name for name in Path(pattern).parts if name.startswith(HIDDEN)]
    paths: set[Path] = set()
    for match in _matches(pattern):
        hidden = [name for name in match.parts if name.startswith(HIDDEN)]
        if all(any(fnmatch(name, one) for one in asked_for) for name in hidden):
            paths.update(_walk(match) if match.is_dir() else [match])
    if not paths:
        raise LogError(
            f"no file matches {shown_path(pattern)}; check the pattern (in a shell it is put in quotes)", "file"
        )
    return [_named(path) for path in sorted(paths, key=natural_key)]


def _matches(pattern: str) -> Iterator[Path]:
    """Yield what a pattern matches. `**` is any folder below, as in `_walk`: Python's own goes around in circles of
    links, twice as many ways with each of them.
    """
    parts = pattern.split(os.sep)
    if "**" not in parts:
        yield from map(Path, glob.glob(pattern))
        return
    at = parts.index("**")
    before, after = os.sep.join(parts[:at]) + os.sep, os.sep.join(parts[at + 1 :])
    for base in map(Path, glob.glob(before) if at else ["."]):
        for folder in _folders(base) if after else ():
            yield from _matches(os.path.join(glob.escape(str(folder)), after))
        if not after:  # all that is below it
            yield base


def _folders(folder: Path, above: Sequence[str] = ()) -> Iterator[Path]:
    """Yield a folder and the folders in it; a link to a folder that it lies in is not followed."""
    real = os.path.realpath(folder)
    if real in above or not folder.is_dir():
        return
    yield folder
    with os.scandir(folder) as entries:
        inside = [Path(entry.path) for entry in entries if not entry.name.startswith(".")]
    for path in inside:
        yield from _folders(path, (*above, real))


def _in_folder(folder: Path) -> list[SourceFile]:
    paths = sorted(_walk(folder), key=natural_key)
    if not paths:
        raise LogError(f"{shown_path(folder)} is a folder without files; put Parquet files there, or name one", "file")
    return [SourceFile(path, partition_of(path.relative_to(folder))) for path in paths]


def _walk(folder: Path, above: Sequence[str] = ()) -> Iterator[Path]:
    """Yield the files in a folder and the folders in it; a link to a folder that it lies in is not followed."""
    real = os.path.realpath(folder)
    if real in above:
        return
    with os.scandir(folder) as entries:
        inside = [Path(entry.path) for entry in entries if not entry.name.startswith(HIDDEN)]
    for path in inside:
        if path.is_dir():
            yield from _walk(path, (*above, real))
        else:
            yield path


def _named(path: Path) -> SourceFile:
    return SourceFile(path, partition_of(path))


def partition_of(path: Path) -> dict[str, str]:
    """Return what the folders of a path say, as Hive, Spark and Arrow write it.

    >>> partition_of(Path("day=2024-05-01/country=DE/part-0.parquet"))
    {'day': '2024-05-01', 'country': 'DE'}
    """
    found = (PARTITION.fullmatch(folder) for folder in path.parts[:-1])
    return {unquote(match[1]): unquote(match[2]) for match in found if match is not None}


def natural_key(path: Path) -> list[Any]:
    """Return a key to sort paths by, folder by folder, with numbers in the names as numbers.

    >>> [str(path) for path in sorted(map(Path, ["part-10", "part-9", "part"]), key=natural_key)]
    ['part', 'part-9', 'part-10']
    """
    names = [[int(piece) if at % 2 else piece for at, piece in enumerate(_pieces(name))] for name in path.parts]
    return [names, path.parts]  # part-1 and part-01 are in an order, too


def _pieces(name: str) -> list[str]:
    """Return the pieces of a name: text, digits, text, digits, ..."""
    return re.split(r"([0-9]+)", name)


def _refuse_twice(paths: Sequence[Path]) -> None:
    seen: set[str] = set()
    for path in paths:
        real = os.path.realpath(path)
        if real in seen:
            raise LogError(f"{shown_path(path)} is in the list twice; name each file once", "file")
        seen.add(real)
