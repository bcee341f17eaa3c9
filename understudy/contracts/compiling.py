"""How kernels are compiled."""

from collections.abc import Callable
from functools import partial
from typing import Any

from numba import njit, typeof

MERGED = {"_nrt": False, "forceinline": True}

kernel = partial(njit, cache=True, **MERGED)
"""Compiles a small function that becomes part of the loop that calls it.

Without Numba's runtime (`_nrt`) no references are counted: otherwise each time a kernel reads an array out of a tuple,
two atomic instructions cost more than a whole step of a run. The price is that kernels allocate nothing, and return
no array but an argument.
"""

routine = partial(njit, cache=True, _nrt=False, nogil=True)
"""Compiles a function that is called, not merged: a loop, or what is rarely needed."""


def settled(function: Callable, *arguments: Any) -> Callable:
    """The compiled form of a routine for arguments of these types, to be called with such arguments alone.

    A plain call looks at the type of every array it is given, which takes longer than a step.
    """
    if not hasattr(function, "get_overload"):  # compilation is switched off
        return function
    types = tuple(map(typeof, arguments))
    function.compile(types)
    return function.get_overload(types)
