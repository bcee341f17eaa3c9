"""How kernels are compiled."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit, typeof
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher

MERGED = {"_nrt": False, "forceinline": True}
ROUTINE = {"_nrt": False, "nogil": True}


def kernel(function: Callable, keep: bool = True) -> Any:
    """Compile a small function that becomes part of the loop that calls it; keep it on disk, unless told not to.

    Without Numba's runtime (`_nrt`) no references are counted: otherwise each time a kernel reads an array out of a
    tuple, two atomic instructions cost more than a whole step of a run. The price is that kernels allocate nothing,
    and return no array but an argument.
    """
    return cached(njit(**MERGED)(function)) if keep else njit(**MERGED)(function)


def routine(function: Callable, keep: bool = True) -> Any:
    """Compile a function that is called, not merged: a loop, or what is rarely needed; keep it likewise."""
    return cached(njit(**ROUTINE)(function)) if keep else njit(**ROUTINE)(function)


def allocating(function: Callable, keep: bool = True) -> Any:
    """Compile a function that makes arrays of its own, or is called by one that does: it needs Numba's runtime."""
    return cached(njit(function)) if keep else njit(function)


def compiled(function: Any) -> bool:
    """True if a function is a compiled one; False where compilation is switched off."""
    return isinstance(function, Dispatcher)


def cached(dispatcher: Any) -> Any:
    """Let Numba keep on disk what it compiles, where there is a place for it.

    Where neither the package nor the home folder can be written, functions are compiled again in each process. A
    folder that all users share is not used instead: what is kept is pickled code, and anyone could plant some there.
    """
    if compiled(dispatcher):
        with suppress(RuntimeError):  # "no locator available"
            dispatcher._cache = Cache(dispatcher.py_func)
    return dispatcher


class Cache(FunctionCache):
    """Numba's cache of one function. Where it cannot be read or written any more, the function is compiled again."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was kept for arguments of these types; None where that is nothing, or damaged."""
        with suppress(Exception):  # a damaged pickle can raise anything
            return super().load_overload(sig, target_context)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, unless the disk is full, or the folder lost or closed."""
        with suppress(Exception):
            super().save_overload(sig, data)


def settled(function: Any, *arguments: Any) -> Callable:
    """The compiled form of a routine for arguments of these types, to be called with such arguments alone.

    A plain call looks at the type of every array it is given, which takes longer than a step.
    """
    if not compiled(function):
        return function
    types = tuple(map(typeof, arguments))
    function.compile(types)
    return function.get_overload(types)
