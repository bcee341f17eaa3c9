"""Small logs to learn states from."""

import numpy as np
import pytest

from understudy.envs import ContinuousGrid
from understudy.logs import Log


@pytest.fixture(scope="session")
def log_of():
    """A log of one-step episodes with these observations."""

    def make(observation, next_observation=None):
        following = observation if next_observation is None else next_observation
        ones = np.ones(len(observation), dtype=int)
        return Log.from_columns(
            observation=observation, action=ones, reward=ones, next_observation=following, terminated=ones.astype(bool)
        )

    return make


@pytest.fixture(scope="session")
def grid():
    """Nine cells seen as points of the unit square."""
    return ContinuousGrid(size=3)


@pytest.fixture(scope="session")
def grid_log(grid):
    """Twelve thousand steps of it, acting evenly."""
    return Log.from_columns(**grid.rollout_cells(np.full((9, 5), 0.2), steps=12_000, seed=1))


@pytest.fixture(scope="session")
def homer(grid_log):
    """Homer, trained on the nine cells."""
    from understudy.encoders import Homer

    return Homer(latent=20, seed=0, annealing=1500, max_epochs=60).fit(grid_log)


@pytest.fixture(scope="session")
def merged(grid, grid_log):
    """The audit of an oracle that takes one cell for another."""
    from understudy.encoders import Function

    return Function(lambda x: np.where(grid.latent(x) == 5, 1, grid.latent(x))).audit(grid_log)
