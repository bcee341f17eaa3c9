"""Where a state has no answer left: rows of states alike, rows served before, or the end of the episode.

A row of the state itself comes first, as in QBE or in PSRS with a reserve, so up to the first step that a lower rung
serves a run is exact. Where the state has no answer, an action is drawn, and a row that has it is looked for, one rung
after another.
"""

from typing import Any, NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel, routine
from understudy.contracts.streams import ACCEPTANCE, below
from understudy.simulators.kernels import draws, layout
from understudy.simulators.kernels.layout import CUT, EMPTY, Outcome
from understudy.simulators.kernels.records import fields_of
from understudy.simulators.kernels.tape import END, START, Tape, entry_at, read_next
from understudy.simulators.kernels.unused_rows import drop_oldest, has_unread, oldest_unused, take_own


class Ladder(NamedTuple):
    """A source of unused rows by state and action, and what lower rungs need. `place` and `cut_at` are written."""

    source: Any  # a Tape with queues by state and action, or a ReserveTape
    tape: Tape  # the source itself, or the one below it
    queues: np.ndarray  # the START and END of each state and action in `grouped_rows`: those of the source
    rules: np.ndarray  # the tape's
    cursor: np.ndarray  # the tape's
    rungs: np.ndarray  # (R,) int64: the lower rungs, in the order in which they are tried
    first_alike: np.ndarray  # (S + 1,) int64: where each state's part of `alike` begins
    alike: np.ndarray  # int32: for each state the others that are alike
    grouped_rows: np.ndarray  # (N,) int32: rows by queue; a queue's are those at its START to END
    tape_entry: np.ndarray  # (N,) int32: the entry of the tape that each row is read with: its episode, or itself
    place: np.ndarray  # int32: where each entry of the tape is in its order, as far as that was noted
    cut_at: np.ndarray  # (K + 1,) int64: when the last episodes were cut, where K of a window may be; a ring


@kernel
def begin(ladder):
    """Begin an episode; return the row whose observation it opens with, or EMPTY with the cause in `cursor`."""
    return draws.begin(ladder.tape)


@kernel
def step(ladder, policy):
    """Serve one row of the first rung that has one, and move to its next observation; CUT where an episode is cut."""
    tape, cursor = ladder.tape, ladder.cursor
    state = cursor[layout.STATE]
    action, row = np.int64(0), EMPTY
    if state >= 0:
        cursor[layout.RUNG] = layout.OWN
        action, position = take_own(ladder.source, state, policy)
        if position != EMPTY:
            row = np.int64(tape.queued[position]["row"])
        else:
            row = row_of_lower_rungs(ladder, state, action, len(policy))
    if row == EMPTY:
        return Outcome(without_answer(ladder, state, action), EMPTY, action, 0.0, False, False)
    served = fields_of(tape.records, row)
    cursor[layout.STATE] = served.next_state
    cursor[layout.CODE] = served.next_code
    truncated = draws.count_step(ladder.rules, cursor, served.terminated)
    return Outcome(row, EMPTY, action, served.reward, served.terminated, truncated)


@routine
def row_of_lower_rungs(ladder, state, action, n_actions):
    """Return a row of the first lower rung that has one, or EMPTY; which it was is in `cursor`."""
    cursor = ladder.cursor
    for rung in ladder.rungs:
        row = EMPTY
        if rung == layout.LIKE:
            row = oldest_alike(ladder, state, action, n_actions)
        elif rung == layout.REUSE:
            row = any_own(ladder, state * n_actions + action)
        elif rung == layout.UNTRIED:
            row = any_alike(ladder, state, action, n_actions)
        if row != EMPTY:
            cursor[layout.RUNG] = rung
            cursor[layout.LIKE_STEPS + rung - layout.LIKE] += 1
            return row
    return EMPTY


@routine
def oldest_alike(ladder, state, action, n_actions):
    """Take the oldest unused row with an action among those of all states alike; return it, or EMPTY.

    The oldest, never the nearest: rows of an episode are a chain, so which of them is near tells of its outcome.
    """
    tape = ladder.tape
    while True:
        note_places(ladder)
        oldest, oldest_place, oldest_row, unread = EMPTY, 0, 0, False
        for index in range(ladder.first_alike[state], ladder.first_alike[state + 1]):
            other = np.int64(ladder.alike[index])
            queue = other * n_actions + action
            position = oldest_unused(ladder.source, queue, other, action)
            if position != EMPTY:
                row = tape.queued[position]["row"]
                place = ladder.place[ladder.tape_entry[row]]
                if oldest == EMPTY or place < oldest_place or (place == oldest_place and row < oldest_row):
                    oldest, oldest_place, oldest_row = queue, place, row
            elif has_unread(ladder.source, queue, other):
                unread = True
        if oldest != EMPTY:
            drop_oldest(ladder.source, oldest)
            return np.int64(oldest_row)
        if not unread:
            return EMPTY
        read_next(tape)


@kernel
def note_places(ladder):
    """Note where the entries of the tape that were read since the last time are in its order."""
    cursor = ladder.cursor
    for position in range(cursor[layout.PLACES_NOTED], cursor[layout.TAPE_READ]):
        ladder.place[entry_at(ladder.tape.order, position)] = position
    cursor[layout.PLACES_NOTED] = cursor[layout.TAPE_READ]


@kernel
def any_own(ladder, queue):
    """Return any row of a state and action, whether it was served or not; EMPTY where none was logged."""
    n_rows = ladder.queues[queue, END] - ladder.queues[queue, START]
    if n_rows == 0:
        return EMPTY
    return np.int64(ladder.grouped_rows[ladder.queues[queue, START] + below(ladder.tape.streams, ACCEPTANCE, n_rows)])


@kernel
def any_alike(ladder, state, action, n_actions):
    """Return any row with an action of all states alike, served or not, if the state itself logged none; else EMPTY."""
    if ladder.queues[state * n_actions + action, START] < ladder.queues[state * n_actions + action, END]:
        return EMPTY
    n_rows = 0
    for index in range(ladder.first_alike[state], ladder.first_alike[state + 1]):
        queue = ladder.alike[index] * n_actions + action
        n_rows += ladder.queues[queue, END] - ladder.queues[queue, START]
    if n_rows == 0:
        return EMPTY
    left = below(ladder.tape.streams, ACCEPTANCE, n_rows)
    for index in range(ladder.first_alike[state], ladder.first_alike[state + 1]):
        queue = ladder.alike[index] * n_actions + action
        n_here = ladder.queues[queue, END] - ladder.queues[queue, START]
        if left < n_here:
            return np.int64(ladder.grouped_rows[ladder.queues[queue, START] + left])
        left -= n_here
    return EMPTY


@routine
def without_answer(ladder, state, action):
    """Cut the episode and return CUT; or, where that is not allowed (any more), end the run and return EMPTY."""
    rules, cursor, cut_at = ladder.rules, ladder.cursor, ladder.cut_at
    cursor[layout.STOP_STATE], cursor[layout.STOP_ACTION] = state, action
    if not rules[layout.CUT_EPISODES]:
        cursor[layout.CAUSE] = layout.ACTION_QUEUE_EMPTY if state >= 0 else layout.NO_STATE
        return EMPTY
    n_cuts, opened, most = cursor[layout.EPISODES_CUT], cursor[layout.EPISODES_OPENED], len(cut_at) - 1
    # The entry after the one that is written next is of `most` cuts before this one.
    if n_cuts >= most and (most == 0 or opened - cut_at[(n_cuts + 1) % len(cut_at)] < rules[layout.CUT_WINDOW]):
        cursor[layout.CAUSE] = layout.TOO_MANY_CUT
        return EMPTY
    again = n_cuts > 0 and cursor[layout.STEPS_AT_CUT] == cursor[layout.STEPS_SERVED]
    cursor[layout.CUTS_IN_A_ROW] = cursor[layout.CUTS_IN_A_ROW] + 1 if again else 1
    cursor[layout.STEPS_AT_CUT] = cursor[layout.STEPS_SERVED]
    if cursor[layout.CUTS_IN_A_ROW] > rules[layout.CUT_WINDOW]:  # whatever max_cut is: the run would never end
        cursor[layout.CAUSE] = layout.TOO_MANY_CUT
        return EMPTY
    cut_at[n_cuts % len(cut_at)] = opened
    cursor[layout.EPISODES_CUT] = n_cuts + 1
    cursor[layout.EPISODE_OVER] = 1
    return CUT
