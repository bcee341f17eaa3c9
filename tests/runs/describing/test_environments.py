"""An environment is what it was made with and how it is set up, not where it is."""

import gymnasium
import numpy as np

from understudy.envs import Grid
from understudy.runs.describing import describe
from understudy.runs.describing.environments import env_parts, setup_attributes
from understudy.simulators import real


def alike(one, other):
    return describe(one).digest == describe(other).digest


def test_using_an_environment_or_a_vectorized_function_does_not_change_what_it_is():
    env, vectorized = Grid(), np.vectorize(lambda x: x + 1, otypes=[np.int64])
    before = describe([env, vectorized, env.observation_space])
    env.reset(seed=3)
    env.step(1)
    env.observation_space.sample()
    vectorized(np.arange(3))
    assert describe([env, vectorized, env.observation_space]) == before


def cart_pole(used=0, **attributes):
    env = gymnasium.make("CartPole-v1")
    for name, value in attributes.items():
        setattr(env.unwrapped, name, value)
    if used:
        env.reset(seed=0)
        for _ in range(used):
            env.step(0)
    return env


def test_what_was_changed_in_an_environment_that_was_made_by_its_id_is_seen():
    assert alike(cart_pole(), cart_pole(used=5))
    assert not alike(cart_pole(), cart_pole(gravity=1.0))
    assert not alike(real(cart_pole()), real(cart_pole(gravity=1.0)))
    shorter = cart_pole()
    shorter.env.env._max_episode_steps = shorter._max_episode_steps = 7
    assert not alike(cart_pole(), shorter)
    lake, other = (gymnasium.make("FrozenLake-v1") for _ in range(2))
    lake.reset(seed=0)
    assert alike(lake, other)
    other.unwrapped.P[0][0] = [(1.0, 1, 0.0, False)]
    assert not alike(lake, other)


class Drifting(gymnasium.Env):
    """Sets `place` as it goes, and writes on `seen`."""

    def __init__(self):
        self.slip, self.place, self.seen = 0.1, 0, []

    def step(self, action):
        self.place = action
        self.seen.append(action)
        return 0, 0.0, False, False, {}


def test_the_set_up_is_what_only_init_sets():
    assert setup_attributes(Drifting, vars(Drifting()) | {"render": lambda: 1}) == {"slip": 0.1}


def test_an_environment_that_does_not_know_what_it_was_made_with_is_all_its_attributes():
    env = Drifting()
    parts, trusted = env_parts(env, vars(env))
    assert dict(parts) == {".slip": 0.1, ".place": 0, ".seen": []}
    assert trusted == set()
    made, trusted = env_parts(cart_pole().unwrapped, vars(cart_pole().unwrapped))
    assert dict(made)["id"] == "CartPole-v1"
    assert ".gravity" in trusted
