"""Small problems for the tests of likeness, with and without like states."""

import numpy as np
from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.envs.toy_text.taxi import TaxiEnv

from understudy.logs import Log


def walked(chance, reward, over, start, episodes, seed, limit, policy=None):
    """A log of a policy that ignores the state; `chance`, `reward` and `over` are (states, actions, states)."""
    rng = np.random.default_rng(seed)
    n_states, n_actions, _ = chance.shape
    steps = np.cumsum(chance, axis=2)
    state = rng.choice(n_states, episodes, p=start)
    episode, rows = np.arange(episodes), []
    for step in range(limit):
        action = rng.choice(n_actions, size=len(state), p=policy)
        there = (rng.random(len(state))[:, None] > steps[state, action]).sum(axis=1).clip(max=n_states - 1)
        ended = rng.random(len(state)) < over[state, action, there]
        rows.append((episode, np.full(len(state), step), state, action, reward[state, action, there], there, ended))
        episode, state = episode[~ended], there[~ended]
    columns = [np.concatenate(part) for part in zip(*rows, strict=True)]
    order = np.lexsort([columns[1], columns[0]])
    names = ("episode", "step", "observation", "action", "reward", "next_observation", "terminated")
    given = {name: column[order] for name, column in zip(names, columns, strict=True)}
    last = given["step"] == limit - 1
    return Log.from_columns(**given, truncated=last & ~given["terminated"], n_actions=n_actions)


def tables_of(env):
    """Transition probabilities, mean rewards and probabilities to end of one of Gymnasium's toy problems."""
    n_states, n_actions = int(env.observation_space.n), int(env.action_space.n)
    chance, reward, over = np.zeros((3, n_states, n_actions, n_states))
    for state in range(n_states):
        for action in range(n_actions):
            for p, there, r, ended in env.P[state][action]:
                chance[state, action, there] += p
                reward[state, action, there] = r
                over[state, action, there] = ended
    return chance, reward, over, np.asarray(env.initial_state_distrib, dtype=float)


def frozen_lake(episodes, seed):
    return walked(*tables_of(FrozenLakeEnv(map_name="4x4", is_slippery=True)), episodes, seed, 100)


def cliff_walking(episodes, seed):
    return walked(*tables_of(CliffWalkingEnv(is_slippery=True)), episodes, seed, 200)


def taxi(episodes, seed):
    return walked(*tables_of(TaxiEnv()), episodes, seed, 200)


def square_tables(side=16):
    """A square that a wall divides but for one gap; a move goes astray in three of ten steps; the corner pays 1."""
    n = side * side
    chance, reward, over = np.zeros((3, n, 4, n))
    middle = side // 2
    for cell in range(n):
        row, column = divmod(cell, side)
        for action in range(4):
            for way, (down, right) in enumerate(((0, 1), (1, 0), (0, -1), (-1, 0))):
                there = row + down, column + right
                crosses = {column, there[1]} == {middle - 1, middle} and row != middle
                stays = crosses or not (min(there) >= 0 and max(there) < side)
                at = cell if stays else there[0] * side + there[1]
                chance[cell, action, at] += 0.7 * (way == action) + 0.075
                reward[cell, action, at] = 1.0 if at == n - 1 else -0.01
                over[cell, action, at] = at == n - 1
    start = np.zeros((side, side))
    start[:, :middle] = 1.0
    return chance, reward, over, (start / start.sum()).ravel()


def square(episodes, seed, side=16):
    """The square, seen as positions from 0 to 1, with a logger that tends to the corner."""
    log = walked(*square_tables(side), episodes, seed, 300, [0.35, 0.35, 0.15, 0.15])
    rows = {name: np.stack(np.divmod(column, side), axis=1) / side for name, column in _seen(log).items()}
    columns = {name: column for name, column in log.columns.items() if name not in rows}
    return Log.from_columns(**columns, **rows, n_actions=4)


def _seen(log):
    return {"observation": log.observation, "next_observation": log.next_observation}


def twins(episodes, seed, n=6, noise=0.0):
    """A ring of n states, each with a twin, state + n, that behaves the same; which of the two follows is chance.

    The first action goes round, the second stays; each state pays a reward of its own. The episode ends in one of ten
    steps.
    """
    chance, reward, over = np.zeros((3, 2 * n, 2, 2 * n))
    for state in range(2 * n):
        for action, there in enumerate(((state + 1) % n, state % n)):
            chance[state, action, [there, there + n]] = 0.5
            reward[state, action] = state % n
            over[state, action] = 0.1
    log = walked(chance, reward, over, np.full(2 * n, 0.5 / n), episodes, seed, 50)
    if not noise:
        return log
    columns = {name: column for name, column in log.columns.items() if name != "reward"}
    shaken = log.reward + noise * np.random.default_rng(seed + 1).standard_normal(len(log))
    return Log.from_columns(**columns, reward=shaken, n_actions=2)
