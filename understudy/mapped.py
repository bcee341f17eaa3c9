"""Arrays larger than memory: mapped from files, made in files, reserved without being touched, and given back."""

import mmap
import os
import secrets
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

LAZY = 2**28
"""Bytes from which on memory is reserved page by page. NumPy asks for pages of 2 MiB, which queues would half fill."""

MAP_NORESERVE = 0x4000  # of Linux; Python has a name for it from 3.12 on

MOST_RESIDENT = 2**30
"""Bytes of mapped files from which on they are given back while arrays are made."""

PAUSE = 0.1  # seconds between two looks at how much is resident
BLOCK = 2**22  # rows that are worked on together


def reserved(n: int, dtype: Any) -> np.ndarray:
    """Return n zeros, of which memory is taken only where they are touched, whatever their number.

    Systems refuse to promise more memory than there is; here nothing is promised.
    """
    n_bytes = n * np.dtype(dtype).itemsize
    if n_bytes < LAZY or sys.platform != "linux":
        return np.zeros(n, dtype)
    memory = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
    with suppress(OSError):  # of systems without large pages
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype)


def open_array(path: Path, dtype: Any, shape: tuple[int, ...], mode: Any = "r") -> np.ndarray:
    """Return the array in a file. Raise `OSError` or `ValueError` where the file is not of that size."""
    if os.path.getsize(path) != int(np.prod(shape)) * np.dtype(dtype).itemsize:
        raise ValueError(f"{path.name} has not the size of {shape} {np.dtype(dtype)}")
    return np.asarray(np.memmap(path, dtype, mode, shape=shape)) if np.prod(shape) else np.empty(shape, dtype)


def map_below(array: np.ndarray) -> mmap.mmap | None:
    """Return the map of a file that an array is a view of; None for other memory."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap) and base.mode not in ("r", "r+"):
            return None
        base = base.base
    return base if isinstance(base, mmap.mmap) else None


def file_below(array: np.ndarray) -> Path | None:
    """Return the path of the file that an array is a view of; None for other memory."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap) and base.filename is not None:
            return Path(base.filename)
        base = base.base
    return None


def is_mapped(array: np.ndarray) -> bool:
    """True if an array is a view of a file."""
    return file_below(array) is not None


def advise_random(*arrays: np.ndarray) -> None:
    """Tell the system that arrays are read here and there: it reads a page then, and not the megabytes after it."""
    if sys.platform == "linux":
        _advise(map(map_below, arrays), mmap.MADV_RANDOM)


def advise_in_order(*arrays: np.ndarray) -> None:
    """Tell the system that arrays are read from the first to the last row."""
    if sys.platform == "linux":
        _advise(map(map_below, arrays), mmap.MADV_NORMAL)


def give_back(*arrays: np.ndarray) -> None:
    """Give back the memory in which files are mapped; what was read or written stays in the system's cache."""
    if sys.platform == "linux":
        _advise(map(map_below, arrays), mmap.MADV_DONTNEED)


def _advise(maps: Iterable[mmap.mmap | None], advice: int) -> None:
    for found in maps:
        if found is not None:
            with suppress(OSError, ValueError):  # it is advice, and not needed
                found.madvise(advice)


def blocks(n_rows: int, height: int | None = None) -> Iterator[slice]:
    """Yield slices of rows that are worked on together."""
    height = height or BLOCK
    for begin in range(0, n_rows, height):
        yield slice(begin, min(begin + height, n_rows))


class ArrayRoom:
    """A folder in which arrays are made as files.

    A file is removed when the last array on it is gone, unless it was kept under a name; `close` removes the others.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
        self._finalizers: dict[Path, weakref.finalize] = {}
        folder.mkdir(parents=True)

    def empty(self, shape: tuple[int, ...] | int, dtype: Any) -> np.ndarray:
        """Return an array of zeros in a new file. Raise `OSError` where the disk has no room for it."""
        shape = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
        n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if not n_bytes:
            return np.empty(shape, dtype)
        path = self.folder / f"{secrets.token_hex(8)}.array"
        try:
            with open(path, "xb") as file:
                allocate(file.fileno(), n_bytes)  # a full disk is met here: later it would kill the process
            array = np.memmap(path, dtype, "r+", shape=shape)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        owner: Any = array.base
        self._maps.add(owner)
        self._finalizers[path] = weakref.finalize(owner, _remove, path, os.getpid())
        return np.asarray(array)

    def keep(self, array: np.ndarray, path: Path) -> None:
        """Move the file of an array that was made here."""
        found = file_below(array)
        assert found is not None
        os.replace(found, path)
        self._finalizers.pop(found).detach()

    def holds(self, array: np.ndarray) -> bool:
        """True if an array is all of a file of this room."""
        found = file_below(array)
        return found in self._finalizers and array.flags.c_contiguous and array.nbytes == os.path.getsize(found)

    def give_back(self) -> None:
        """Give back the memory of all arrays."""
        if sys.platform == "linux":
            _advise(list(self._maps), mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Remove all files that were not kept, and the folder."""
        for path, finalizer in list(self._finalizers.items()):
            finalizer.detach()
            _remove(path, os.getpid())
        self._finalizers.clear()
        with suppress(OSError):
            self.folder.rmdir()


def _remove(path: Path, process: int) -> None:
    if process == os.getpid():
        with suppress(OSError):
            path.unlink()


def allocate(file: int, n_bytes: int) -> None:
    """Give a file so many bytes of the disk, all zeros. Raise `OSError` where there is no room."""
    if sys.platform == "linux":
        os.posix_fallocate(file, 0, n_bytes)
    else:
        os.truncate(file, n_bytes)


_ROOM: ContextVar[ArrayRoom | None] = ContextVar("room", default=None)


@contextmanager
def made_in(room: ArrayRoom, *read: np.ndarray) -> Iterator[None]:
    """Context manager: what `new_array` makes is in files of this room; little of it, and of arrays that are read
    meanwhile, stays in memory.
    """
    token, over = _ROOM.set(room), threading.Event()
    watch = threading.Thread(target=_keep_small, args=(room, read, over), daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()
        _ROOM.reset(token)


def _keep_small(room: ArrayRoom, read: tuple[np.ndarray, ...], over: threading.Event) -> None:
    while not over.wait(PAUSE):
        if resident_of_files() > MOST_RESIDENT:
            with suppress(RuntimeError):  # an array was made just now: the next look gives it back
                room.give_back()
            give_back(*read)


def resident_of_files() -> int:
    """Return how many bytes of mapped files are in the memory of this process; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[2]) * mmap.PAGESIZE
    except OSError:
        return 0


def room_in_use() -> ArrayRoom | None:
    """Return the room in which arrays are made now; None where they are made in memory."""
    return _ROOM.get()


def new_array(shape: tuple[int, ...] | int, dtype: Any) -> np.ndarray:
    """Return an array to be filled: in memory, or within `made_in` zeros in a file."""
    room = room_in_use()
    return np.empty(shape, dtype) if room is None else room.empty(shape, dtype)


def new_zeros(shape: tuple[int, ...] | int, dtype: Any) -> np.ndarray:
    """Return an array of zeros: in memory, or within `made_in` in a file."""
    room = room_in_use()
    return np.zeros(shape, dtype) if room is None else room.empty(shape, dtype)
