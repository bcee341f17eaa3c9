"""Files that are written whole or not at all, and JSON from files that may be damaged or forged."""

import errno
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

DEEPEST = 64
"""The most levels of lists and tables in a JSON text that is read; files that we write have a dozen at most."""

TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}", re.DOTALL)
"""The names of temporary files."""

LONGEST = 300
"""Characters of a reason in a message."""


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Call `write` with a temporary path in the same folder, then move that file to `path`: nobody sees half of it.

    Raise `OSError` where that is not possible; the temporary file is removed then. A pipe or a device is not replaced.
    """
    if path.exists() and not path.is_file() and not path.is_dir():  # a folder is refused by the system
        raise FileExistsError(errno.EEXIST, "it is there, and is a pipe or a device, not a file")
    with _temporary_path(path) as temporary:
        write(temporary)
        os.replace(temporary, path)


def write_first(path: Path, write: Callable[[Path], Any]) -> bool:
    """Like `write_whole`, but only where there is no such file yet; of several writers the first one succeeds.

    Return True if this was the one. Others see no file, or the whole one.
    """
    with _temporary_path(path) as temporary:
        write(temporary)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            return _copy_first(temporary, path)
    return True


NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK)
"""The errors of file systems that have no hard links, such as FAT."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""The errors of disks that are full, or on which a user may write no more."""


def _copy_first(temporary: Path, path: Path) -> bool:
    """`write_first` without hard links: still only the first one succeeds, but others may see half of the file."""
    try:
        with path.open("xb") as file:
            file.write(temporary.read_bytes())
    except FileExistsError:
        return False
    return True


@contextmanager
def _temporary_path(path: Path) -> Iterator[Path]:
    """A path in the folder of another one; a file there is removed afterwards."""
    # Random, since machines that share a disk may have equal process ids.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        yield temporary
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


ABANDONED = 3600.0
"""Seconds after which a temporary file of `write_whole` belongs to a process that was killed."""


def remove_abandoned(folder: Path) -> None:
    """Remove the temporary files in a folder that processes left which were killed an hour ago or longer."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if TEMPORARY.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > ABANDONED:
                os.unlink(entry.path)


def read_plain(path: Path) -> bytes:
    """Return the content of a file. Raise `OSError` where there is none, or something else: a pipe or a device may
    have no end.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):  # a folder is refused by the system itself
        raise OSError(errno.EINVAL, "it is not a plain file")
    return path.read_bytes()


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raise `ValueError` for whatever is wrong with it, too many levels included.

    >>> parse_json('{"runs": [1, 2]}')
    {'runs': [1, 2]}
    >>> parse_json("[" * 100 + "]" * 100)
    Traceback (most recent call last):
    ...
    ValueError: more than 64 levels of lists and tables
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(f"more than {DEEPEST} levels of lists and tables") from None
    level = [value]
    for _ in range(DEEPEST):
        level = [item for part in level for item in _items(part)]
        if not level:
            return value
    raise ValueError(f"more than {DEEPEST} levels of lists and tables")


def _items(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def error_reason(error: BaseException) -> str:
    """Return the system's text for an error, or else the first line of the error's message, for a message of ours.

    >>> error_reason(FileNotFoundError(2, "No such file or directory", "log.csv"))
    'No such file or directory'
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).strip().split("\n")[0].rstrip(".")[:LONGEST] or type(error).__name__
