import numpy as np
import pytest

from understudy.envs import CounterGrid, Grid, HistoryGrid, NoisyGrid
from understudy.envs.solve import optimal, probabilities, states, surely_ends, values
from understudy.errors import PolicyError, SettingError


def uniform(env):
    return np.full((env.n_observations, 5), 0.2)


def always(env, action):
    return np.eye(5)[np.full(env.n_observations, action)]


def random_policy(env, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(5), size=env.n_observations)


def backed_up(env, gamma, choose, sweeps):
    """Values by repeated sweeps over the tables, observation by observation: another way to the same numbers."""
    tables, owner = env.tables(), states(env.tables())
    worth = np.zeros(env.n_observations)
    for _ in range(sweeps):
        shown = (probabilities(tables.emission) * worth[tables.observation]).sum(axis=1)
        after = tables.reward + gamma * np.where(tables.terminated, 0.0, shown[tables.next_state])
        worth = choose((probabilities(tables.outcome) * after).sum(axis=2)[owner])
    return worth


def test_the_uniform_policy_needs_134_steps_by_two_ways():
    here = np.arange(25)
    walk = np.zeros((25, 25))
    for column, row in ((0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)):
        np.add.at(walk, (here, np.clip(here % 5 + column, 0, 4) + 5 * np.clip(here // 5 + row, 0, 4)), 0.2)
    hitting = np.linalg.solve(np.eye(24) - walk[:24, :24], np.ones(24))[0]
    value = Grid().values(np.full((25, 5), 0.2), gamma=1.0)[0]
    assert (1 - value) / 0.1 + 1 == pytest.approx(hitting, rel=1e-12)
    assert round(hitting) == 134


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.95, 0.99])
def test_the_optimal_start_value_is_seven_steps_and_the_goal(gamma):
    expected = -0.1 * (1 - gamma**7) / (1 - gamma) + gamma**7
    assert Grid().optimal(gamma)[0].max() == pytest.approx(expected, abs=1e-14)


def test_the_optimal_start_value_undiscounted():
    assert Grid().optimal(1.0)[0].max() == pytest.approx(0.3, abs=1e-14)


ENVS = [Grid(slip=0.2), NoisyGrid(2, slip=0.2), CounterGrid(3, slip=0.2), HistoryGrid(1, slip=0.2)]


@pytest.mark.parametrize("env", ENVS, ids=lambda env: type(env).__name__)
def test_values_are_the_fixed_point_of_backing_up(env):
    policy = random_policy(env)
    slow = backed_up(env, 0.9, lambda worth: (policy * worth).sum(axis=1), sweeps=400)
    assert np.allclose(env.values(policy, 0.9), slow, atol=1e-12)


@pytest.mark.parametrize("env", ENVS, ids=lambda env: type(env).__name__)
def test_optimal_values_are_the_fixed_point_of_backing_up_the_best(env):
    slow = backed_up(env, 0.9, lambda worth: worth.max(axis=1), sweeps=400)
    assert np.allclose(env.optimal(0.9).max(axis=1), slow, atol=1e-12)


@pytest.mark.parametrize("gamma", [0.9, 1.0])
def test_acting_by_the_optimal_values_earns_them(gamma):
    env = NoisyGrid(2, slip=0.3)
    best = env.optimal(gamma)
    assert np.allclose(env.values(np.eye(5)[best.argmax(axis=1)], gamma), best.max(axis=1), atol=1e-12)


@pytest.mark.parametrize("env", ENVS, ids=lambda env: type(env).__name__)
def test_terminal_observations_are_worth_nothing(env):
    goals = env.latent(np.arange(env.n_observations)) == 24
    assert goals.any()
    assert not env.values(uniform(env), 1.0)[goals].any()
    assert not env.optimal(0.95)[goals].any()


@pytest.mark.parametrize("env", ENVS[1:], ids=lambda env: type(env).__name__)
def test_a_policy_that_sees_only_the_cell_earns_what_it_earns_on_the_plain_grid(env):
    policy, cell = random_policy(ENVS[0]), env.latent(np.arange(env.n_observations))
    assert np.allclose(env.values(policy[cell], 0.95), ENVS[0].values(policy, 0.95)[cell], atol=1e-12)
    assert np.allclose(env.optimal(0.95), ENVS[0].optimal(0.95)[cell], atol=1e-12)


def test_large_problems_are_solved():
    assert HistoryGrid(3).optimal(1.0)[0].max() == pytest.approx(0.3, abs=1e-12)


def test_start_observations_are_the_law_of_the_first_one():
    codes, chance = NoisyGrid(2).start_observations()
    assert (codes.tolist(), chance.tolist()) == ([0, 25, 50, 75], [0.25] * 4)
    assert HistoryGrid().start_observations()[0].tolist() == [0]


def test_a_policy_that_never_arrives_has_no_undiscounted_value():
    env = Grid()
    with pytest.raises(SettingError, match="it never ends; use gamma < 1"):
        env.values(always(env, 0), 1.0)
    assert env.values(always(env, 0), 0.5)[0] == pytest.approx(-0.2)


def test_surely_ends_asks_only_about_states_that_are_visited():
    env = Grid()
    policy = always(env, 1)
    assert not surely_ends(env.tables(), policy)
    policy[20:], policy[1] = np.eye(5)[2], np.eye(5)[0]
    assert surely_ends(env.tables(), policy)
    with pytest.raises(SettingError, match="from 1 of 25 states, such as 1, it never ends"):
        env.values(policy, 1.0)


@pytest.mark.parametrize("gamma", [-0.1, 1.1, np.nan])
def test_gamma_lies_between_0_and_1(gamma):
    with pytest.raises(SettingError, match="gamma"):
        Grid().optimal(gamma)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (np.ones((25, 4)) / 4, "shape"),
        (np.ones(5) / 5, "shape"),
        (np.ones((25, 5)), "observation 0"),
        (np.full((25, 5), np.nan), "observation 0"),
        (np.tile([1.5, -0.5, 0, 0, 0], (25, 1)), "observation 0"),
    ],
)
def test_what_is_no_policy_is_refused(policy, words):
    with pytest.raises(PolicyError, match=words):
        Grid().values(policy, 0.9)


def test_an_observation_of_two_states_has_no_value():
    tables = Grid().tables()
    blurred = tables._replace(observation=tables.observation // 2)
    with pytest.raises(SettingError, match="emitted by two states"):
        optimal(blurred, 0.9)
    with pytest.raises(SettingError, match="emitted by two states"):
        values(blurred, np.full((13, 5), 0.2), 0.9)
