"""PSRS with a reserve: rows that were taken and not served are kept, since their outcomes are still unseen.

The reserve lowers the bound of rejection sampling. With a bound below some ratios of policy and propensity, rows of
these actions would be served too rarely; what is missing is served from the reserve, exactly. So the bound need only
cover actions that have no row in reserve, and fewer rows are rejected.
"""

from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel, routine
from understudy.contracts.streams import ACCEPTANCE, uniform
from understudy.simulators.kernels import draws, layout
from understudy.simulators.kernels.layout import EMPTY, Outcome
from understudy.simulators.kernels.tape import HEAD, START, TAIL, Tape, rewind, take


class ReserveTape(NamedTuple):
    """A tape whose queues are those of states, and a reserve for each state and action.

    A reserve is a queue of rows that were taken from their state's queue and not served. Each of them is older than
    every row that is still in the state's queue, so that the rows of a state and action are served in their order.
    """

    tape: Tape
    reserves: np.ndarray  # (n_states * n_actions, 4) int32: START, END, HEAD and TAIL in `reserved`, as in Tape.queues
    reserved: np.ndarray  # (N,) int32: positions in tape.queued
    lacking: np.ndarray  # (n_actions,) float64: of the current step, the policy on actions without a row in reserve
    excess: np.ndarray  # (n_actions,) float64: of the current step, the policy above what an accepted row stands for
    rules: np.ndarray  # the tape's
    cursor: np.ndarray  # the tape's


@kernel
def put_aside(source, state, position):
    """Append a row that was taken from the queue of a state to the reserve of its action."""
    queue = state * len(source.lacking) + source.tape.queued[position]["action"]
    tail = source.reserves[queue, TAIL]
    source.reserved[tail] = position
    source.reserves[queue, TAIL] = tail + 1


@kernel
def oldest_reserved(source, state, action):
    """Return the position of the oldest row in the reserve of a state and action, or EMPTY; the row stays there."""
    queue = state * len(source.lacking) + action
    head = source.reserves[queue, HEAD]
    if head == source.reserves[queue, TAIL]:
        return EMPTY
    return np.int64(source.reserved[head])


@kernel
def take_reserved(source, state, action):
    """Take the oldest row out of the reserve of a state and action; return its position, or EMPTY."""
    position = oldest_reserved(source, state, action)
    if position != EMPTY:
        source.reserves[state * len(source.lacking) + action, HEAD] += 1
    return position


@kernel
def find_lacking(source, state, policy):
    """Write the policy on actions without a row in reserve into `lacking`; return True if there is any."""
    first, mass = state * len(policy), 0.0
    for action in range(len(policy)):
        is_empty = source.reserves[first + action, HEAD] == source.reserves[first + action, TAIL]
        probability = policy[action] if is_empty else 0.0
        source.lacking[action] = probability
        mass += probability
    return mass > 0.0


@kernel
def draw_row(source, state, policy):
    """Take the next row for a policy in a state; return its position, or EMPTY with the cause in `cursor`.

    As long as an action lacks a row in reserve, rows are taken until rejection sampling accepts one, even if a row from
    the reserve is served then: whether a step is served must not depend on the action that is drawn. The bound is the
    largest ratio over actions that lack one. It is infinite where the candidate's logger could not take one of these:
    the candidate is passed over, which is exact, and counted. Candidates that are not accepted join the reserve.
    """
    tape, lacking = source.tape, source.lacking
    if state < 0:
        tape.cursor[layout.CAUSE] = layout.NO_STATE
        return EMPTY
    known, bound = EMPTY, 0.0
    is_lacking = find_lacking(source, state, policy)
    while is_lacking:
        position = take(tape, state)
        if position == EMPTY:
            record_missing(source, state)
            return EMPTY
        action = tape.queued[position]["action"]
        vector = np.int64(tape.queued[position]["vector"])
        inverse = tape.inverse_propensity[vector]
        if vector != known:
            known, bound = vector, draws.largest_ratio(lacking, inverse)
        if uniform(tape.streams, ACCEPTANCE) * bound < policy[action] * inverse[action]:
            drawn = draw_from_excess(source, policy, inverse, bound)
            if drawn == EMPTY and lacking[action] > 0.0:
                return position
            put_aside(source, state, position)  # behind older rows of its action, which are served before it
            return take_reserved(source, state, action if drawn == EMPTY else drawn)
        if bound == np.inf:
            tape.cursor[layout.ROWS_PASSED_OVER] += 1
        put_aside(source, state, position)
        if lacking[action] > 0.0:
            is_lacking, known = find_lacking(source, state, policy), EMPTY
    return take_reserved(source, state, draws.draw_action(policy, uniform(tape.streams, ACCEPTANCE)))


@kernel
def draw_from_excess(source, policy, inverse, bound):
    """Draw whether an accepted row is served, and return EMPTY, or a row from the reserve, and return its action.

    The row was accepted with a bound below some of the ratios. What the policy has above the bound times the
    propensity, its excess, is what such rows serve too rarely: it is drawn from the reserve. An action with an excess
    has a row there: the bound is at least the ratio of each that has none.
    """
    if draws.largest_ratio(policy, inverse) <= bound:
        return EMPTY
    total, excess = 0.0, 0.0
    for action in range(len(policy)):
        above = policy[action] - bound / inverse[action] if policy[action] * inverse[action] > bound else 0.0
        source.excess[action] = above
        total += policy[action]
        excess += above
    rest = uniform(source.tape.streams, ACCEPTANCE) * total
    if rest >= excess:
        return EMPTY
    return draws.draw_action(source.excess, rest / excess)


@routine
def record_missing(source, state):
    """Write to `cursor` that a state has no row left with an action: of those that lack one, the likeliest."""
    source.cursor[layout.CAUSE] = layout.ACTION_QUEUE_EMPTY
    source.cursor[layout.STOP_STATE] = state
    source.cursor[layout.STOP_ACTION] = np.argmax(source.lacking)


@kernel
def begin(source):
    """Begin an episode; return the row whose observation it opens with, or EMPTY with the cause in `cursor`."""
    return draws.begin(source.tape)


@kernel
def step(source, policy):
    """Serve one row, and move to its next observation."""
    position = draw_row(source, source.cursor[layout.STATE], policy)
    if position == EMPTY:
        return Outcome(EMPTY, EMPTY, EMPTY, 0.0, False, False)
    return draws.move_to_next(source.tape, position)


@routine
def next_reserved(source, n_needed, slot, base, rows):
    """Write the oldest rows of all reserves into `rows`, up to `n_needed` of each, (reserves,); return their number.

    Left out are the same rows as in `tape.next_rows`.
    """
    tape, n_actions, n = source.tape, len(source.lacking), 0
    for index in range(source.cursor[layout.QUEUES_FILLED]):
        state = tape.filled[index]
        for queue in range(state * n_actions, (state + 1) * n_actions):
            head, tail = source.reserves[queue, HEAD], source.reserves[queue, TAIL]
            for place in range(head, min(np.int64(tail), head + n_needed[queue])):
                record = tape.queued[source.reserved[place]]
                if record["terminated"] == 0 and slot[record["row"]] < base and n < len(rows):
                    rows[n] = record["row"]
                    n += 1
    return n


@routine
def rewind_reserve(source):
    """Make a used tape and its reserves as new, in time proportional to the part that was read."""
    n_actions = len(source.lacking)
    for index in range(source.cursor[layout.QUEUES_FILLED]):
        state = source.tape.filled[index]
        for queue in range(state * n_actions, (state + 1) * n_actions):
            source.reserves[queue, HEAD] = source.reserves[queue, START]
            source.reserves[queue, TAIL] = source.reserves[queue, START]
    rewind(source.tape)
