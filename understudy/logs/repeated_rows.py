"""Columns whose rows are all one row in memory, as the propensities of a uniform logger: read without copying them."""

from collections.abc import Iterator

import numpy as np

from understudy.logs.blocks import slices, width_of


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
    """Yield a column in blocks of rows: what is made of a block, a copy in one piece say, takes little memory."""
    for rows in slices(len(column), width_of(column)):
        yield column[rows]
