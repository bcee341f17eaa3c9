"""How kernels are compiled."""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from numba import njit, typeof
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher

MERGED = {"_nrt": False, "forceinline": True}
ROUTINE = {"_nrt": False, "nogil": True}


def kernel(function: Callable, keep: bool = True) -> Any:
    """Return a small function compiled, to be merged into the loop that calls it; keep it on disk unless `keep=False`.

    Without Numba's runtime (`_nrt`) no references are counted: otherwise, each time a kernel reads an array out of a
    tuple, two atomic instructions cost more than a whole step of a run. Therefore kernels must not allocate, and the
    only arrays they can return are their arguments.
    """
    return cached(njit(**MERGED)(function)) if keep else njit(**MERGED)(function)


def routine(function: Callable, keep: bool = True) -> Any:
    """Return a function compiled that is called, not merged: a loop, or one that is rarely needed."""
    return cached(njit(**ROUTINE)(function)) if keep else njit(**ROUTINE)(function)


def allocating(function: Callable, keep: bool = True) -> Any:
    """Return a function compiled that makes arrays, or is called by one that does: it needs Numba's runtime."""
    return cached(njit(function)) if keep else njit(function)


def compiled(function: Any) -> bool:
    """True if a function is a compiled one; False where compilation is switched off."""
    return isinstance(function, Dispatcher)


def cached(dispatcher: Any) -> Any:
    """Return a compiled function that Numba keeps on disk, where it finds a folder to write to.

    Where it can write neither to the package nor to the home folder, functions are compiled again in each process. A
    folder that all users share is not used instead: what Numba keeps is pickled code, and others could plant some.
    """
    if compiled(dispatcher):
        with suppress(RuntimeError):  # "no locator available"
            dispatcher._cache = Cache(dispatcher.py_func)
    return dispatcher


@cache
def package_stamp() -> str:
    """Return a hash of which sources the library has: the path, time and size of each of its files."""
    root, digest = Path(__file__).parents[1], blake2b(digest_size=16)
    for path in sorted(root.rglob("*.py")):
        about = path.stat()
        digest.update(f"{path.relative_to(root)} {about.st_mtime_ns} {about.st_size}\n".encode())
    return digest.hexdigest()


class Cache(FunctionCache):
    """Numba's cache of one function. Where it can no longer be read or written, the function is compiled again.

    Numba asks whether the file of the function has changed. A function that others are merged into, from other files,
    would then go on with what these were before, on arrays of another layout, and end in a crash. So any change of the
    library's files counts.
    """

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = self._cache_file._source_stamp, package_stamp()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was kept for arguments of these types; None where nothing was kept, or it is damaged."""
        with suppress(Exception):  # a damaged pickle can raise anything
            return super().load_overload(sig, target_context)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, unless the disk is full, or the folder was removed or cannot be written."""
        with suppress(Exception):
            super().save_overload(sig, data)


def compiled_for(function: Any, *arguments: Any) -> Callable:
    """Return the compiled form of a routine for arguments of these types; it must be called with no others.

    A plain call looks up the type of every array, which takes longer than a step.
    """
    if not compiled(function):
        return function
    types = tuple(map(typeof, arguments))
    function.compile(types)
    return function.get_overload(types)
