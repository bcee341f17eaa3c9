"""Temporary folders that go with the process that made them, also where it was killed.

A process holds a lock on each of its folders. The system lets go of it when the process ends, in whatever way, and no
other process that has its number later on can have it. Folders that nobody holds are removed when the next one is
made, and when the next experiment begins.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

from understudy.errors import RunError
from understudy.locks import take_lock
from understudy.storage import error_reason

PREFIX = "understudy-held-"

_held: dict[str, int] = {}
"""The folders of this process, and the open files by which it holds them."""


@contextmanager
def naming_the_folder() -> Iterator[None]:
    """Context manager: raise `RunError`, with the folder and what to do, where a temporary file cannot be written."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"cannot write to {_temporary_folder()}, the folder for temporary files, by which worker processes are "
            f"given the log: {error_reason(error)}; make room there, set TMPDIR to another folder, or use "
            "backend='serial'"
        ) from error


def _temporary_folder() -> str:
    try:
        return tempfile.gettempdir()
    except OSError:  # none of those that Python tries can be written to
        return os.environ.get("TMPDIR", "/tmp")


def new_folder() -> str:
    """Return the path of a new temporary folder; those of processes that were killed are removed."""
    remove_abandoned()
    while True:
        path = tempfile.mkdtemp(prefix=PREFIX)
        if sys.platform == "win32":
            return path
        try:
            file = os.open(path, os.O_RDONLY)
        except FileNotFoundError:  # another process took it for abandoned
            continue
        take_lock(file)  # without locks nobody can take the folder for abandoned either
        if os.path.isdir(path):
            _held[path] = file
            return path
        os.close(file)  # another process removed it before it was held


def remove_folder(path: str) -> None:
    """Remove a folder that `new_folder` returned, with what is in it."""
    shutil.rmtree(path, ignore_errors=True)
    if path in _held:
        os.close(_held.pop(path))


def remove_abandoned() -> None:
    """Remove the folders of this user's processes that were killed."""
    if sys.platform == "win32":
        return
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as found:
        for entry in found:
            if entry.name.startswith(PREFIX):
                with suppress(OSError):  # it is held, another user's, or gone by now
                    _remove_unless_held(entry)


@cache
def remove_abandoned_once() -> None:
    """Do what `remove_abandoned` does, the first time that it is called in a process."""
    remove_abandoned()


def _remove_unless_held(entry: os.DirEntry) -> None:
    """Remove a folder. Raise `OSError` where a process holds it, or where it is not this user's."""
    file = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(file).st_uid == os.getuid() and take_lock(file, wait=False):
            shutil.rmtree(entry.path, ignore_errors=True)
    finally:
        os.close(file)
