"""Observations that recur: a code for each of them, so that rows can be compared within one observation."""

from typing import NamedTuple

import numpy as np

FEWEST_ROWS = 20
"""An observation with fewer rows is left out: nothing can be said of it alone."""

MOST_STATES = 1000
"""The most observations that are compared; those with the most rows are taken."""

BLOCK = 1 << 22  # entries hashed together, so that a log of images needs no second copy


class Recurring(NamedTuple):
    """The observations with the most rows. `code` is `size` in the rows of all others."""

    code: np.ndarray  # (N,) int64
    first_row: np.ndarray  # (size,) a row of each
    rows: np.ndarray  # (size,) how many rows each has

    @property
    def size(self) -> int:
        """The number of observations that recur often enough."""
        return len(self.rows)

    @property
    def share(self) -> float:
        """The share of the rows whose observation is one of these."""
        return float(self.rows.sum() / max(1, len(self.code)))


def recurring(observation: np.ndarray, fewest: int = FEWEST_ROWS, most: int = MOST_STATES) -> Recurring:
    """Return the observations with at least `fewest` rows, the `most` common of them, the commonest first.

    >>> found = recurring(np.array([7, 5, 5, 3, 5, 7]), fewest=2)
    >>> found.code, found.first_row, found.rows
    (array([1, 0, 0, 2, 0, 1]), array([1, 0]), array([3, 2]))
    """
    _, first, code, rows = np.unique(keys_of(observation), return_index=True, return_inverse=True, return_counts=True)
    common = np.flatnonzero(rows >= fewest)
    common = common[np.argsort(-rows[common], kind="stable")[:most]]
    rank = np.full(len(rows), len(common), np.int64)
    rank[common] = np.arange(len(common))
    return Recurring(rank[code], first[common], rows[common])


def keys_of(rows: np.ndarray) -> np.ndarray:
    """Return a number for each row of an array, equal where all entries are equal.

    Rows of several entries are hashed to 64 bits: among ten million distinct ones, two collide with probability 3e-6.

    >>> a, b, c = keys_of(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]]))
    >>> bool(a == b), bool(a == c)
    (True, False)
    """
    if rows.ndim == 1 and rows.dtype.kind in "iub":
        return rows
    flat = rows.reshape(len(rows), -1)
    mixed = np.zeros(len(flat), np.uint64)
    factors = np.random.default_rng(0).integers(1 << 63, size=flat.shape[1], dtype=np.uint64) * 2 + 1
    height = max(1, BLOCK // max(1, flat.shape[1]))
    for at in range(0, len(flat), height):
        block = flat[at : at + height]
        words = (block.astype(np.float64) + 0.0).view(np.uint64) if block.dtype.kind == "f" else block.astype(np.uint64)
        mixed[at : at + height] = (scrambled(words + factors) * factors).sum(axis=1)
    return scrambled(mixed)


def scrambled(words: np.ndarray) -> np.ndarray:
    """Return the words with their bits mixed (SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
