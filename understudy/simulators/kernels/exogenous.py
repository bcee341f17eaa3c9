"""Endogenous and exogenous parts replayed from queues of their own (the paper's algorithm for Exo-MDPs)."""

from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel
from understudy.simulators.kernels import cells, draws
from understudy.simulators.kernels.cells import EMPTY, Outcome
from understudy.simulators.kernels.tape import Tape, ready, take


class Pair(NamedTuple):
    """Two tapes of one log in the same order: one queued by endogenous, the other by exogenous part."""

    endogenous: Tape
    exogenous: Tape
    state: np.ndarray  # (n_endogenous, n_exogenous) int32: the queue for the observation they merge to
    code: np.ndarray  # (n_endogenous, n_exogenous) int32: that observation, as the learner indexes it
    reward: np.ndarray  # (n_endogenous, n_exogenous) float64: what reaching it pays
    rules: np.ndarray  # the endogenous tape's
    mind: np.ndarray  # the endogenous tape's


@kernel
def begin(pair):
    """Begin an episode with a whole logged observation, both parts of it."""
    row = draws.begin(pair.endogenous)
    if row != EMPTY:
        pair.mind[cells.HIDDEN] = pair.exogenous.opening[pair.mind[cells.HIDDEN]]["state"]
    return row


@kernel
def step(pair, policy):
    """Serve an endogenous row by rejection sampling, then, once, the next exogenous part."""
    mind = pair.mind
    part = mind[cells.HIDDEN]
    if part < 0 or not ready(pair.exogenous, part):
        mind[cells.CAUSE] = cells.EXOGENOUS_EMPTY
        mind[cells.WHERE] = part
        return Outcome(EMPTY, EMPTY, EMPTY, 0.0, False, False)
    at = draws.draw(pair.endogenous, mind[cells.STATE], policy)
    if at == EMPTY:
        return Outcome(EMPTY, EMPTY, EMPTY, 0.0, False, False)
    record = pair.endogenous.dealt[at]
    lent = pair.exogenous.dealt[take(pair.exogenous, part)]
    z, c = record["next_state"], lent["next_state"]
    mind[cells.STATE] = pair.state[z, c]
    mind[cells.HIDDEN] = c
    mind[cells.CODE] = pair.code[z, c]
    terminated = record["terminated"] != 0
    truncated = draws.grow_older(pair.rules, mind, terminated)
    return Outcome(
        np.int64(record["row"]),
        np.int64(lent["row"]),
        np.int64(record["action"]),
        pair.reward[z, c],
        terminated,
        truncated,
    )
