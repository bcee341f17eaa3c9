import numpy as np
import pytest
from scipy.stats import chisquare

from understudy.envs import CounterGrid, Grid
from understudy.errors import SettingError


def test_the_counter_counts_whatever_the_agent_does():
    env = CounterGrid(period=4, slip=0.3)
    columns = env.rollout(np.full((100, 5), 0.2), 50, seed=1)
    before, after = (env.split(columns[name])[1] for name in ("observation", "next_observation"))
    assert np.array_equal((before + 1) % 4, after)


def test_the_counter_begins_anywhere():
    env = CounterGrid(period=8)
    env.reset(seed=2)
    by_hand = [env.reset()[0] for _ in range(4000)]
    compiled = env.rollout(np.full((200, 5), 0.2), 4000, seed=2, max_episode_steps=1)["observation"]
    for first in (by_hand, compiled):
        cell, counter = env.split(first)
        assert not cell.any()
        assert chisquare(np.bincount(counter, minlength=8)).pvalue > 1e-3


def test_merging_undoes_splitting():
    env = CounterGrid()
    everything = np.arange(env.n_observations)
    assert np.array_equal(env.merge(*env.split(everything)), everything)
    assert np.array_equal(env.split(everything)[0], env.latent(everything))


def test_the_reward_oracle_tells_what_steps_earn():
    env = CounterGrid(period=3)
    columns = env.rollout(np.full((75, 5), 0.2), 20, seed=3)
    assert np.array_equal(env.reward(*env.split(columns["next_observation"])), columns["reward"])


def test_its_cells_move_as_the_grid_does():
    moved, plain = CounterGrid(period=3, slip=0.1).tables(), Grid(slip=0.1).tables()
    assert np.array_equal(moved.next_state[25:50] % 25, plain.next_state)
    assert (moved.next_state[25:49] // 25 == 2).all()


def test_a_period_below_one_is_refused():
    with pytest.raises(SettingError, match="period"):
        CounterGrid(0)
