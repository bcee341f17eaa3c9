"""Files of large arrays, from which worker processes map them into memory: written once for as long as an array lives.

Several experiments on one log, on one half of it or with several learners share them. What is mapped from a file
already is not written at all.
"""

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import RunError
from understudy.storage import error_reason


@contextmanager
def naming_temporary_folder() -> Iterator[None]:
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


@dataclass(frozen=True)
class ArrayPlace:
    """Where an array is in a file: all that another process needs to map it into memory."""

    path: str
    offset: int
    dtype: np.dtype
    shape: tuple[int, ...]
    order: str  # C or F

    def mapped(self, writeable: bool) -> np.ndarray:
        """Return the array. It may be written on where asked for: in this process alone, and not in the file."""
        array = np.memmap(self.path, self.dtype, "c", self.offset, self.shape, self.order)  # type: ignore[call-overload]
        array = np.asarray(array)
        array.setflags(write=writeable)
        return array


class ArrayFiles:
    """The files that a process has written of its arrays, in a temporary folder.

    A file is removed when its array is gone, and the folder with the last of them, or when the process ends.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, bytes, ArrayPlace]] = {}
        self._folder: Path | None = None
        self._process = os.getpid()

    @property
    def folder(self) -> str | None:
        """The folder of the files; None where there are none."""
        return None if self._folder is None else str(self._folder)

    def place_of(self, array: np.ndarray) -> ArrayPlace:
        """Return where a contiguous array is: it is written where it is in no file yet, or has changed since."""
        found = place_in_mapped_file(array)
        if found is not None:
            return found
        if self._process != os.getpid():  # the folder is that of the process that this one was forked from
            self.__init__()  # type: ignore[misc]
        order = "C" if array.flags.c_contiguous else "F"
        data = array.reshape(-1, order=order).view(np.uint8)  # type: ignore[call-overload]
        content, known = blake2b(data.data, digest_size=16).digest(), self._known.get(id(array))
        if known is not None and known[0]() is array and known[1] == content:
            return known[2]
        with naming_temporary_folder():
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="understudy-arrays-"))
                weakref.finalize(self, _remove, self._folder, self._process)
            handle, path = tempfile.mkstemp(".array", dir=self._folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data.data)
            except OSError:
                os.remove(path)
                raise
        place = ArrayPlace(path, 0, array.dtype, array.shape, order)
        self._known[id(array)] = weakref.ref(array), content, place
        weakref.finalize(array, self._forget, id(array), place).atexit = False
        return place

    def _forget(self, number: int, place: ArrayPlace) -> None:
        if self._process != os.getpid():
            return
        with suppress(OSError):
            os.remove(place.path)
        if number in self._known and self._known[number][2] is place:
            del self._known[number]
        if not self._known and self._folder is not None:
            _remove(self._folder, self._process)
            self._folder = None


FILES = ArrayFiles()
"""The files of this process."""


def _remove(folder: Path, process: int) -> None:
    if process == os.getpid():  # and not in a process that was forked from it
        shutil.rmtree(folder, ignore_errors=True)


def place_in_mapped_file(array: np.ndarray) -> ArrayPlace | None:
    """Return where an array is in a file that it is mapped from; None where it is not, or the file was replaced since.

    Copy-on-write maps may have been written on and are not looked up.
    """
    base: Any = array
    while isinstance(base, np.ndarray) and not (isinstance(base, np.memmap) and base.filename is not None):
        base = base.base
    while isinstance(base, np.memmap) and isinstance(base.base, np.memmap):
        base = base.base
    if not isinstance(base, np.memmap) or base.mode not in ("r", "r+") or not array.flags.forc:
        return None
    begin, first = array.__array_interface__["data"][0], base.__array_interface__["data"][0]
    path, offset = str(base.filename), base.offset + begin - first
    if not _is_mapped_from(path, begin):
        return None
    return ArrayPlace(path, offset, array.dtype, array.shape, "C" if array.flags.c_contiguous else "F")


def _is_mapped_from(path: str, address: int) -> bool:
    """True if the file at a path is the one that is mapped at an address, and not one that replaced it. Linux only."""
    try:
        found = os.stat(path)
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                span, _, _, device, inode, *_ = line.split(maxsplit=5)
                low, high = (int(end, 16) for end in span.split("-"))
                if low <= address < high:
                    major, minor = (int(part, 16) for part in device.split(":"))
                    return (os.makedev(major, minor), int(inode)) == (found.st_dev, found.st_ino)
    except (OSError, ValueError):
        return False
    return False
