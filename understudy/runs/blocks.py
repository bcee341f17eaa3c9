"""Which runs are made together, in one block."""

from collections.abc import Sequence
from itertools import groupby

from understudy.contracts.backing import Block


def whole_blocks(numbers: Sequence[int], size: int) -> list[Block]:
    """Return blocks of the same runs, whatever runs are missing: 0 to size - 1, size to 2 * size - 1, ...

    >>> whole_blocks([0, 1, 3, 4, 7], 3)
    [(0, 1), (3, 4), (7,)]
    """
    return [tuple(block) for _, block in groupby(numbers, lambda number: number // size)]


def even_blocks(numbers: Sequence[int], most: int, workers: int) -> list[Block]:
    """Return blocks of at most so many runs that keep all workers busy to the end, as few as can be.

    Each worker has the same number of blocks, and all but the last block the same number of runs.

    >>> [len(block) for block in even_blocks(range(20), 10, 8)]
    [3, 3, 3, 3, 3, 3, 2]
    >>> [len(block) for block in even_blocks(range(100), 10, 8)]
    [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 2]
    """
    if not numbers:
        return []
    rounds = -(-len(numbers) // (workers * most))
    size = -(-len(numbers) // (workers * rounds))
    return [tuple(numbers[begin : begin + size]) for begin in range(0, len(numbers), size)]
