"""Whole episodes of a log in random order, each accepted or passed over as one: replay of one-step decisions, and PERS.

An episode is accepted if `u * M < w`: u is one uniform number, drawn when the episode is offered; w is the product,
over its rows, of policy / propensity of the logged action; M is the bound, the same for every episode. An episode that
can no longer be accepted, whatever the learner's policies at its other rows, is passed over at once, which changes no
decision: w grows by at most 1 / propensity with each row.
"""

from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel
from understudy.contracts.streams import ACCEPTANCE, ORDER, uniform
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.layout import EMPTY, PASSED_OVER, Outcome
from understudy.simulators.kernels.tape import entry_at, shuffle_step

ROW = np.dtype(
    [
        ("reward", np.float64),
        ("inverse", np.float64),  # one over the propensity of the logged action
        ("ceiling", np.float64),  # the product of `inverse` over the later rows of the episode
        ("next_code", np.int32),  # the next observation, as the learner's tables index it
        ("vector", np.int32),  # which of the distinct propensity vectors
        ("action", np.int32),
        ("end", np.int32),  # NOT_OVER, TERMINATED or TRUNCATED
    ]
)
"""All that a run needs of a row."""

EPISODE = np.dtype(
    [
        ("ceiling", np.float64),  # the product of `inverse` over all rows of the episode
        ("first", np.int32),  # its first row
        ("end", np.int32),  # the row after its last
        ("block_end", np.int32),  # the end of the block of episodes it is shuffled in
        ("code", np.int32),  # the first observation, as the learner's tables index it
    ]
)
"""All that a run needs of an episode before its first row."""

NOT_OVER, TERMINATED, TRUNCATED = range(3)
"""Values of `end` of a row."""

THRESHOLD, WEIGHT, BOUND, NEXT_BOUND, LOST = range(5)
"""Positions in `EpisodeTape.weights`. Of the episode under way: u times the bound; the product of ratios so far; the
bound. Then the bound of the next episode, and the sum, over episodes, of the mass that acceptance lost, divided by
the bound: its mean over accepted episodes estimates the total variation between the law served and the true one."""
N_WEIGHTS = 5

ROUNDING = 1 + 1e-9
"""A ratio that is above the bound by less than this factor does not exceed it."""


class EpisodeTape(NamedTuple):
    """A log prepared to be offered episode by episode, and the state of one rehearsal."""

    rows: np.ndarray  # (N,) ROW, in log order
    episodes: np.ndarray  # (E,) EPISODE, in log order; of several copies of a log, one copy after another
    inverse_propensity: np.ndarray  # (V, A) float64: one over each distinct propensity vector, infinite for zero
    rules: np.ndarray  # (9,) int64
    order: np.ndarray  # (E,) int32: the order of episodes, drawn as far as they were offered
    streams: np.ndarray  # (5,) uint64
    weights: np.ndarray  # (5,) float64
    cursor: np.ndarray  # (20,) int64


@kernel
def begin(source):
    """Offer the next episode that may be accepted; return its first row, or EMPTY with the cause in `cursor`."""
    rules, cursor, weights = source.rules, source.cursor, source.weights
    while True:
        position = cursor[layout.TAPE_READ]
        if position == len(source.order):
            cursor[layout.CAUSE] = layout.USED_UP
            return EMPTY
        number = entry_at(source.order, position)
        if rules[layout.READ_ORDER] == layout.BY_EPISODES:
            end = np.int64(source.episodes[position]["block_end"])
            number = shuffle_step(source.order, position, end, source.streams, ORDER)
        episode = source.episodes[number]
        first, end, ceiling = np.int64(episode["first"]), np.int64(episode["end"]), episode["ceiling"]
        cursor[layout.TAPE_READ] = position + 1
        cursor[layout.ROWS_TAKEN] += end - first
        bound = weights[NEXT_BOUND]
        threshold = uniform(source.streams, ACCEPTANCE) * bound
        if rules[layout.RUNNING_BOUND] and ceiling > bound:  # from the next episode on: this one must not set its own
            weights[NEXT_BOUND] = ceiling
        if threshold < ceiling or rules[layout.LACKS_SUPPORT]:
            break
    weights[THRESHOLD], weights[WEIGHT], weights[BOUND] = threshold, 1.0, bound
    cursor[layout.CODE], cursor[layout.STATE] = episode["code"], EMPTY
    cursor[layout.CANDIDATE_ROW], cursor[layout.CANDIDATE_END] = first, end
    cursor[layout.EPISODE_STEPS] = cursor[layout.EPISODE_OVER] = 0
    return first


@kernel
def step(source, policy):
    """Offer the next row of the episode: serve it, or return row PASSED_OVER where the episode is not accepted."""
    cursor, weights = source.cursor, source.weights
    number, end = cursor[layout.CANDIDATE_ROW], cursor[layout.CANDIDATE_END]
    if number == end:  # it was accepted, and only the recording ended there
        cursor[layout.CAUSE] = layout.CUT_OFF
        return Outcome(EMPTY, EMPTY, EMPTY, 0.0, False, False)
    row, is_last = source.rows[number], number + 1 == end
    action, ceiling, total = np.int64(row["action"]), row["ceiling"], 0.0
    for probability in policy:
        total += probability
    if source.rules[layout.LACKS_SUPPORT]:
        count_unsupported(source, policy, row["vector"], total)
        ceiling = 1.0 if is_last else np.inf  # so that all rows are counted at which the learner may leave the support
    weight = weights[WEIGHT] * (policy[action] * row["inverse"] / total)
    if not weights[THRESHOLD] < weight * ceiling:  # also for 0 * infinity
        cursor[layout.EPISODE_OVER] = 1
        return Outcome(PASSED_OVER, EMPTY, EMPTY, 0.0, False, False)
    weights[WEIGHT] = weight
    cursor[layout.CANDIDATE_ROW] = number + 1
    cursor[layout.CODE] = row["next_code"]
    cursor[layout.EPISODE_STEPS] += 1
    cursor[layout.EPISODE_OVER] = row["end"] != NOT_OVER
    if is_last:
        cursor[layout.EPISODES_ACCEPTED] += 1
        cursor[layout.STEPS_SERVED] += cursor[layout.EPISODE_STEPS]
        if weight > weights[BOUND] * ROUNDING:  # it was accepted for sure, which is less often than it should be
            cursor[layout.BOUNDS_EXCEEDED] += 1
            weights[LOST] += weight / weights[BOUND] - 1.0
    return Outcome(number, EMPTY, action, row["reward"], row["end"] == TERMINATED, row["end"] == TRUNCATED)


@kernel
def count_unsupported(source, policy, vector, total):
    """Count a row at which the learner may take an action that the row's logger could not, and the mass lost there."""
    inverse, mass = source.inverse_propensity[vector], 0.0
    for a in range(len(policy)):
        if inverse[a] == np.inf:
            mass += policy[a]
    if mass > 0.0:
        source.cursor[layout.ROWS_PASSED_OVER] += 1
        source.weights[LOST] += source.weights[WEIGHT] * mass / (total * source.weights[BOUND])
