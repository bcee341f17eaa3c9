"""Which row comes next: the paper's QBE and PSRS, and its baselines, over the queues of a tape."""

import numpy as np

from understudy.contracts.compiling import kernel, routine
from understudy.contracts.streams import ACCEPTANCE, uniform
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.layout import EMPTY, Outcome
from understudy.simulators.kernels.tape import has_row, open_episode, take


@kernel
def draw_action(policy, u):
    """Return the action that a uniform number u in [0, 1) draws from a policy, which need not be normalized."""
    total = 0.0
    for action in range(len(policy)):
        total += policy[action]
    rest = u * total
    last = 0
    for action in range(len(policy)):
        if policy[action] > 0.0:
            if rest < policy[action]:
                return action
            rest -= policy[action]
            last = action
    return last  # rounding took u past the end


@kernel
def largest_ratio(policy, inverse):
    """Return the bound, M in the paper; infinite where the learner may take an action that the logger could not."""
    bound = 0.0
    for a in range(len(policy)):
        ratio = policy[a] * inverse[a]
        if ratio > bound:  # false for 0 * infinity: an action that neither takes does not count
            bound = ratio
    return bound


@kernel
def draw_by_rejection(tape, queue, policy):
    """Take rows until rejection sampling accepts one (PSRS, the inner while); return its position, or EMPTY.

    The bound, M in the paper, is that of the candidate's own propensities. It is infinite where the learner may take an
    action that the candidate's logger could not: the candidate is passed over, which is exact, and counted.
    """
    passed, known, bound = EMPTY, EMPTY, 0.0
    while True:
        position = take(tape, queue)
        if position == EMPTY:
            if passed != EMPTY:
                record_unsupported(tape, policy, tape.inverse_propensity[tape.queued[passed]["vector"]])
            return EMPTY
        action = tape.queued[position]["action"]
        vector = np.int64(tape.queued[position]["vector"])
        inverse = tape.inverse_propensity[vector]
        if vector != known:  # most rows of a log share their propensities, and so the bound
            known, bound = vector, largest_ratio(policy, inverse)
        if uniform(tape.streams, ACCEPTANCE) * bound < policy[action] * inverse[action]:
            return position
        if bound == np.inf:
            tape.cursor[layout.ROWS_PASSED_OVER] += 1
            passed = position


@routine
def record_unsupported(tape, policy, inverse):
    """Write to `cursor` which action, and what share of the policy, the logger of a passed-over row could not take."""
    total, mass, worst = 0.0, 0.0, 0
    for a in range(len(policy)):
        total += policy[a]
        if policy[a] > 0.0 and inverse[a] == np.inf:
            mass += policy[a]
            if policy[a] > policy[worst] or inverse[worst] != np.inf:
                worst = a
    tape.cursor[layout.CAUSE] = layout.UNSUPPORTED
    tape.cursor[layout.STOP_ACTION] = worst
    tape.cursor[layout.STOP_NANOMASS] = np.int64(1e9 * mass / total)


@kernel
def draw_action_then_row(tape, state, policy):
    """Draw an action, then take the oldest row that has it (QBE); return its position, or EMPTY.

    With the predictable stop, every action the learner may take must have a row before one is drawn: then whether a
    step is served does not depend on the action, and the served action is distributed as the policy says.
    """
    n_actions = len(policy)
    if tape.rules[layout.STOP_RULE] == layout.PREDICTABLE:
        for a in range(n_actions):
            if policy[a] > 0.0 and not has_row(tape, state * n_actions + a):
                tape.cursor[layout.CAUSE] = layout.ACTION_QUEUE_EMPTY
                tape.cursor[layout.STOP_ACTION] = a
                return EMPTY
    action = draw_action(policy, uniform(tape.streams, ACCEPTANCE))
    position = take(tape, state * n_actions + action)
    if position == EMPTY:
        tape.cursor[layout.CAUSE] = layout.ACTION_QUEUE_EMPTY
        tape.cursor[layout.STOP_ACTION] = action
    return position


@kernel
def draw_row(tape, state, policy):
    """Take the next row for a policy in a state; return its position, or EMPTY with the cause in `cursor`."""
    rules, cursor = tape.rules, tape.cursor
    if rules[layout.BY_STATE] and state < 0:
        cursor[layout.CAUSE] = layout.NO_STATE
        return EMPTY
    queue = state * rules[layout.BY_STATE]
    if rules[layout.ACCEPT] == layout.REJECTION:
        position = draw_by_rejection(tape, queue, policy)
    elif rules[layout.ACCEPT] == layout.ALWAYS:
        position = take(tape, queue)
    else:
        position = draw_action_then_row(tape, queue, policy)
    if position == EMPTY:
        cursor[layout.STOP_STATE] = state
        if cursor[layout.CAUSE] == layout.RUNNING:
            cursor[layout.CAUSE] = layout.QUEUE_EMPTY
    return position


@kernel
def move_to_opening(cursor, opening):
    """Move to an opening; return the row whose observation that is."""
    cursor[layout.STATE] = opening["state"]
    cursor[layout.CODE] = opening["code"]
    cursor[layout.EPISODE_STEPS] = 0
    cursor[layout.EPISODE_OVER] = 0
    return np.int64(opening["row"])


@kernel
def begin(tape):
    """Begin an episode; return the row whose observation it opens with, or EMPTY with the cause in `cursor`."""
    episode = open_episode(tape)
    if episode == EMPTY:
        return EMPTY
    return move_to_opening(tape.cursor, tape.opening[episode])


@kernel
def step(tape, policy):
    """Serve one row, and move to its next observation."""
    position = draw_row(tape, tape.cursor[layout.STATE], policy)
    if position == EMPTY:
        return Outcome(EMPTY, EMPTY, EMPTY, 0.0, False, False)
    return move_to_next(tape, position)


@kernel
def move_to_next(tape, position):
    """Move to the next observation of a row, given by its position in `queued`; return the step."""
    cursor = tape.cursor
    record = tape.queued[position]
    cursor[layout.STATE] = record["next_state"]
    cursor[layout.CODE] = record["next_code"]
    terminated = record["terminated"] != 0
    truncated = count_step(tape.rules, cursor, terminated)
    return Outcome(np.int64(record["row"]), EMPTY, np.int64(record["action"]), record["reward"], terminated, truncated)


@kernel
def count_step(rules, cursor, terminated):
    """Count a step of the episode; return True if the simulator's own time limit truncates the episode here."""
    cursor[layout.EPISODE_STEPS] += 1
    cursor[layout.STEPS_SERVED] += 1
    truncated = not terminated and cursor[layout.EPISODE_STEPS] == rules[layout.TIME_LIMIT]
    cursor[layout.EPISODE_OVER] = terminated or truncated
    return truncated
