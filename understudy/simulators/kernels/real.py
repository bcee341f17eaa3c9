"""A true environment that is finite, walked by its tables."""

from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel
from understudy.contracts.finite_tables import Tables, emit, pick_outcome, pick_start
from understudy.contracts.streams import ACCEPTANCE, uniform
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.draws import count_step, draw_action
from understudy.simulators.kernels.layout import EMPTY, Outcome


class TableWalk(NamedTuple):
    """The tables of an environment, and the state of one rehearsal."""

    tables: Tables
    state_of: np.ndarray  # (n_observations,) int32: the encoder's state of each observation
    code_of: np.ndarray  # (n_observations,) int32: each observation as the learner's tables index it
    rules: np.ndarray  # (9,) int64
    streams: np.ndarray  # (5,) uint64
    cursor: np.ndarray  # (20,) int64


@kernel
def enter(walk, true_state):
    """Move to a state of the environment; return the observation that it emits."""
    cursor = walk.cursor
    observation = emit(walk.tables, true_state, walk.streams)
    cursor[layout.LATENT] = true_state
    cursor[layout.STATE] = walk.state_of[observation]
    cursor[layout.CODE] = walk.code_of[observation]
    return np.int64(observation)


@kernel
def begin(walk):
    """Begin an episode; return its first observation, in the place of a row."""
    walk.cursor[layout.EPISODES_OPENED] += 1
    walk.cursor[layout.EPISODE_STEPS] = 0
    walk.cursor[layout.EPISODE_OVER] = 0
    return enter(walk, pick_start(walk.tables, walk.streams))


@kernel
def step(walk, policy):
    """Serve a step of the environment with a drawn action; its observation is in the place of an emission."""
    true_state = walk.cursor[layout.LATENT]
    action = draw_action(policy, uniform(walk.streams, ACCEPTANCE))
    outcome = pick_outcome(walk.tables, true_state, action, walk.streams)
    reward = walk.tables.reward[true_state, action, outcome]
    terminated = walk.tables.terminated[true_state, action, outcome]
    observation = enter(walk, walk.tables.next_state[true_state, action, outcome])
    truncated = count_step(walk.rules, walk.cursor, terminated)
    return Outcome(EMPTY, observation, np.int64(action), reward, terminated, truncated)
