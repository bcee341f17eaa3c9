"""Rows in blocks, so that passing through a log takes little memory however many rows it has."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from understudy.mapped import blocks as row_blocks

BLOCK = 1 << 19
"""Entries of a column that are read together; a row of an image has many of them, a code is one."""

SHOWN = 5
"""Rows that a finding lists."""


@dataclass(frozen=True)
class FoundRows:
    """Rows in which something was found: the first few of them, and how many there are."""

    first: tuple[int, ...]
    count: int


def slices(n: int, width: int = 1, blocks: int = 1) -> Iterator[slice]:
    """Return n rows in blocks, each a slice; a row has `width` entries. With `blocks`, so many are taken together.

    >>> list(slices(3, BLOCK // 2))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    return row_blocks(n, max(1, blocks * BLOCK // max(1, width)))


def width_of(*columns: np.ndarray) -> int:
    """Return the number of entries in a row of the widest of these columns."""
    return max(int(np.prod(column.shape[1:])) for column in columns)


def one_later(rows: slice) -> slice:
    """Return the rows after these: each one's next."""
    return slice(rows.start + 1, rows.stop + 1)


def found_rows(test: Callable[[slice], np.ndarray], n: int, width: int = 1) -> FoundRows:
    """Return the rows in which a test is True for some entry; it is called with blocks of rows, as slices.

    >>> column = np.array([3, 8, 1, 9])
    >>> found_rows(lambda rows: column[rows] > 5, len(column))
    FoundRows(first=(1, 3), count=2)
    """
    first: list[int] = []
    count = 0
    for rows in slices(n, width):
        mask = test(rows)
        if mask.any():
            places = np.flatnonzero(any_entry(mask))
            first += (rows.start + places[: SHOWN - len(first)]).tolist()
            count += len(places)
    return FoundRows(tuple(first), count)


def any_entry(mask: np.ndarray) -> np.ndarray:
    """Return, (n,), True for each row with an entry that is True.

    >>> any_entry(np.array([[False, True], [False, False]]))
    array([ True, False])
    """
    return np.asarray(mask.any(axis=tuple(range(1, mask.ndim))))


def distinct_values(column: np.ndarray, most: int | None = None) -> np.ndarray:
    """Return the distinct values of a column, sorted; some of them, and more than `most`, where there are more.

    >>> distinct_values(np.array([3, 1, 3]))
    array([1, 3])
    """
    found = column[:0]
    for rows in slices(len(column)):
        found = np.union1d(found, column[rows])
        if most is not None and len(found) > most:
            break
    return found
