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


def walk_and_weather(seed, episodes=150, steps=30, *, wind=0.0, warming=0.0, looks=False, reward=None, noise=0.0):
    """A log of a walk on five places and of weather, an autoregression, in episodes of one length.

    `wind` is how often weather above 0 moves the walk left, `warming` what each place adds to the next weather;
    if the logger `looks`, good weather makes it go right; `reward` is a function of place, weather, and next ones.
    """
    rng = np.random.default_rng(seed)
    place, weather = rng.integers(5, size=episodes), rng.normal(size=episodes)
    rows = []
    for _ in range(steps):
        propensity = np.full((episodes, 3), 1 / 3)
        if looks:
            propensity = np.where(weather[:, None] > 0, [0.1, 0.2, 0.7], [0.5, 0.3, 0.2])
        action = (rng.random((episodes, 1)) > np.cumsum(propensity, axis=1)).sum(axis=1).clip(0, 2)
        move = np.where(rng.random(episodes) < 0.2, rng.integers(-1, 2, episodes), action - 1)
        move = np.where((weather > 0) & (rng.random(episodes) < wind), -1, move)
        following, later = (place + move) % 5, 0.9 * weather + np.sqrt(0.19) * rng.normal(size=episodes)
        later = later + warming * (place - 2)
        paid = (following == 4) if reward is None else reward(place, weather, following, later)
        paid = paid + noise * rng.normal(size=episodes)
        before, after = np.column_stack([place, weather]), np.column_stack([following, later])
        rows.append((before, action, paid.astype(float), after, propensity))
        place, weather = following, later
    observation, action, paid, after, propensity = (np.stack(c, axis=1) for c in zip(*rows, strict=True))
    last = np.tile(np.arange(steps) == steps - 1, episodes)
    return Log.from_columns(
        observation=observation.reshape(-1, 2), action=action.ravel(), reward=paid.ravel(),
        next_observation=after.reshape(-1, 2), propensity=propensity.reshape(-1, 3), truncated=last,
        terminated=np.zeros(episodes * steps, bool), episode=np.repeat(np.arange(episodes), steps),
    )  # fmt: skip


@pytest.fixture(scope="session", name="walk_and_weather")
def _walk_and_weather():
    return walk_and_weather
