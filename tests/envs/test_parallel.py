"""Many episodes at once follow the law of one."""

import numpy as np
import pytest
from scipy.stats import chisquare

from understudy.envs import ContinuousGrid, CounterGrid, Grid, NoisyGrid
from understudy.envs.grid_tables import RIGHT, UP

EVERYONE = np.ones(20_000, bool)


def test_those_that_do_not_play_stay_where_they_are():
    world = Grid(3).many(4, seed=0)
    assert world.reset().tolist() == [0, 0, 0, 0]
    playing = np.array([True, False, True, False])
    observations, rewards, over = world.step(playing, np.array([UP, RIGHT]))
    assert observations.tolist() == [3, 0, 1, 0]
    assert rewards.tolist() == [-0.1, -0.1]
    assert not over.any()


def test_the_goal_pays_and_ends():
    world = Grid(2).many(1, seed=0)
    world.reset()
    assert [world.step(np.ones(1, bool), np.array([action]))[1:] for action in (UP, RIGHT)] == [
        (-0.1, False),
        (1.0, True),
    ]


@pytest.mark.parametrize(("slip", "right"), [(0.4, True), (0.2, False)])
def test_slips_have_their_probability(slip, right):
    # At the one-in-a-million level, so that a right answer never fails and another slip always does.
    world = Grid(3, slip=0.4).many(len(EVERYONE), seed=0)
    world.reset()
    observations, _, _ = world.step(EVERYONE, np.full(len(EVERYONE), UP))
    moves = np.bincount(observations, minlength=4)[[0, 1, 3]]  # three actions stay in the corner
    expected = len(EVERYONE) * np.array([3 * slip / 5, slip / 5, 1 - 4 * slip / 5])
    assert (chisquare(moves, expected).pvalue > 1e-6) == right


def test_emissions_are_drawn_evenly_and_openings_by_their_law():
    for env in (NoisyGrid(2, size=3), CounterGrid(4, size=3)):
        shown = env.many(len(EVERYONE), seed=1).reset()
        codes, weights = env.start_observations()
        counts = np.array([(shown == code).sum() for code in codes])
        assert counts.sum() == len(EVERYONE)
        assert chisquare(counts, weights * len(EVERYONE)).pvalue > 1e-6


def test_points_are_spread_over_their_cell():
    env = ContinuousGrid(3)
    points = env.many(len(EVERYONE), seed=2).reset()
    assert (env.latent(points) == 0).all()
    assert chisquare(np.histogram2d(*points.T, bins=4, range=[[0, 1 / 3]] * 2)[0].ravel()).pvalue > 1e-6
