import gymnasium
import numpy as np
import pytest

from understudy.contracts.environments import (
    HasBestValue,
    HasParallelEpisodes,
    HasRollout,
    HasStartObservations,
    HasTables,
    HasTimeLimit,
    is_discrete,
)
from understudy.contracts.finite_tables import Tables
from understudy.envs import BernoulliBandit, ContinuousGrid, CounterGrid, Grid, HistoryGrid, LinearBandit, NoisyGrid

FINITE = [Grid, NoisyGrid, CounterGrid, HistoryGrid]
EVERYTHING = {HasParallelEpisodes, HasRollout, HasStartObservations, HasTables, HasTimeLimit}


def offers(env):
    return {protocol for protocol in EVERYTHING if isinstance(env, protocol)}


@pytest.mark.parametrize("make", FINITE)
def test_finite_grids_offer_everything(make):
    assert offers(make()) == EVERYTHING


def test_the_continuous_grid_offers_what_it_has():
    assert offers(ContinuousGrid()) == {HasParallelEpisodes, HasTimeLimit}


def test_bandits_know_what_is_best_and_plain_ones_have_tables():
    assert isinstance(BernoulliBandit([0.5]), HasBestValue | HasTables)
    assert isinstance(LinearBandit(2, 2), HasBestValue)
    assert not isinstance(Grid(), HasBestValue)
    assert offers(LinearBandit(2, 2)) == set()


def test_a_gymnasium_environment_need_not_offer_anything():
    assert offers(gymnasium.make("FrozenLake-v1").unwrapped) == set()


@pytest.mark.parametrize("make", [*FINITE, ContinuousGrid])
def test_parallel_episodes_keep_their_promises(make):
    episodes = make().many(3, seed=1)
    first = episodes.reset().copy()
    assert first.shape[0] == 3
    running = np.array([True, False, True])
    observations, rewards, over = episodes.step(running, np.array([1, 2]))
    assert (len(rewards), len(over)) == (2, 2)
    assert observations.shape == first.shape
    assert np.array_equal(observations[1], first[1])


@pytest.mark.parametrize("make", FINITE)
def test_first_observations_have_probabilities_that_sum_to_one(make):
    env = make()
    observations, probabilities = env.start_observations()
    assert probabilities.sum() == pytest.approx(1)
    assert {env.reset(seed=seed)[0] for seed in range(20)} <= set(observations.tolist())


@pytest.mark.parametrize("make", FINITE)
def test_tables_have_the_actions_and_observations_of_the_spaces(make):
    env = make()
    tables = env.tables()
    assert isinstance(tables, Tables)
    assert tables.reward.shape[1] == env.action_space.n
    assert tables.observation.max() + 1 == env.observation_space.n


def test_only_discrete_spaces_from_zero_up_are_discrete():
    spaces = gymnasium.spaces
    assert is_discrete(spaces.Discrete(3))
    for space in (spaces.Discrete(3, start=1), spaces.MultiBinary(3), spaces.Box(0, 1), None):
        assert not is_discrete(space)
