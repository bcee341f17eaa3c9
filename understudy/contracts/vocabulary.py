"""Distinct rows of an array, numbered in order of first appearance and found again by hashing."""

import numpy as np

from understudy.contracts.compiling import allocating
from understudy.contracts.streams import GAMMA, mix
from understudy.logs.blocks import slices, width_of

EMPTY = -1
TOGETHER = 8  # blocks of a log that are entered together: with each, members may have to be entered anew


class Vocabulary:
    """The distinct rows of some arrays of one dtype and row shape, each with a number.

    Rows are equal where all bits are, except that -0.0 equals 0.0. A row with NaN is never a member.

    >>> vocabulary = Vocabulary(np.array([[0.5, 1.0], [0.0, 2.0], [0.5, 1.0]]))
    >>> vocabulary.codes(np.array([[-0.0, 2.0], [0.5, 1.0], [7.0, 7.0]])).tolist()
    [1, 0, -1]
    """

    def __init__(self, *arrays: np.ndarray) -> None:
        self.rows = arrays[0][:0]
        self._words, self._slots, self._n_members = words(self.rows), slots_for(0), 0
        fresh: list[np.ndarray] = []  # members that are not in `rows` yet, while it is being made
        for array in arrays:
            for part in slices(len(array), width_of(array), TOGETHER):
                fresh += self._new_members(array[part])
        self.rows = np.concatenate([self.rows, *fresh]) if fresh else self.rows

    def _new_members(self, array: np.ndarray) -> list[np.ndarray]:
        """Enter the rows that are not members yet, and return them, in a list."""
        fresh = array[(self.codes(array) == EMPTY) & ~_has_nan(array)].astype(self.rows.dtype, copy=False)
        if not len(fresh):
            return []
        fresh = fresh[enter_all(words(fresh), slots_for(len(fresh)))]
        begin = n_before = self._n_members
        n = self._n_members = n_before + len(fresh)
        if n > len(self._words):  # room for twice as many, so that members are moved a few times only
            n_room = 2 * n if n_before else n
            room = np.empty((n_room, *self._words.shape[1:]), np.uint64)
            room[:n_before] = self._words[:n_before]
            self._words, self._slots, begin = room, slots_for(n_room), 0
        self._words[n_before:n] = words(fresh)
        enter_rest(self._words, self._slots, begin, n)
        return [fresh]

    def __len__(self) -> int:
        return len(self.rows)

    def codes(self, array: np.ndarray) -> np.ndarray:
        """Return the number of each row, -1 where it is not a member. Rows of another dtype are compared by value."""
        if array.dtype == self.rows.dtype:
            found = np.empty(len(array), np.int64)
            for part in slices(len(array), width_of(array), TOGETHER):
                found[part] = find_all(words(array[part]), self._words, self._slots)
            return found
        with np.errstate(over="ignore"):
            cast = array.astype(self.rows.dtype)
        exact = (cast == array).all(axis=tuple(range(1, array.ndim)))
        return np.where(exact, self.codes(cast), EMPTY)


def words(array: np.ndarray) -> np.ndarray:
    """Return the bits of each row as 64-bit words, padded with zeros, (rows, words)."""
    flat = array.reshape(len(array), int(np.prod(array.shape[1:])))
    if flat.dtype.kind == "f":
        flat = flat + flat.dtype.type(0)  # -0.0 becomes 0.0
    content = np.ascontiguousarray(flat).view(np.uint8)
    missing = -content.shape[1] % 8
    return (np.pad(content, ((0, 0), (0, missing))) if missing else content).view(np.uint64)


def slots_for(n: int) -> np.ndarray:
    """Return an empty hash table for n rows, which fill at most half of it; its length is a power of two."""
    return np.full(max(8, 1 << (2 * n).bit_length()), EMPTY, dtype=np.int64)


@allocating
def enter_all(rows, slots):
    """Enter each distinct row into the table by the index of its first appearance, and return these indices."""
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
def enter_rest(rows, slots, begin, end):
    """Enter rows that are distinct, and not in the table yet."""
    for row in range(begin, end):
        slots[slot_of(rows, row, rows, slots)] = row


@allocating
def find_all(rows, members, slots):
    """Return the index among the members of each row; EMPTY where it is not a member."""
    found = np.empty(len(rows), dtype=np.int64)
    for row in range(len(rows)):
        found[row] = slots[slot_of(rows, row, members, slots)]
    return found


@allocating
def slot_of(rows, row, members, slots):
    """Return the slot that holds a row, or the empty one where it would be entered."""
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
    """True if two rows are equal in every word."""
    position = 0
    while position < len(one) and one[position] == other[position]:
        position += 1
    return position == len(one)


def _has_nan(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind != "f":
        return np.zeros(len(array), dtype=bool)
    return np.isnan(array).any(axis=tuple(range(1, array.ndim)))
