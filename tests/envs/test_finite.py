import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from scipy.stats import chi2, chisquare

import understudy.envs
from understudy.contracts.finite_tables import Tables
from understudy.envs.solve import probabilities, states
from understudy.errors import SettingError

NAMES = ["Grid", "NoisyGrid", "CounterGrid", "ContinuousGrid", "HistoryGrid"]


def by_hand(env, n, seed):
    """Random steps by hand, (n, 3): observation, action, next observation."""
    choice = np.random.default_rng(seed).integers(5, size=n)
    rows = np.empty((n, 3), dtype=np.int64)
    observation, _ = env.reset(seed=seed)
    for row, action in enumerate(choice):
        following, _, terminated, truncated, _ = env.step(action)
        rows[row] = observation, action, following
        observation = env.reset()[0] if terminated or truncated else following
    return rows


def rolled_out(env, n, seed):
    """The same, compiled."""
    columns = env.rollout(np.full((env.n_observations, 5), 0.2), seed=seed, steps=n)
    return np.stack([columns[name] for name in ("observation", "action", "next_observation")], axis=1)


def step_p_value(tables, observation, action, next_observation):
    """The probability of steps at least as unlike the tables as these, under the tables: a chi-square test."""
    state_of, (n_states, n_actions, _) = states(tables), tables.next_state.shape
    law = np.zeros((n_states, n_actions, n_states))
    state, choice, _ = np.indices(tables.next_state.shape)
    np.add.at(law, (state, choice, tables.next_state), probabilities(tables.outcome))
    count = np.zeros_like(law)
    np.add.at(count, (state_of[observation], action, state_of[next_observation]), 1)
    if (count[law < 1e-12] > 0).any():
        return 0.0
    expected = count.sum(axis=2, keepdims=True) * law
    enough = ((expected >= 5) | (law < 1e-12)).all(axis=2, keepdims=True) & (law >= 1e-12)
    statistic = ((count - expected)[enough] ** 2 / expected[enough]).sum()
    degrees = enough.sum() - enough.any(axis=2).sum()
    assert degrees > 0
    return chi2.sf(statistic, degrees)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("settings", [{}, {"slip": 0.2, "size": 3}])
def test_gymnasium_finds_nothing_to_complain_of(name, settings):
    check_env(gymnasium.make(f"understudy/{name}-v0", render_mode="ansi", **settings).unwrapped)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_registered(name):
    env = gymnasium.make(f"understudy/{name}-v0", slip=0.1, max_episode_steps=3)
    env.reset(seed=0)
    ends = [env.step(0)[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]
    assert isinstance(env.unwrapped, getattr(understudy.envs, name))


@pytest.mark.parametrize("name", ["Grid", "NoisyGrid"])
@pytest.mark.parametrize("steps", [by_hand, rolled_out])
def test_steps_obey_the_tables_and_another_slip_does_not(name, steps):
    # rejects right steps once in a thousand seeds
    kind = getattr(understudy.envs, name)
    rows = steps(kind(slip=0.2), 40_000, seed=1).T
    assert step_p_value(kind(slip=0.2).tables(), *rows) > 1e-3
    assert step_p_value(kind(slip=0.25).tables(), *rows) < 1e-6


@pytest.mark.parametrize("name", ["CounterGrid", "HistoryGrid"])
def test_the_larger_ones_obey_their_tables_too(name):
    env, wrong = (getattr(understudy.envs, name)(2, size=3, slip=slip) for slip in (0.2, 0.25))
    rows = rolled_out(env, 200_000, seed=1).T
    assert step_p_value(env.tables(), *rows) > 1e-3
    assert step_p_value(wrong.tables(), *rows) < 1e-6


def test_noise_by_hand_is_fresh_at_every_observation():
    observation, _, following = by_hand(understudy.envs.NoisyGrid(2, size=2), 20_000, seed=2).T
    pairs = 4 * (observation // 4) + following // 4
    assert chisquare(np.bincount(pairs, minlength=16)).pvalue > 1e-3
    assert chisquare(np.bincount(following[following % 4 == 3] // 4, minlength=4)).pvalue > 1e-3


def test_a_cap_truncates_with_the_ordinary_reward():
    env = understudy.envs.Grid(max_episode_steps=2)
    env.reset(seed=0)
    assert env.step(1)[1:4] == (-0.1, False, False)
    assert env.step(1)[1:4] == (-0.1, False, True)


def test_reaching_the_goal_at_the_cap_is_no_truncation():
    env = understudy.envs.Grid(size=2, max_episode_steps=2)
    env.reset(seed=0)
    env.step(1)
    assert env.step(2) == (3, 1.0, True, False, {})


def test_an_episode_that_is_over_must_be_reset():
    env = understudy.envs.Grid(max_episode_steps=1)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    env.step(0)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


@pytest.mark.parametrize("action", [-1, 5, 0.5, None])
def test_an_action_it_does_not_have_is_refused(action):
    env = understudy.envs.Grid()
    env.reset(seed=0)
    with pytest.raises(SettingError, match="actions 0 to 4"):
        env.step(action)


def test_a_seed_is_an_episode():
    env = understudy.envs.NoisyGrid(slip=0.5)
    assert np.array_equal(by_hand(env, 100, seed=3), by_hand(env, 100, seed=3))
    assert not np.array_equal(by_hand(env, 100, seed=3), by_hand(env, 100, seed=4))


def test_it_draws_itself():
    env = understudy.envs.Grid(size=3, render_mode="ansi")
    env.reset(seed=0)
    env.step(2)
    assert env.render() == "..G\n...\n.A."
    assert understudy.envs.Grid().render() is None


def test_a_cap_below_one_is_refused():
    with pytest.raises(SettingError, match="max_episode_steps"):
        understudy.envs.Grid(max_episode_steps=0)


def test_any_tables_are_an_environment():
    """A coin: heads pays 1 and ends, tails goes on; three states, one action."""
    tables = Tables(
        start=np.array([1.0, 1.0, 1.0]),
        outcome=np.tile([0.5, 1.0], (3, 1, 1)),
        next_state=np.tile(np.array([1, 2], np.int32), (3, 1, 1)),
        reward=np.tile([1.0, 0.0], (3, 1, 1)),
        terminated=np.tile([True, False], (3, 1, 1)),
        emission=np.ones((3, 1)),
        observation=np.arange(3, dtype=np.int32)[:, None],
    )
    env = understudy.envs.FiniteEnv(tables, max_episode_steps=2)
    check_env(env, skip_render_check=True)
    assert env.values(np.ones((3, 1)), gamma=1.0) == pytest.approx(1.0)
    episodes = env.rollout(np.ones((3, 1)), episodes=2_000, seed=0)
    lengths = np.bincount(episodes["episode"])
    assert set(lengths) == {1, 2}
    assert chisquare(np.bincount(lengths)[1:]).pvalue > 1e-4
    assert episodes["reward"].sum() / 2_000 == pytest.approx(0.75, abs=0.04)  # 4 standard deviations
