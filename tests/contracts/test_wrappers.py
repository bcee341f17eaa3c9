import gymnasium
import pytest
from gymnasium import wrappers

from understudy.contracts.wrappers import changing_wrappers, layers, shortest, time_limit
from understudy.envs import Grid


class Holder(gymnasium.Env):
    """An environment that holds another one without being a `gymnasium.Wrapper`."""

    def __init__(self, env):
        self.env = env


def test_layers_go_from_the_outermost_to_the_innermost():
    grid = Grid()
    inner = wrappers.OrderEnforcing(grid)
    outer = wrappers.TimeLimit(inner, 7)
    assert list(layers(outer)) == [outer, inner, grid]
    assert list(layers(grid)) == [grid]


def test_a_vector_environment_is_followed_to_its_first_copy():
    vector = gymnasium.vector.SyncVectorEnv([Grid, Grid])
    assert list(layers(vector)) == [vector, vector.envs[0]]
    around = gymnasium.wrappers.vector.RecordEpisodeStatistics(vector)
    assert list(layers(around)) == [around, vector, vector.envs[0]]


def test_the_vector_environments_of_stable_baselines_are_followed():
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    dummy = vec_env.DummyVecEnv([Grid])
    monitor = vec_env.VecMonitor(dummy)
    stack = vec_env.VecFrameStack(vec_env.VecMonitor(vec_env.DummyVecEnv([lambda: gymnasium.make("CartPole-v1")])), 2)
    assert list(layers(monitor)) == [monitor, dummy, dummy.envs[0]]
    assert [type(layer).__name__ for layer in layers(stack)][:3] == ["VecFrameStack", "VecMonitor", "DummyVecEnv"]


def test_wrappers_that_only_check_calls_change_nothing():
    grid = Grid()
    checked = wrappers.PassiveEnvChecker(wrappers.OrderEnforcing(grid))
    assert changing_wrappers(grid) == changing_wrappers(checked) == []
    limited = wrappers.TimeLimit(checked, 5)
    assert changing_wrappers(wrappers.OrderEnforcing(limited)) == [limited]


def test_a_subclass_of_a_checking_wrapper_may_change_something():
    class Doubling(wrappers.OrderEnforcing):
        pass

    env = Doubling(Grid())
    assert changing_wrappers(env) == [env]


def test_an_environment_that_holds_another_is_not_a_wrapper_of_it():
    assert changing_wrappers(Holder(gymnasium.make("CartPole-v1"))) == []


def test_the_smallest_limit_of_all_layers_is_found():
    assert time_limit(Grid()) is None
    assert time_limit(Grid(max_episode_steps=9)) == 9
    assert time_limit(wrappers.TimeLimit(Grid(max_episode_steps=9), 4)) == 4
    assert time_limit(wrappers.TimeLimit(Grid(max_episode_steps=3), 4)) == 3
    assert time_limit(Holder(gymnasium.make("FrozenLake-v1"))) == 100


def test_no_limit_is_longer_than_any():
    assert shortest() is None
    assert shortest(None, 5, None, 8) == 5
