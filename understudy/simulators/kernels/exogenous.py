"""Endogenous and exogenous parts, each replayed from its own queues (the paper's algorithm for Exo-MDPs)."""

from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel
from understudy.simulators.kernels import draws, layout
from understudy.simulators.kernels.layout import EMPTY, Outcome
from understudy.simulators.kernels.tape import Tape, has_row, open_episode, take


class TwoTapes(NamedTuple):
    """Two tapes of one log in the same order: one queued by endogenous, the other by exogenous part."""

    endogenous: Tape
    exogenous: Tape
    state: np.ndarray  # (n_endogenous, n_exogenous) int32: the queue for the observation they merge to
    code: np.ndarray  # (n_endogenous, n_exogenous) int32: that observation, as the learner's tables index it
    reward: np.ndarray  # (n_endogenous, n_exogenous) float64: what reaching it adds to the row's reward; NaN: unknown
    leaving: np.ndarray  # (n_exogenous,) float64: what leaving an exogenous part adds
    rules: np.ndarray  # the endogenous tape's
    cursor: np.ndarray  # the endogenous tape's


@kernel
def begin(pair):
    """Begin an episode with a logged observation, both parts of it; return its row, or EMPTY with the cause."""
    episode = open_episode(pair.endogenous)
    if episode == EMPTY:
        return EMPTY
    pair.cursor[layout.LATENT] = pair.exogenous.opening[episode]["state"]
    return draws.move_to_opening(pair.cursor, pair.endogenous.opening[episode])


@kernel
def step(pair, policy):
    """Serve an endogenous row by rejection sampling, then, once, the next exogenous part."""
    cursor = pair.cursor
    part = cursor[layout.LATENT]
    if part < 0 or not has_row(pair.exogenous, part):
        cursor[layout.CAUSE] = layout.EXOGENOUS_EMPTY
        cursor[layout.STOP_STATE] = part
        return Outcome(EMPTY, EMPTY, EMPTY, 0.0, False, False)
    position = draws.draw_row(pair.endogenous, cursor[layout.STATE], policy)
    if position == EMPTY:
        return Outcome(EMPTY, EMPTY, EMPTY, 0.0, False, False)
    endogenous = pair.endogenous.queued[position]
    exogenous = pair.exogenous.queued[take(pair.exogenous, part)]
    z, c = endogenous["next_state"], exogenous["next_state"]
    reward = endogenous["reward"] + pair.leaving[part] + pair.reward[z, c]
    if np.isnan(reward):
        cursor[layout.CAUSE] = layout.REWARD_UNKNOWN
        return Outcome(EMPTY, EMPTY, EMPTY, 0.0, False, False)
    cursor[layout.STATE] = pair.state[z, c]
    cursor[layout.LATENT] = c
    cursor[layout.CODE] = pair.code[z, c]
    terminated = endogenous["terminated"] != 0
    truncated = draws.count_step(pair.rules, cursor, terminated)
    return Outcome(
        np.int64(endogenous["row"]),
        np.int64(exogenous["row"]),
        np.int64(endogenous["action"]),
        reward,
        terminated,
        truncated,
    )
