"""A small world to log: a walk on a ring, by a policy that depends on the state."""

import numpy as np
import pytest


def walk_columns(seed=0, episodes=60, length=20, n_states=12, n_actions=3, policy=None):
    """The columns of a clean log. Episodes terminate at random, or are truncated at `length`."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(n_actions, 2.0), size=n_states) if policy is None else policy
    state = np.empty((episodes, length + 1), np.int64)
    action = np.empty((episodes, length), np.int64)
    state[:, 0] = rng.integers(n_states, size=episodes)
    for t in range(length):
        p = table[state[:, t]]
        action[:, t] = (p.cumsum(1) > rng.random((episodes, 1))).argmax(1)
        state[:, t + 1] = (state[:, t] + action[:, t] - 1 + rng.integers(3, size=episodes)) % n_states
    ends = rng.random((episodes, length)) < 0.03
    lived = np.cumsum(ends, axis=1) - ends == 0
    last = np.zeros_like(ends)
    last[:, -1] = True
    return {
        "observation": state[:, :-1][lived],
        "action": action[lived],
        "reward": rng.random(lived.sum()),
        "next_observation": state[:, 1:][lived],
        "terminated": ends[lived],
        "truncated": (last & ~ends)[lived],
        "episode": np.nonzero(lived)[0],
        "step": np.nonzero(lived)[1],
        "propensity": table[state[:, :-1][lived]],
    }


@pytest.fixture(scope="session")
def walk():
    return walk_columns


@pytest.fixture
def clean():
    return walk_columns()
