import numpy as np
import pytest
from scipy.stats import kstest

from understudy.envs import ContinuousGrid, Grid
from understudy.envs.continuous import _points

UNIFORM = np.full((25, 5), 0.2)


class LowestAndHighest:
    """The extremes of a generator's draws, in turn."""

    def uniform(self, low, high, shape):
        return np.resize([low, high], shape)


@pytest.fixture(scope="module")
def columns():
    return ContinuousGrid().rollout_cells(UNIFORM, steps=1_000_000, seed=1)


def test_a_million_steps_lie_in_their_cells(columns):
    cells = Grid().rollout(UNIFORM, seed=1, steps=1_000_000)
    latent = ContinuousGrid().latent
    assert columns["observation"].shape == (1_000_000, 2)
    for name in ("observation", "next_observation"):
        assert np.array_equal(latent(columns[name]), cells[name])
    assert np.array_equal(columns["action"], cells["action"])


def test_an_episode_goes_on_where_it_was(columns):
    inside = np.flatnonzero(np.diff(columns["episode"]) == 0)
    assert np.array_equal(columns["next_observation"][inside], columns["observation"][inside + 1])


def test_points_are_uniform_within_their_cell_and_fresh(columns):
    # each rejects once in a thousand seeds; the wrong law is uniform over 99% of the cell
    within = columns["observation"][:100_000] * 5 % 1
    following = columns["next_observation"][:100_000] * 5 % 1
    for offset in (*within.T, (within + following)[:, 0] % 1, (within[:, 0] + within[:, 1]) % 1):
        assert kstest(offset, "uniform").pvalue > 1e-3
    assert kstest(within[:, 0], "uniform", args=(0, 0.99)).pvalue < 1e-6


def test_points_by_hand_are_uniform_whatever_slips():
    env = ContinuousGrid(slip=1.0)
    env.reset(seed=2)
    points = []
    for _ in range(5000):
        point, _, terminated, _, _ = env.step(0)
        points.append(point)
        if terminated:
            env.reset()
    within = np.array(points) * 5 % 1
    cell = env.latent(np.array(points))
    assert kstest(within.ravel(), "uniform").pvalue > 1e-3
    assert kstest(within[cell == 0].ravel(), "uniform").pvalue > 1e-3


def test_by_hand_it_moves_as_its_grid():
    env = ContinuousGrid()
    observation, _ = env.reset(seed=3)
    cells = [env.latent(observation)] + [env.latent(env.step(action)[0]) for action in (1, 2) * 4]
    assert cells == [0, 5, 6, 11, 12, 17, 18, 23, 24]


@pytest.mark.parametrize("size", [2, 5, 49, 1000])
def test_rounding_carries_no_point_into_another_cell(size):
    cells = np.repeat(np.arange(0, size * size, max(1, size // 7)), 2)
    assert np.array_equal(ContinuousGrid(size).latent(_points(cells, size, LowestAndHighest())), cells)


def test_a_seed_is_a_rollout():
    first, again, other = (ContinuousGrid().rollout_cells(UNIFORM, 5, seed=seed)["observation"] for seed in (4, 4, 5))
    assert np.array_equal(first, again)
    assert not np.array_equal(first[:5], other[:5])


def test_a_cap_truncates():
    capped = ContinuousGrid(max_episode_steps=10).rollout_cells(UNIFORM, 20, seed=6)
    assert (capped["terminated"] | capped["truncated"]).sum() == 20
    assert capped["step"].max() == 9
