"""Columns whose rows are all one row in memory, as the propensities of a uniform logger: read without copying them."""

from collections.abc import Iterator

import numpy as np

BLOCK = 1 << 22  # entries that are read together


def is_repeated(column: np.ndarray) -> bool:
    """True if all rows of a column are the same place in memory.

    >>> is_repeated(np.broadcast_to(0.5, (9, 2))), is_repeated(np.full((9, 2), 0.5))
    (True, False)
    """
    return len(column) > 1 and column.strides[0] == 0


def take_rows(column: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the rows of a column; where they are one in memory, they are in what is returned."""
    return np.broadcast_to(column[0], (len(rows), *column.shape[1:])) if is_repeated(column) else column[rows]


def blocks_of(column: np.ndarray) -> Iterator[np.ndarray]:
    """Yield a column in blocks of rows; in one, where its rows are memory of their own."""
    height = max(1, BLOCK // max(1, column[:1].size)) if is_repeated(column) else len(column)
    for at in range(0, len(column), height):
        yield column[at : at + height]
