"""Endogenous and exogenous parts replayed from queues of their own (the paper's algorithm for Exo-MDPs)."""

from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel
from understudy.simulators.kernels import draws, layout
from understudy.simulators.kernels.layout import EMPTY, Outcome
from understudy.simulators.kernels.tape import Tape, ready, take


class TwoTapes(NamedTuple):
    """Two tapes of one log in the same order: one queued by endogenous, the other by exogenous part."""

    endogenous: Tape
    exogenous: Tape
    state: np.ndarray  # (n_endogenous, n_exogenous) int32: the queue for the observation they merge to
    code: np.ndarray  # (n_endogenous, n_exogenous) int32: that observation, as the learner indexes it
    reward: np.ndarray  # (n_endogenous, n_exogenous) float64: what reaching it pays
    rules: np.ndarray  # the endogenous tape's
    cursor: np.ndarray  # the endogenous tape's


@kernel
def begin(pair):
    """Begin an episode with a whole logged observation, both parts of it."""
    row = draws.begin(pair.endogenous)
    if row != EMPTY:
        pair.cursor[layout.HIDDEN] = pair.exogenous.opening[pair.cursor[layout.HIDDEN]]["state"]
    return row


@kernel
def step(pair, policy):
    """Serve an endogenous row by rejection sampling, then, once, the next exogenous part."""
    cursor = pair.cursor
    part = cursor[layout.HIDDEN]
    if part < 0 or not ready(pair.exogenous, part):
        cursor[layout.CAUSE] = layout.EXOGENOUS_EMPTY
        cursor[layout.STOP_STATE] = part
        return Outcome(EMPTY, EMPTY, EMPTY, 0.0, False, False)
    at = draws.draw(pair.endogenous, cursor[layout.STATE], policy)
    if at == EMPTY:
        return Outcome(EMPTY, EMPTY, EMPTY, 0.0, False, False)
    record = pair.endogenous.dealt[at]
    lent = pair.exogenous.dealt[take(pair.exogenous, part)]
    z, c = record["next_state"], lent["next_state"]
    cursor[layout.STATE] = pair.state[z, c]
    cursor[layout.HIDDEN] = c
    cursor[layout.CODE] = pair.code[z, c]
    terminated = record["terminated"] != 0
    truncated = draws.count_step(pair.rules, cursor, terminated)
    return Outcome(
        np.int64(record["row"]),
        np.int64(lent["row"]),
        np.int64(record["action"]),
        pair.reward[z, c],
        terminated,
        truncated,
    )
