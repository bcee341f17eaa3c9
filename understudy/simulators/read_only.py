"""Arrays that belong to a simulator: they cannot be written on, wherever they are kept.

Numba compiles a kernel for each type of its arguments, and whether an array can be written on is a part of its type.
Arrays of a memory map or an object store cannot; with all others made alike, nothing is compiled anew for them.
"""

from typing import Any

import numpy as np


def read_only(array: Any) -> Any:
    """Return an array, or a view of it, that cannot be written on; of a memory map, a plain array; of a tuple, each.

    >>> read_only(np.zeros(3)).flags.writeable
    False
    """
    if isinstance(array, tuple):
        return type(array)(*map(read_only, array))
    if type(array) is np.ndarray and not array.flags.writeable:
        return array
    view = np.asarray(array).view()
    view.setflags(write=False)
    return view
