"""The log as a tape: episodes in random order, whose rows go into queues and are taken first in, first out.

The tape is read one permuted episode at a time, and only when a queue is empty or an opening is needed, so a run does
no work beyond what it reads. Whole episodes are permuted, not rows, to make the order exact: which row comes next in a
queue then says nothing about the outcomes of the rows before it.
"""

from typing import Any, NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel, routine
from understudy.contracts.streams import OPENINGS, ORDER, below
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.layout import EMPTY
from understudy.simulators.kernels.records import put_record

OPENING = np.dtype([("row", np.int32), ("state", np.int32), ("code", np.int32)])

# The columns of Tape.queues: positions in Tape.queued.
START, END, HEAD, TAIL = range(4)

# The columns of Tape.episodes.
FIRST_ROW, END_ROW, BLOCK_END = range(3)


class Tape(NamedTuple):
    """A log prepared for replay, and the state of one rehearsal.

    The first six arrays belong to the simulator and cannot be written on; the others belong to the rehearsal.
    """

    records: Any  # (N,) RECORD in log order, or RecordColumns
    queue_of: np.ndarray  # (N,) int32: the queue of each row; -1 for none
    episodes: (
        np.ndarray
    )  # (E, 3) int64: first row, last row + 1, and the end of the block of episodes it is shuffled in
    opening: np.ndarray  # (E,) OPENING
    inverse_propensity: np.ndarray  # (V, A) float64: one over each distinct propensity vector, infinite for zero
    rules: np.ndarray  # (N_RULES,) int64
    queues: np.ndarray  # (Q, 4) int32: each queue's START and END in queued, its HEAD and its TAIL
    queued: np.ndarray  # (N,) RECORD: the rows in the queues
    order: np.ndarray  # (episodes or rows,) int32: the order of the tape, drawn as far as it was read; see `entry_at`
    opening_order: np.ndarray  # (E,) int32: the order of openings, where the tape is of single rows; else empty
    filled: np.ndarray  # (Q,) int32: the queues that received rows, in the order in which they first did
    streams: np.ndarray  # (5,) uint64
    cursor: np.ndarray  # (N_CURSOR,) int64


@kernel
def entry_at(order, position):
    """Return the entry at a position of an order.

    An order holds how far each entry is from its own number: an order that was not shuffled is all zeros, which costs
    neither time nor memory however long it is.
    """
    return np.int64(position + order[position])


@kernel
def swap(order, one, other):
    """Exchange the entries at two positions of an order."""
    first, second = entry_at(order, one), entry_at(order, other)
    order[one], order[other] = second - one, first - other


@kernel
def shuffle_step(order, position, end, streams, purpose):
    """Return the entry at a position of an order, drawn by one step of a Fisher-Yates shuffle of those before `end`."""
    if position < end:
        swap(order, position, position + below(streams, purpose, end - position))
    return entry_at(order, position)


@routine
def read_next(tape):
    """Read the next episode (or row) of the tape: append its rows to their queues."""
    rules, cursor = tape.rules, tape.cursor
    position = cursor[layout.TAPE_READ]
    cursor[layout.TAPE_READ] = position + 1
    if rules[layout.READ_ORDER] == layout.BY_ROWS:
        begin = shuffle_step(tape.order, position, len(tape.order), tape.streams, ORDER)
        end = begin + 1
    else:
        episode = entry_at(tape.order, position)
        if rules[layout.READ_ORDER] == layout.BY_EPISODES:
            episode = shuffle_step(tape.order, position, tape.episodes[position, BLOCK_END], tape.streams, ORDER)
        begin, end = np.int64(tape.episodes[episode, FIRST_ROW]), np.int64(tape.episodes[episode, END_ROW])
    for row in range(begin, end):
        queue = tape.queue_of[row]
        if queue >= 0:
            tail = tape.queues[queue, TAIL]
            if tail == tape.queues[queue, START]:
                tape.filled[cursor[layout.QUEUES_FILLED]] = queue
                cursor[layout.QUEUES_FILLED] += 1
            put_record(tape.records, row, tape.queued, tail)
            tape.queues[queue, TAIL] = tail + 1


@kernel
def has_row(tape, queue):
    """True if a queue has a row at its head, once the tape was read as far as needed."""
    while tape.queues[queue, HEAD] == tape.queues[queue, TAIL]:
        if tape.queues[queue, TAIL] == tape.queues[queue, END]:
            return False
        read_next(tape)
    return True


@kernel
def take(tape, queue):
    """Take the row at the head of a queue; return its position in `queued`, or EMPTY."""
    if not has_row(tape, queue):
        return EMPTY
    head = tape.queues[queue, HEAD]
    tape.queues[queue, HEAD] = head + 1
    tape.cursor[layout.ROWS_TAKEN] += 1
    return np.int64(head)


@kernel
def open_episode(tape):
    """Use the next opening; return its episode's number, or EMPTY with the cause in `cursor`."""
    rules, cursor = tape.rules, tape.cursor
    n_openings = len(tape.opening)
    position, replaces = cursor[layout.EPISODES_OPENED], rules[layout.REPLACE_OPENINGS]
    if replaces == layout.WITH_REPLACEMENT or (replaces == layout.QUEUE_THEN_REPLACEMENT and position >= n_openings):
        cursor[layout.OPENED_WITH_REPLACEMENT] += 1
        episode = below(tape.streams, OPENINGS, n_openings)
    else:
        if position == n_openings:
            cursor[layout.CAUSE] = layout.NO_OPENING
            return EMPTY
        if rules[layout.READ_ORDER] == layout.BY_ROWS:
            episode = shuffle_step(tape.opening_order, position, n_openings, tape.streams, OPENINGS)
        else:
            while cursor[layout.TAPE_READ] <= position:
                read_next(tape)
            episode = entry_at(tape.order, position)
    cursor[layout.EPISODES_OPENED] += 1
    return episode


@routine
def read_ahead(tape, n_needed, n_most):
    """Read the tape until each queue holds `n_needed` rows, (Q,), or `n_most` rows were read, or all of the log was.

    The rows that a queue serves do not change: the order of the tape is the same whenever it is read.
    """
    cursor, n_read = tape.cursor, 0
    while n_read < n_most and cursor[layout.TAPE_READ] < len(tape.order):
        short = cursor[layout.QUEUES_FILLED] == 0
        for index in range(cursor[layout.QUEUES_FILLED]):
            queue = tape.filled[index]
            head, tail, end = tape.queues[queue, HEAD], tape.queues[queue, TAIL], tape.queues[queue, END]
            short |= tail < min(end, head + n_needed[queue])
        if not short:
            break
        for _ in range(1 + cursor[layout.QUEUES_FILLED] // 8):  # so that looking takes no longer than reading
            if cursor[layout.TAPE_READ] < len(tape.order):
                read_next(tape)
                episode = entry_at(tape.order, cursor[layout.TAPE_READ] - 1)
                by_rows = tape.rules[layout.READ_ORDER] == layout.BY_ROWS
                n_read += 1 if by_rows else tape.episodes[episode, END_ROW] - tape.episodes[episode, FIRST_ROW]


@routine
def next_rows(tape, n_needed, slot, base, rows):
    """Write the next rows of all queues into `rows`, up to `n_needed` of each queue, (Q,); return their number.

    Left out are terminal rows, and rows whose `slot`, (N,), is at least `base`: their policies are known already.
    """
    n = 0
    for index in range(tape.cursor[layout.QUEUES_FILLED]):
        queue = tape.filled[index]
        head, tail = tape.queues[queue, HEAD], tape.queues[queue, TAIL]
        for position in range(head, min(np.int64(tail), head + n_needed[queue])):
            row = tape.queued[position]["row"]
            if tape.queued[position]["terminated"] == 0 and slot[row] < base and n < len(rows):
                rows[n] = row
                n += 1
    return n


@routine
def next_openings(tape, episodes, swapped):
    """Write the episodes that open next, as far as they are known, into `episodes`; return their number.

    No opening is used, and the tape is left as it was; `swapped` is working memory as long as `episodes`.
    """
    rules, cursor, order = tape.rules, tape.cursor, tape.opening_order
    n_openings, position, cell = len(tape.opening), cursor[layout.EPISODES_OPENED], tape.streams[OPENINGS]
    n = min(len(episodes), max(0, n_openings - position))
    if rules[layout.REPLACE_OPENINGS] == layout.WITH_REPLACEMENT:
        n = len(episodes)
        for index in range(n):
            episodes[index] = below(tape.streams, OPENINGS, n_openings)
    elif rules[layout.READ_ORDER] == layout.BY_ROWS:
        for index in range(n):
            swapped[index] = position + index + below(tape.streams, OPENINGS, n_openings - position - index)
            swap(order, position + index, swapped[index])
            episodes[index] = entry_at(order, position + index)
        for index in range(n - 1, -1, -1):
            swap(order, position + index, swapped[index])
    else:
        n = max(0, min(n, cursor[layout.TAPE_READ] - position))  # openings that come back are not known ahead
        for index in range(n):
            episodes[index] = entry_at(tape.order, position + index)
    tape.streams[OPENINGS] = cell
    return n


@routine
def undo_shuffle(order, n):
    """Undo the first n steps of a Fisher-Yates shuffle.

    A position from n on was written only if the number it held before is now among the first n, so these numbers say
    which positions to restore.
    """
    for position in range(n):
        entry = entry_at(order, position)
        if entry >= n:
            order[entry] = 0
    for position in range(n):
        order[position] = 0


@routine
def rewind(tape):
    """Make a used tape as new, in time proportional to the part that was read."""
    cursor = tape.cursor
    undo_shuffle(tape.order, cursor[layout.TAPE_READ])
    undo_shuffle(tape.opening_order, min(cursor[layout.EPISODES_OPENED], len(tape.opening_order)))
    for index in range(cursor[layout.QUEUES_FILLED]):
        queue = tape.filled[index]
        tape.queues[queue, HEAD] = tape.queues[queue, START]
        tape.queues[queue, TAIL] = tape.queues[queue, START]
    cursor[:] = 0
    cursor[layout.EPISODE_OVER] = 1
