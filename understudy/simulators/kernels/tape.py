"""The log as a tape: episodes in random order, whose rows are dealt to queues and taken first in, first out.

A tape is read one permuted episode at a time, and only when a queue runs dry or an opening is wanted, so a run does no
work beyond what it reads. Permuting whole episodes, not rows, is what makes the order exact: which row comes next in a
queue then tells nothing of how the rows before it turned out.
"""

from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel, routine
from understudy.contracts.streams import OPENINGS, ORDER, below
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.layout import EMPTY

RECORD = np.dtype(
    [
        ("reward", np.float64),
        ("row", np.int32),
        ("next_state", np.int32),
        ("next_code", np.int32),  # the next observation, as the learner's tables index it
        ("vector", np.int32),  # which of the distinct propensity vectors
        ("action", np.int32),
        ("terminated", np.int32),
    ]
)
"""All that a run needs of a row, in half a cache line."""

OPENING = np.dtype([("row", np.int32), ("state", np.int32), ("code", np.int32)])

# The columns of Tape.queue.
START, END, HEAD, TAIL = range(4)


class Tape(NamedTuple):
    """A log prepared for replay, and one rehearsal's place in it.

    The first six arrays belong to the simulator and are never written; the others belong to the rehearsal.
    """

    records: np.ndarray  # (N,) RECORD, in log order
    key: np.ndarray  # (N,) int32: the queue of each row; -1 for none
    span: np.ndarray  # (E, 3) int64: an episode's first row, the one after its last, and the place it stays before
    opening: np.ndarray  # (E,) OPENING
    inverse: np.ndarray  # (V, A) float64: one over each distinct propensity, infinite for zero
    rules: np.ndarray  # (7,) int64
    queue: np.ndarray  # (n_keys, 4) int32: where a queue starts and ends in dealt, its head and its tail
    dealt: np.ndarray  # (N,) RECORD: the queues' contents
    order: np.ndarray  # (episodes or rows,) int32: the order of the tape, settled as far as it was read
    shuffled: np.ndarray  # (E,) int32: the same for openings, where the tape is of single rows; else empty
    touched: np.ndarray  # (n_keys,) int32: queues that were dealt to
    streams: np.ndarray  # (5,) uint64
    cursor: np.ndarray  # (16,) int64


@kernel
def settle(order, place, until, streams, purpose):
    """Decide what comes at a place of an order: one Fisher-Yates step among those before another place."""
    if place < until:
        other = place + below(streams, purpose, until - place)
        order[place], order[other] = order[other], order[place]
    return order[place]


@routine
def deal(tape):
    """Read the next episode (or row) of the tape, and put its rows at the end of their queues."""
    rules, cursor = tape.rules, tape.cursor
    place = cursor[layout.DEALT]
    cursor[layout.DEALT] = place + 1
    if rules[layout.REORDER] == layout.BY_ROWS:
        begin = np.int64(settle(tape.order, place, len(tape.order), tape.streams, ORDER))
        end = begin + 1
    else:
        episode = tape.order[place]
        if rules[layout.REORDER] == layout.BY_EPISODES:
            episode = settle(tape.order, place, tape.span[place, 2], tape.streams, ORDER)
        begin, end = tape.span[episode, 0], tape.span[episode, 1]
    for row in range(begin, end):
        key = tape.key[row]
        if key >= 0:
            tail = tape.queue[key, TAIL]
            if tail == tape.queue[key, START]:
                tape.touched[cursor[layout.TOUCHED]] = key
                cursor[layout.TOUCHED] += 1
            tape.dealt[tail] = tape.records[row]
            tape.queue[key, TAIL] = tail + 1


@kernel
def ready(tape, key):
    """Whether a queue has a row at its head, dealing as needed."""
    while tape.queue[key, HEAD] == tape.queue[key, TAIL]:
        if tape.queue[key, TAIL] == tape.queue[key, END]:
            return False
        deal(tape)
    return True


@kernel
def take(tape, key):
    """Take the row at the head of a queue; where it lies in `dealt`, or EMPTY."""
    if not ready(tape, key):
        return EMPTY
    head = tape.queue[key, HEAD]
    tape.queue[key, HEAD] = head + 1
    tape.cursor[layout.ROWS_TAKEN] += 1
    return np.int64(head)


@kernel
def open_episode(tape):
    """Begin an episode with the next opening: its number, or EMPTY."""
    rules, cursor = tape.rules, tape.cursor
    n_openings = len(tape.opening)
    if rules[layout.REPLACE]:
        cursor[layout.WITH_REPLACEMENT] += 1
        episode = below(tape.streams, OPENINGS, n_openings)
    else:
        place = cursor[layout.OPENED]
        if place == n_openings:
            return EMPTY
        if rules[layout.REORDER] == layout.BY_ROWS:
            episode = np.int64(settle(tape.shuffled, place, n_openings, tape.streams, OPENINGS))
        else:
            while cursor[layout.DEALT] <= place:
                deal(tape)
            episode = np.int64(tape.order[place])
    cursor[layout.OPENED] += 1
    return episode


@routine
def deal_ahead(tape, wanted, n_most):
    """Deal until every queue holds as many rows as are wanted of it, n_most were dealt, or all of the log was.

    What a queue will serve does not change: the order of the tape is the same whenever it is read.
    """
    cursor, n_dealt = tape.cursor, 0
    while n_dealt < n_most and cursor[layout.DEALT] < len(tape.order):
        short = cursor[layout.TOUCHED] == 0
        for index in range(cursor[layout.TOUCHED]):
            key = tape.touched[index]
            head, tail, end = tape.queue[key, HEAD], tape.queue[key, TAIL], tape.queue[key, END]
            short |= tail < min(end, head + wanted[key])
        if not short:
            break
        for _ in range(1 + cursor[layout.TOUCHED] // 8):  # so that looking takes no longer than dealing
            if cursor[layout.DEALT] < len(tape.order):
                deal(tape)
                episode = tape.order[cursor[layout.DEALT] - 1]
                by_rows = tape.rules[layout.REORDER] == layout.BY_ROWS
                n_dealt += 1 if by_rows else tape.span[episode, 1] - tape.span[episode, 0]


@routine
def next_rows(tape, wanted, slot, base, rows):
    """List the next rows of each queue, as many as are wanted of it, but not terminal ones, nor any whose slot has
    reached the base; how many they are."""
    n = 0
    for index in range(tape.cursor[layout.TOUCHED]):
        key = tape.touched[index]
        head, tail = tape.queue[key, HEAD], tape.queue[key, TAIL]
        for at in range(head, min(np.int64(tail), head + wanted[key])):
            row = tape.dealt[at]["row"]
            if tape.dealt[at]["terminated"] == 0 and slot[row] < base and n < len(rows):
                rows[n] = row
                n += 1
    return n


@routine
def next_openings(tape, episodes, swapped):
    """List the episodes that will open next, as far as is known; how many they are. Nothing is used up."""
    rules, cursor, order = tape.rules, tape.cursor, tape.shuffled
    n_openings, place, cell = len(tape.opening), cursor[layout.OPENED], tape.streams[OPENINGS]
    n = min(len(episodes), n_openings - place)
    if rules[layout.REPLACE]:
        n = len(episodes)
        for index in range(n):
            episodes[index] = below(tape.streams, OPENINGS, n_openings)
    elif rules[layout.REORDER] == layout.BY_ROWS:
        for index in range(n):
            swapped[index] = place + index + below(tape.streams, OPENINGS, n_openings - place - index)
            order[place + index], order[swapped[index]] = order[swapped[index]], order[place + index]
            episodes[index] = order[place + index]
        for index in range(n - 1, -1, -1):
            order[place + index], order[swapped[index]] = order[swapped[index]], order[place + index]
    else:
        n = min(n, cursor[layout.DEALT] - place)
        for index in range(n):
            episodes[index] = tape.order[place + index]
    tape.streams[OPENINGS] = cell
    return n


@routine
def restore(order, n):
    """Undo the first n steps of a lazy Fisher-Yates shuffle of 0, 1, 2, ...

    A place beyond n was written only if what it held has been served, so the served numbers say which to mend.
    """
    for place in range(n):
        if order[place] >= n:
            order[order[place]] = order[place]
    for place in range(n):
        order[place] = place


@routine
def rewind(tape):
    """Make a used tape as new, at a cost of what was read of it."""
    cursor = tape.cursor
    restore(tape.order, cursor[layout.DEALT])
    restore(tape.shuffled, min(cursor[layout.OPENED], len(tape.shuffled)))
    for index in range(cursor[layout.TOUCHED]):
        key = tape.touched[index]
        tape.queue[key, HEAD] = tape.queue[key, START]
        tape.queue[key, TAIL] = tape.queue[key, START]
    cursor[:] = 0
    cursor[layout.EPISODE_OVER] = 1
