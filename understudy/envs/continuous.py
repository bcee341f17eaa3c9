"""The grid in continuous coordinates: the observation is a point anywhere within the cell."""

from typing import Any

import gymnasium
import numpy as np

from understudy.contracts.streams import spawn
from understudy.contracts.wrappers import shortest
from understudy.envs.grid import Grid
from understudy.envs.parallel import TableEpisodes
from understudy.envs.rollout import RECORDING, rollout

MARGIN = 2.0**-40  # distance of points from a cell's border, in cells, so that rounding moves none across


class ContinuousGrid(gymnasium.Env[Any, Any]):
    """`Grid`, observed as a point of the unit square, drawn uniformly within the cell at every observation.

    The cells underneath are the attribute `grid`, which offers tables and exact values.

    >>> env = ContinuousGrid()
    >>> point, _ = env.reset(seed=0)
    >>> point.shape, bool((point < 0.2).all()), int(env.latent(point))
    ((2,), True, 0)
    """

    metadata = Grid.metadata

    def __init__(
        self,
        size: int = 5,
        slip: float = 0.0,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.grid = Grid(size, slip, max_episode_steps, render_mode)
        self.size, self.slip, self.max_episode_steps, self.render_mode = size, slip, max_episode_steps, render_mode
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, shape=(2,), dtype=np.float64)
        self.action_space = self.grid.action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode in the bottom left cell."""
        super().reset(seed=seed)
        self.grid.np_random = self.np_random  # one generator: two of the same seed would make points depend on slips
        cell, info = self.grid.reset()
        return self._point(cell), info

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take one of the actions stay, up, right, down, left (0 to 4)."""
        cell, reward, terminated, truncated, info = self.grid.step(action)
        return self._point(cell), reward, terminated, truncated, info

    def render(self) -> str | None:
        """Return the grid as text, with an A for the agent and a G for the goal; None without a render mode."""
        return self.grid.render()

    def latent(self, observations: np.ndarray) -> np.ndarray:
        """Return the true cell of each point: the oracle, for `encoders.Function(env.latent)`."""
        column, row = np.moveaxis(np.clip(np.floor(np.asarray(observations) * self.size), 0, self.size - 1), -1, 0)
        return (column + self.size * row).astype(np.int64)

    def rollout_cells(
        self,
        cell_policy: np.ndarray,
        episodes: int | None = None,
        steps: int | None = None,
        seed: int = 0,
        max_episode_steps: int | None = None,
    ) -> dict[str, np.ndarray]:
        """Return the columns of a log of this many episodes, or steps; the policy, (cells, actions), sees the cell."""
        limit = shortest(self.max_episode_steps, max_episode_steps)
        tables = self.grid.tables()
        columns = rollout(tables, cell_policy, episodes=episodes, steps=steps, seed=seed, max_episode_steps=limit)
        # An episode of n rows visits n + 1 points: a row's next point is the next row's own.
        position = np.arange(len(columns["episode"])) + columns["episode"]
        cells = np.empty(position[-1] + 2, dtype=np.int64)
        cells[position], cells[position + 1] = columns["observation"], columns["next_observation"]
        points = _points(cells, self.size, np.random.default_rng(spawn(seed, RECORDING, 1)))
        return {**columns, "observation": points[position], "next_observation": points[position + 1]}

    def many(self, n: int, seed: int) -> TableEpisodes:
        """Return n independent episodes that are stepped together, without the time limit."""
        rng = np.random.default_rng(seed)
        return TableEpisodes(self.grid.tables(), n, rng, lambda cells: _points(cells, self.size, rng))

    def _point(self, cell: int) -> np.ndarray:
        return _points(np.array(cell), self.size, self.np_random)


def _points(cells: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    row, column = np.divmod(cells, size)
    corner = np.array([column, row]).T
    return (corner + rng.uniform(MARGIN, 1 - MARGIN, corner.shape)) / size
