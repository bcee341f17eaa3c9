"""The grid with a modulo counter: part of the observation does not depend on what the agent does."""

import numpy as np

from understudy.envs.finite import FiniteGrid
from understudy.envs.grid_tables import grid_tables, rewards
from understudy.errors import SettingError


class CounterGrid(FiniteGrid):
    """`Grid`, observed as `cell + cells * counter`: drawn uniformly at reset, one more (modulo `period`) at each step.

    `split`, `merge` and `reward` are the oracles that simulating an exogenous process asks for.

    >>> env = CounterGrid(period=32)
    >>> cell, counter = env.split(np.array([3 + 25 * 31]))
    >>> env.merge(cell, (counter + 1) % 32), env.reward(cell, counter)
    (array([3]), array([-0.1]))
    """

    def __init__(
        self,
        period: int = 32,
        *,
        size: int = 5,
        slip: float = 0.0,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if period < 1:
            raise SettingError(f"period is {period}; it is at least 1")
        self.period, self.slip = period, slip
        following = np.tile((np.arange(period)[:, None] + 1) % period, (1, 5))
        tables = grid_tables(size, slip, following, opening=np.full(period, 1 / period))
        super().__init__(size, tables, max_episode_steps=max_episode_steps, render_mode=render_mode)

    def split(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the cell and the counter in each observation (f in the paper)."""
        counter, cell = np.divmod(np.asarray(observations, dtype=np.int64), self.n_cells)
        return cell, counter

    def merge(self, cell: np.ndarray, counter: np.ndarray) -> np.ndarray:
        """Return the observations of cells and counters: the inverse of `split`."""
        return np.asarray(cell, dtype=np.int64) + self.n_cells * np.asarray(counter, dtype=np.int64)

    def reward(self, cell: np.ndarray, counter: np.ndarray) -> np.ndarray:
        """Return the expected reward of a step that reaches a cell and a counter (g in the paper)."""
        return rewards(np.broadcast_arrays(cell, counter)[0], self.size)
