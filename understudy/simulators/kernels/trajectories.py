"""Endogenous rows from queues, and the exogenous part played forward as it was logged, value by value."""

from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel
from understudy.simulators.kernels import draws, layout
from understudy.simulators.kernels.layout import EMPTY, Outcome
from understudy.simulators.kernels.tape import Tape, open_episode

OF_THE_OPENING, IN_TURN, ONWARD, ONWARD_AT_RESETS = range(4)
"""TapeAndPath.opens: an episode has the values of the logged episode that it opens with, or of the next one in
`first`; or it goes on where the last one ended: there, or one value further."""


class TapeAndPath(NamedTuple):
    """A tape queued by endogenous part, and all logged values of the exogenous part at positions in order."""

    endogenous: Tape
    following: np.ndarray  # (positions,) int32: the position after each; -1 for none
    lender: np.ndarray  # (positions,) int64: the row whose next observation has the value; N + a row: whose observation
    first: np.ndarray  # (episodes,) int32: the position where each logged episode begins, in the order they are used
    opens: np.ndarray  # (1,) int64
    code: np.ndarray  # (n_endogenous, positions) int32: the observation they merge to, as the learner's tables index it
    leaving: np.ndarray  # (positions,) float64: what leaving a value adds to the reward
    arriving: np.ndarray  # (positions,) float64: what arriving at it adds
    rules: np.ndarray  # the tape's
    cursor: np.ndarray  # the tape's; LATENT is the position


@kernel
def opening_position(pair, episode):
    """Return the position that an episode opens at, or EMPTY; `episode` is the logged one whose opening is used."""
    begun, opens = pair.cursor[layout.EPISODES_OPENED] - 1, pair.opens[0]
    position = np.int64(pair.cursor[layout.LATENT])
    if opens == OF_THE_OPENING:
        position = np.int64(pair.first[episode])
    elif opens == IN_TURN:
        position = np.int64(pair.first[begun]) if begun < len(pair.first) else np.int64(EMPTY)
    elif begun == 0:
        position = np.int64(pair.first[0])
    elif opens == ONWARD_AT_RESETS:
        position = np.int64(pair.following[position])
    return position


@kernel
def begin(pair):
    """Begin an episode; return the row whose endogenous part it opens with, or EMPTY with the cause."""
    episode = open_episode(pair.endogenous)
    if episode == EMPTY:
        return EMPTY
    position = opening_position(pair, episode)
    if position == EMPTY:
        pair.cursor[layout.CAUSE] = layout.EXOGENOUS_ENDED
        return EMPTY
    opening = pair.endogenous.opening[episode]
    row = draws.move_to_opening(pair.cursor, opening)
    pair.cursor[layout.LATENT] = position
    pair.cursor[layout.CODE] = pair.code[opening["state"], position]
    return row


@kernel
def step(pair, policy):
    """Serve an endogenous row by rejection sampling, and the next value of the exogenous part."""
    cursor = pair.cursor
    position = cursor[layout.LATENT]
    following = pair.following[position]
    if following < 0:
        cursor[layout.CAUSE] = layout.EXOGENOUS_ENDED
        return Outcome(EMPTY, EMPTY, EMPTY, 0.0, False, False)
    taken = draws.draw_row(pair.endogenous, cursor[layout.STATE], policy)
    if taken == EMPTY:
        return Outcome(EMPTY, EMPTY, EMPTY, 0.0, False, False)
    record = pair.endogenous.queued[taken]
    cursor[layout.STATE] = record["next_state"]
    cursor[layout.LATENT] = following
    cursor[layout.CODE] = pair.code[record["next_state"], following]
    terminated = record["terminated"] != 0
    truncated = draws.count_step(pair.rules, cursor, terminated)
    return Outcome(
        np.int64(record["row"]),
        np.int64(pair.lender[following]),
        np.int64(record["action"]),
        record["reward"] + pair.leaving[position] + pair.arriving[following],
        terminated,
        truncated,
    )
