"""Unused rows by state and action, of the two kinds of tape that a ladder stands on.

A tape of QBE has a queue for each state and action. One of PSRS with a reserve has a queue for each state and, for each
state and action, a reserve of rows that were taken and not served: rows with other actions are put aside while one with
the action is looked for, which looks at no outcome.
"""

import numpy as np
from numba import types
from numba.extending import overload

from understudy.contracts.compiling import MERGED, kernel
from understudy.contracts.streams import ACCEPTANCE, uniform
from understudy.simulators.kernels import draws, layout
from understudy.simulators.kernels.layout import EMPTY
from understudy.simulators.kernels.reserve import (
    ReserveTape,
    draw_row,
    oldest_reserved,
    put_aside,
    take_reserved,
)
from understudy.simulators.kernels.tape import END, HEAD, TAIL, Tape, take


@kernel
def own_of_queue(tape, state, policy):
    """Draw an action and take the oldest row that has it; return the action, and the row's position or EMPTY."""
    action = np.int64(draws.draw_action(policy, uniform(tape.streams, ACCEPTANCE)))
    return action, take(tape, state * len(policy) + action)


@kernel
def own_of_reserve(source, state, policy):
    """Take a row as PSRS with a reserve does; where it has none, draw an action and take a row that was put aside."""
    position = draw_row(source, state, policy)
    if position != EMPTY:
        return np.int64(source.tape.queued[position]["action"]), position
    source.cursor[layout.CAUSE] = layout.RUNNING
    action = np.int64(draws.draw_action(policy, uniform(source.tape.streams, ACCEPTANCE)))
    return action, take_reserved(source, state, action)


@kernel
def oldest_in_queue(tape, queue, state, action):
    """Return the position of the oldest unused row of a state and action that was read, or EMPTY; it stays there."""
    if tape.queues[queue, HEAD] == tape.queues[queue, TAIL]:
        return EMPTY
    return np.int64(tape.queues[queue, HEAD])


@kernel
def oldest_in_reserve(source, queue, state, action):
    """The same: rows of other actions that are before it are put aside."""
    queues = source.tape.queues
    position = oldest_reserved(source, state, action)
    while position == EMPTY and queues[state, HEAD] < queues[state, TAIL]:
        put_aside(source, state, np.int64(queues[state, HEAD]))
        queues[state, HEAD] += 1
        source.cursor[layout.ROWS_TAKEN] += 1
        position = oldest_reserved(source, state, action)
    return position


@kernel
def unread_in_queue(tape, queue, state):
    """True if the log has rows of a state and action (or, with a reserve, of the state) that were not read yet."""
    return tape.queues[queue, TAIL] < tape.queues[queue, END]


@kernel
def unread_in_reserve(source, queue, state):
    """The same."""
    return source.tape.queues[state, TAIL] < source.tape.queues[state, END]


@kernel
def drop_of_queue(tape, queue):
    """Take the oldest row out."""
    tape.queues[queue, HEAD] += 1
    tape.cursor[layout.ROWS_TAKEN] += 1


@kernel
def drop_of_reserve(source, queue):
    """The same; it was counted as taken when it was put aside."""
    source.reserves[queue, HEAD] += 1


KINDS = {
    Tape: (own_of_queue, oldest_in_queue, unread_in_queue, drop_of_queue),
    ReserveTape: (own_of_reserve, oldest_in_reserve, unread_in_reserve, drop_of_reserve),
}
TAKE_OWN, OLDEST_UNUSED, HAS_UNREAD, DROP_OLDEST = range(4)


def take_own(source, state, policy):
    """Return an action drawn from a policy, and the position of a row of the state that has it, or EMPTY."""
    return KINDS[type(source)][TAKE_OWN](source, state, policy)


def oldest_unused(source, queue, state, action):
    """Return the position of the oldest unused row of a state and action that was read, or EMPTY; it stays there.

    `queue` is the number of the state and action, state * n_actions + action.
    """
    return KINDS[type(source)][OLDEST_UNUSED](source, queue, state, action)


def has_unread(source, queue, state):
    """True if there may be unused rows of a state and action that were not read yet."""
    return KINDS[type(source)][HAS_UNREAD](source, queue, state)


def drop_oldest(source, queue):
    """Take out the row that `oldest_unused` returned."""
    KINDS[type(source)][DROP_OLDEST](source, queue)


@overload(take_own, jit_options=MERGED)
def _take_own(source, state, policy):
    if isinstance(source, types.BaseNamedTuple):
        function = KINDS[source.instance_class][TAKE_OWN]
        return lambda source, state, policy: function(source, state, policy)
    return None


@overload(oldest_unused, jit_options=MERGED)
def _oldest_unused(source, queue, state, action):
    if isinstance(source, types.BaseNamedTuple):
        function = KINDS[source.instance_class][OLDEST_UNUSED]
        return lambda source, queue, state, action: function(source, queue, state, action)
    return None


@overload(has_unread, jit_options=MERGED)
def _has_unread(source, queue, state):
    if isinstance(source, types.BaseNamedTuple):
        function = KINDS[source.instance_class][HAS_UNREAD]
        return lambda source, queue, state: function(source, queue, state)
    return None


@overload(drop_oldest, jit_options=MERGED)
def _drop_oldest(source, queue):
    if isinstance(source, types.BaseNamedTuple):
        function = KINDS[source.instance_class][DROP_OLDEST]
        return lambda source, queue: function(source, queue)
    return None
