"""How kernels are compiled."""

from collections.abc import Callable
from typing import Any

from numba import njit, typeof

MERGED = {"_nrt": False, "forceinline": True}


def kernel(function: Callable) -> Any:
    """Compile a small function that becomes part of the loop that calls it.

    Without Numba's runtime (`_nrt`) no references are counted: otherwise each time a kernel reads an array out of a
    tuple, two atomic instructions cost more than a whole step of a run. The price is that kernels allocate nothing,
    and return no array but an argument.
    """
    return njit(cache=True, **MERGED)(function)


def routine(function: Callable) -> Any:
    """Compile a function that is called, not merged: a loop, or what is rarely needed."""
    return njit(cache=True, nogil=True, _nrt=False)(function)


def settled(function: Any, *arguments: Any) -> Callable:
    """The compiled form of a routine for arguments of these types, to be called with such arguments alone.

    A plain call looks at the type of every array it is given, which takes longer than a step.
    """
    if not hasattr(function, "get_overload"):  # compilation is switched off
        return function
    types = tuple(map(typeof, arguments))
    function.compile(types)
    return function.get_overload(types)
