"""Distinct rows of an array, numbered in order of first appearance and found again by hashing."""

import numpy as np

from understudy.contracts.compiling import allocating
from understudy.contracts.streams import GAMMA, mix

EMPTY = -1


class Vocabulary:
    """The distinct rows among some arrays of one form. Equal means bit by bit, but -0.0 is 0.0; NaN is never a member.

    >>> vocabulary = Vocabulary(np.array([[0.5, 1.0], [0.0, 2.0], [0.5, 1.0]]))
    >>> vocabulary.codes(np.array([[-0.0, 2.0], [0.5, 1.0], [7.0, 7.0]])).tolist()
    [1, 0, -1]
    """

    def __init__(self, *arrays: np.ndarray) -> None:
        self.rows = arrays[0][:0]
        self._words, self._slots = words(self.rows), slots_for(0)
        for array in arrays:
            fresh = array[(self.codes(array) == EMPTY) & ~_has_nan(array)].astype(self.rows.dtype, copy=False)
            first = enter_all(words(fresh), slots_for(len(fresh)))
            self.rows = np.concatenate([self.rows, fresh[first]])
            self._words, self._slots = words(self.rows), slots_for(len(self.rows))
            enter_all(self._words, self._slots)

    def __len__(self) -> int:
        return len(self.rows)

    def codes(self, array: np.ndarray) -> np.ndarray:
        """The number of each row, -1 where it is not a member. A narrower or wider dtype is compared by value."""
        if array.dtype == self.rows.dtype:
            return find_all(words(array), self._words, self._slots)
        with np.errstate(over="ignore"):
            cast = array.astype(self.rows.dtype)
        exact = (cast == array).all(axis=tuple(range(1, array.ndim)))
        return np.where(exact, self.codes(cast), EMPTY)


def words(array: np.ndarray) -> np.ndarray:
    """Each row's bits as 64-bit words, padded with zeros, (rows, words)."""
    flat = array.reshape(len(array), int(np.prod(array.shape[1:])))
    if flat.dtype.kind == "f":
        flat = flat + flat.dtype.type(0)  # -0.0 becomes 0.0
    octets = np.ascontiguousarray(flat).view(np.uint8)
    short = -octets.shape[1] % 8
    return (np.pad(octets, ((0, 0), (0, short))) if short else octets).view(np.uint64)


def slots_for(n: int) -> np.ndarray:
    """An empty hash table that n rows fill at most half; its length is a power of two."""
    return np.full(max(8, 1 << (2 * n).bit_length()), EMPTY, dtype=np.int64)


@allocating
def enter_all(rows, slots):
    """Enter each distinct row into the table under the place where it first appears; returns those places."""
    first = np.empty(len(rows), dtype=np.int64)
    n = 0
    for row in range(len(rows)):
        slot = slot_of(rows, row, rows, slots)
        if slots[slot] == EMPTY:
            slots[slot] = row
            first[n] = row
            n += 1
    return first[:n]


@allocating
def find_all(rows, members, slots):
    """The place among the members of each row, EMPTY where it is none."""
    places = np.empty(len(rows), dtype=np.int64)
    for row in range(len(rows)):
        places[row] = slots[slot_of(rows, row, members, slots)]
    return places


@allocating
def slot_of(rows, row, members, slots):
    """The slot that holds a row, or the empty one where it would go."""
    mask = np.uint64(len(slots) - 1)
    key = GAMMA
    for word in rows[row]:
        key = mix(key ^ word) + GAMMA
    slot = mix(key) & mask
    while slots[slot] != EMPTY and not same(rows[row], members[slots[slot]]):
        slot = (slot + np.uint64(1)) & mask
    return slot


@allocating
def same(one, other):
    """Whether two rows are equal in every word."""
    place = 0
    while place < len(one) and one[place] == other[place]:
        place += 1
    return place == len(one)


def _has_nan(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind != "f":
        return np.zeros(len(array), dtype=bool)
    return np.isnan(array).any(axis=tuple(range(1, array.ndim)))
