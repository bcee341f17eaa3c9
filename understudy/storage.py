"""Files that are written whole or not at all, and JSON from files that may be damaged or forged."""

import errno
import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

DEEPEST = 64
"""Levels of lists and tables in a JSON text that is read; what we write has a dozen at most."""


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` make a file beside `path`, then move it there, so that no half of it is ever seen.

    Raises `OSError` where that is not possible; nothing is left behind then.
    """
    with _beside(path) as beside:
        write(beside)
        os.replace(beside, path)


def write_first(path: Path, write: Callable[[Path], Any]) -> bool:
    """Like `write_whole`, but only where there is no such file yet: of several writers, the first one succeeds.

    Returns whether that was this one. Where the others look, there is no file or the whole one.
    """
    with _beside(path) as beside:
        write(beside)
        try:
            os.link(beside, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            return _copied_first(beside, path)
    return True


NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK)
"""What file systems say that have no links, such as FAT's."""


def _copied_first(beside: Path, path: Path) -> bool:
    """The same where there are no links: still the first one alone, though others may look while it is written."""
    try:
        with path.open("xb") as file:
            file.write(beside.read_bytes())
    except FileExistsError:
        return False
    return True


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A name for a file next to another, which is gone afterwards."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")  # process ids are not apart on shared disks
    try:
        yield beside
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises `ValueError` for whatever is wrong with it, too many levels included.

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
