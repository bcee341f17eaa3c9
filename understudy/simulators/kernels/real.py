"""A true environment that is finite, walked by its tables."""

from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel
from understudy.contracts.streams import ACCEPTANCE, uniform
from understudy.contracts.tables import Tables, emit, pick_outcome, pick_start
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.draws import choose, count_step
from understudy.simulators.kernels.layout import EMPTY, Outcome


class TableWalk(NamedTuple):
    """The tables of an environment, and one rehearsal's place in it."""

    tables: Tables
    state_of: np.ndarray  # (n_observations,) int32: the encoder's state of each observation
    code_of: np.ndarray  # (n_observations,) int32: each observation as the learner's tables index it
    rules: np.ndarray  # (7,) int64
    streams: np.ndarray  # (5,) uint64
    cursor: np.ndarray  # (16,) int64


@kernel
def arrive(walk, place):
    """Be in a state of the environment, and see what it shows; that observation."""
    cursor = walk.cursor
    observation = emit(walk.tables, place, walk.streams)
    cursor[layout.HIDDEN] = place
    cursor[layout.STATE] = walk.state_of[observation]
    cursor[layout.CODE] = walk.code_of[observation]
    return np.int64(observation)


@kernel
def begin(walk):
    """Begin an episode; its first observation (no row is its source)."""
    walk.cursor[layout.OPENED] += 1
    walk.cursor[layout.EPISODE_STEPS] = 0
    walk.cursor[layout.EPISODE_OVER] = 0
    return arrive(walk, pick_start(walk.tables, walk.streams))


@kernel
def step(walk, policy):
    """Draw an action and let the environment answer; the observation it shows stands in for an emission."""
    place = walk.cursor[layout.HIDDEN]
    action = choose(policy, uniform(walk.streams, ACCEPTANCE))
    outcome = pick_outcome(walk.tables, place, action, walk.streams)
    reward = walk.tables.reward[place, action, outcome]
    terminated = walk.tables.terminated[place, action, outcome]
    observation = arrive(walk, walk.tables.next_state[place, action, outcome])
    truncated = count_step(walk.rules, walk.cursor, terminated)
    return Outcome(EMPTY, observation, np.int64(action), reward, terminated, truncated)
