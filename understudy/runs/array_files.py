"""Files of large arrays, from which worker processes map them into memory: written once for as long as an array lives.

Several experiments on one log, on one half of it or with several learners share them, and so do arrays of the same
numbers. What is mapped from a file already is not written at all.
"""

import os
import tempfile
import weakref
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from understudy.runs import scratch


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


ArrayKey = tuple[bytes, str, tuple[int, ...], str]
"""What two arrays have in common that share a file: a digest of their numbers, dtype, shape and order."""


class ArrayFiles:
    """The files that a process has written of its arrays, in a temporary folder.

    A file is removed when its array is gone, and the folder with the last of them, or when the process ends.
    """

    def __init__(self) -> None:
        self._places: dict[ArrayKey, ArrayPlace] = {}
        self._users: dict[ArrayKey, set[int]] = {}  # the arrays that are alive, by their identity
        self._folder: str | None = None
        self._process = os.getpid()

    @property
    def folder(self) -> str | None:
        """The folder of the files; None where there are none."""
        return self._folder

    def place_of(self, array: np.ndarray) -> ArrayPlace:
        """Return where an array is: it is written where it is in no file yet, or has changed since.

        One that is not contiguous is written as one that is.
        """
        found = place_in_mapped_file(array)
        if found is not None:
            return found
        if self._process != os.getpid():  # the folder is that of the process that this one was forked from
            self.__init__()  # type: ignore[misc]
        solid = array if array.flags.forc else np.ascontiguousarray(array)
        order = "C" if solid.flags.c_contiguous else "F"
        data = solid.reshape(-1, order=order).view(np.uint8).data  # type: ignore[call-overload]
        key = blake2b(data, digest_size=16).digest(), repr(array.dtype), array.shape, order
        if key not in self._places:
            self._places[key] = ArrayPlace(self._written(data), 0, array.dtype, array.shape, order)
        if id(array) not in self._users.setdefault(key, set()):
            self._users[key].add(id(array))
            weakref.finalize(array, self._forget, id(array), key).atexit = False
        return self._places[key]

    def _written(self, data: memoryview) -> str:
        """Return the path of a new file with these bytes."""
        with scratch.naming_the_folder():
            if self._folder is None:
                self._folder = scratch.new_folder()
                weakref.finalize(self, _remove, self._folder, self._process)
            handle, path = tempfile.mkstemp(".array", dir=self._folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
            except OSError:
                os.remove(path)
                raise
            return path

    def _forget(self, number: int, key: ArrayKey) -> None:
        if self._process != os.getpid():
            return
        self._users[key].discard(number)
        if not self._users[key]:
            del self._users[key]
            with suppress(OSError):
                os.remove(self._places.pop(key).path)
        if not self._places and self._folder is not None:
            scratch.remove_folder(self._folder)
            self._folder = None


FILES = ArrayFiles()
"""The files of this process."""


def _remove(folder: str, process: int) -> None:
    if process == os.getpid():  # and not in a process that was forked from it
        scratch.remove_folder(folder)


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
