"""How kernels are compiled."""

from functools import partial

from numba import njit

MERGED = {"_nrt": False, "forceinline": True}

kernel = partial(njit, cache=True, **MERGED)
"""Compiles a small function that becomes part of the loop that calls it.

Without Numba's runtime (`_nrt`) no references are counted: otherwise each time a kernel reads an array out of a tuple,
two atomic instructions cost more than a whole step of a run. The price is that kernels allocate nothing, and return
no array but an argument.
"""

routine = partial(njit, cache=True, _nrt=False, nogil=True)
"""Compiles a function that is called, not merged: a loop, or what is rarely needed."""
