"""Episodes of a finite problem under a policy, compiled."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import allocating
from understudy.contracts.finite_tables import Tables, emit, pick, pick_outcome, pick_start
from understudy.contracts.streams import ACCEPTANCE, spawn, streams_of, uniform
from understudy.envs.grid_tables import cumulated
from understudy.envs.solve import checked_policy, surely_ends
from understudy.errors import SettingError
from understudy.settings import steps_of

FIRST_PIECE, LARGEST_PIECE = 1 << 15, 1 << 22
NEVER = 1 << 62
RECORDING = 1000  # a log and a run of the same seed share no random number
EPISODE = 3  # the position of the episode in a cursor


class Rows(NamedTuple):
    """Recorded steps, one array a column."""

    observation: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    next_observation: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    episode: np.ndarray
    step: np.ndarray


DTYPES = (np.int64, np.int64, np.float64, np.int64, np.bool_, np.bool_, np.int64, np.int64)


def rollout(
    tables: Tables,
    policy: np.ndarray,
    *,
    episodes: int | None = None,
    steps: int | None = None,
    seed: int = 0,
    max_episode_steps: int | None = None,
) -> dict[str, np.ndarray]:
    """Return the columns of a log of so many episodes, or steps, whichever is reached first, by name.

    With `steps` the last episode may be cut off. `propensity`, (rows, actions), is the policy at each row's
    observation.
    """
    policy = checked_policy(tables, policy)
    episodes, steps = steps_of("episodes", episodes), steps_of("steps", steps)
    max_episode_steps = steps_of("max_episode_steps", max_episode_steps)
    if episodes is None and steps is None:
        raise SettingError("a rollout needs a number of episodes or of steps")
    if steps is None and max_episode_steps is None and not surely_ends(tables, policy):
        raise SettingError("an episode may never end under this policy; give max_episode_steps, or steps")
    streams = streams_of(spawn(seed, RECORDING))
    pieces = _pieces(tables, cumulated(policy), streams, episodes or NEVER, steps or NEVER, max_episode_steps or NEVER)
    columns = dict(zip(Rows._fields, map(np.concatenate, zip(*pieces, strict=True)), strict=True))
    return {**columns, "propensity": policy[columns["observation"]]}


def _pieces(
    tables: Tables, policy: np.ndarray, streams: np.ndarray, episodes: int, steps: int, cap: int
) -> Iterator[Rows]:
    """Yield rows in pieces that grow, since the lengths of episodes are not known beforehand."""
    cursor, size = np.zeros(4, dtype=np.int64), FIRST_PIECE
    while steps > 0 and cursor[EPISODE] < episodes:
        rows = Rows(*(np.empty(min(size, steps), dtype) for dtype in DTYPES))
        walked = walk(tables, policy, streams, cursor, episodes, cap, rows)
        yield Rows(*(column[:walked] for column in rows))
        steps, size = steps - walked, min(2 * size, LARGEST_PIECE)


@allocating
def walk(tables, policy, streams, cursor, episodes, cap, rows):
    """Fill rows until they are full or the episodes are over, and tell how many were filled; policy is cumulated.

    The cursor, (state, observation, step, episode), is where the last walk stopped and the next one goes on.
    """
    state, observation, step, episode = cursor
    row = 0
    while row < len(rows.action) and episode < episodes:
        if step == 0:
            state = pick_start(tables, streams)
            observation = emit(tables, state, streams)
        action = pick(policy[observation], uniform(streams, ACCEPTANCE))
        outcome = pick_outcome(tables, state, action, streams)
        reached = tables.next_state[state, action, outcome]
        terminated = tables.terminated[state, action, outcome]
        truncated = not terminated and step + 1 == cap
        rows.observation[row] = observation
        rows.action[row] = action
        rows.reward[row] = tables.reward[state, action, outcome]
        rows.terminated[row] = terminated
        rows.truncated[row] = truncated
        rows.episode[row] = episode
        rows.step[row] = step
        state, observation = reached, emit(tables, reached, streams)
        rows.next_observation[row] = observation
        row, step = row + 1, step + 1
        if terminated or truncated:
            step, episode = 0, episode + 1
    cursor[0], cursor[1], cursor[2], cursor[3] = state, observation, step, episode
    return row
