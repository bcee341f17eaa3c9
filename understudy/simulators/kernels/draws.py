"""Which row comes next: the paper's QBE and PSRS, and its baselines, over the queues of a tape."""

import numpy as np

from understudy.contracts.compiling import kernel, routine
from understudy.contracts.streams import ACCEPTANCE, uniform
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.layout import EMPTY, Outcome
from understudy.simulators.kernels.tape import open_episode, ready, take


@kernel
def choose(policy, u):
    """The action at u of a policy, which need not be normalized."""
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
    """The bound, M in the paper; infinite where the learner may do what the logger could not."""
    bound = 0.0
    for a in range(len(policy)):
        ratio = policy[a] * inverse[a]
        if ratio > bound:  # false for 0 * infinity: what neither would do does not count
            bound = ratio
    return bound


@kernel
def reject(tape, key, policy):
    """Take rows until rejection sampling accepts one (PSRS, the inner while); where it lies, or EMPTY.

    The bound, M in the paper, is of the candidate's own propensities. An action the learner may take and the
    candidate's logger could not makes the bound infinite: the candidate is passed over, which is exact, and counted.
    """
    passed, known, bound = EMPTY, EMPTY, 0.0
    while True:
        at = take(tape, key)
        if at == EMPTY:
            if passed != EMPTY:
                name_unsupported(tape, policy, tape.inverse[tape.dealt[passed]["vector"]])
            return EMPTY
        action = tape.dealt[at]["action"]
        vector = np.int64(tape.dealt[at]["vector"])
        inverse = tape.inverse[vector]
        if vector != known:  # most rows of a log share their propensities, and so the bound
            known, bound = vector, largest_ratio(policy, inverse)
        if uniform(tape.streams, ACCEPTANCE) * bound < policy[action] * inverse[action]:
            return at
        if bound == np.inf:
            tape.cursor[layout.PASSED_OVER] += 1
            passed = at


@routine
def name_unsupported(tape, policy, inverse):
    """Note which action, and what share of the policy, a passed-over row's logger could not have taken."""
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
def choose_then_take(tape, state, policy):
    """Draw an action, then take the oldest row that has it (QBE); where it lies, or EMPTY.

    With the predictable stop, every action the learner may take must have a row before one is drawn: then whether a
    step is served does not depend on the action, and the served action has the policy's law.
    """
    n_actions = len(policy)
    if tape.rules[layout.STOP] == layout.PREDICTABLE:
        for a in range(n_actions):
            if policy[a] > 0.0 and not ready(tape, state * n_actions + a):
                tape.cursor[layout.CAUSE] = layout.ACTION_QUEUE_EMPTY
                tape.cursor[layout.STOP_ACTION] = a
                return EMPTY
    action = choose(policy, uniform(tape.streams, ACCEPTANCE))
    at = take(tape, state * n_actions + action)
    if at == EMPTY:
        tape.cursor[layout.CAUSE] = layout.ACTION_QUEUE_EMPTY
        tape.cursor[layout.STOP_ACTION] = action
    return at


@kernel
def draw(tape, state, policy):
    """The next row for a policy in a state: where it lies in `dealt`, or EMPTY with the cause in cursor."""
    rules, cursor = tape.rules, tape.cursor
    if rules[layout.KEYED] and state < 0:
        cursor[layout.CAUSE] = layout.NO_STATE
        return EMPTY
    key = state * rules[layout.KEYED]
    if rules[layout.ACCEPT] == layout.REJECTION:
        at = reject(tape, key, policy)
    elif rules[layout.ACCEPT] == layout.ALWAYS:
        at = take(tape, key)
    else:
        at = choose_then_take(tape, key, policy)
    if at == EMPTY:
        cursor[layout.STOP_STATE] = state
        if cursor[layout.CAUSE] == layout.RUNNING:
            cursor[layout.CAUSE] = layout.QUEUE_EMPTY
    return at


@kernel
def move_to_opening(cursor, opening):
    """Be where an episode opens; the row whose observation that is."""
    cursor[layout.STATE] = opening["state"]
    cursor[layout.CODE] = opening["code"]
    cursor[layout.EPISODE_STEPS] = 0
    cursor[layout.EPISODE_OVER] = 0
    return np.int64(opening["row"])


@kernel
def begin(tape):
    """Begin an episode; the row whose observation it opens with, or EMPTY."""
    cursor = tape.cursor
    episode = open_episode(tape)
    if episode == EMPTY:
        cursor[layout.CAUSE] = layout.NO_OPENING
        return EMPTY
    cursor[layout.HIDDEN] = episode
    return move_to_opening(cursor, tape.opening[episode])


@kernel
def step(tape, policy):
    """Serve one row and go where it leads."""
    cursor = tape.cursor
    at = draw(tape, cursor[layout.STATE], policy)
    if at == EMPTY:
        return Outcome(EMPTY, EMPTY, EMPTY, 0.0, False, False)
    record = tape.dealt[at]
    cursor[layout.STATE] = record["next_state"]
    cursor[layout.CODE] = record["next_code"]
    terminated = record["terminated"] != 0
    truncated = count_step(tape.rules, cursor, terminated)
    return Outcome(np.int64(record["row"]), EMPTY, np.int64(record["action"]), record["reward"], terminated, truncated)


@kernel
def count_step(rules, cursor, terminated):
    """Count a step of the episode; whether the simulator's own time limit cuts it off here."""
    cursor[layout.EPISODE_STEPS] += 1
    cursor[layout.STEPS_SERVED] += 1
    truncated = not terminated and cursor[layout.EPISODE_STEPS] == rules[layout.LIMIT]
    cursor[layout.EPISODE_OVER] = terminated or truncated
    return truncated
