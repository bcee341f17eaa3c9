"""Rows drawn with replacement: the maximum-likelihood model of a log, which uses up no rows."""

from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel
from understudy.contracts.streams import ACCEPTANCE, ENVIRONMENT, OPENINGS, below, uniform
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.draws import count_step, draw_action, move_to_opening
from understudy.simulators.kernels.layout import EMPTY, Outcome


class Model(NamedTuple):
    """A log grouped by state and action, and the state of one rehearsal."""

    records: np.ndarray  # (N,) RECORD, in log order
    opening: np.ndarray  # (E,) OPENING
    first: np.ndarray  # (n_groups + 1,) int64: where the rows of each (state, action) start in members
    members: np.ndarray  # (N,) int32: rows, grouped by (state, action)
    first_emission: np.ndarray  # (n_states + 1,) int64: where the observations of each state start in emissions
    emissions: np.ndarray  # int32: row i for its observation, i + N for its next observation
    emission_code: np.ndarray  # int32: the same observations, as the learner's tables index them
    rules: np.ndarray  # (9,) int64
    streams: np.ndarray  # (5,) uint64
    cursor: np.ndarray  # (20,) int64


@kernel
def begin(model):
    """Begin an episode with a logged opening, drawn with replacement; return its row."""
    cursor = model.cursor
    episode = below(model.streams, OPENINGS, len(model.opening))
    cursor[layout.EPISODES_OPENED] += 1
    cursor[layout.OPENED_WITH_REPLACEMENT] += 1
    return move_to_opening(cursor, model.opening[episode])


@kernel
def step(model, policy):
    """Serve a drawn row with a drawn action, and move to an observation of its next state."""
    cursor = model.cursor
    state = cursor[layout.STATE]
    cursor[layout.STOP_STATE] = state
    if state < 0:
        cursor[layout.CAUSE] = layout.NO_STATE
        return Outcome(EMPTY, EMPTY, EMPTY, 0.0, False, False)
    action = draw_action(policy, uniform(model.streams, ACCEPTANCE))
    group = state * len(policy) + action
    n = model.first[group + 1] - model.first[group]
    if n == 0:
        cursor[layout.CAUSE] = layout.ACTION_QUEUE_EMPTY
        cursor[layout.STOP_ACTION] = action
        return Outcome(EMPTY, EMPTY, EMPTY, 0.0, False, False)
    record = model.records[model.members[model.first[group] + below(model.streams, ENVIRONMENT, n)]]
    cursor[layout.ROWS_TAKEN] += 1
    cursor[layout.STATE] = record["next_state"]
    cursor[layout.CODE] = record["next_code"]
    emission = np.int64(EMPTY)
    if model.rules[layout.REDRAW_OBSERVATION] and record["next_state"] >= 0:
        start, end = model.first_emission[record["next_state"]], model.first_emission[record["next_state"] + 1]
        position = start + below(model.streams, ENVIRONMENT, end - start)
        emission = np.int64(model.emissions[position])
        cursor[layout.CODE] = model.emission_code[position]
    terminated = record["terminated"] != 0
    truncated = count_step(model.rules, cursor, terminated)
    return Outcome(
        np.int64(record["row"]), emission, np.int64(record["action"]), record["reward"], terminated, truncated
    )
