"""The plain grid: the observation is the cell."""

import numpy as np

from understudy.envs.finite import FiniteGrid
from understudy.envs.grid_tables import grid_tables


class Grid(FiniteGrid):
    """A square grid, from its bottom left cell to its top right one: +1 on reaching it, -0.1 for any other step.

    Actions are stay, up, right, down, left; one that leads out of bounds stays. With probability `slip` an action is
    replaced by one drawn uniformly from all five.

    >>> env = Grid()
    >>> env.reset(seed=0)[0], env.step(1)[0]
    (0, 5)
    >>> float(env.optimal(gamma=1.0)[0].max().round(9))
    0.3
    """

    def __init__(
        self,
        size: int = 5,
        slip: float = 0.0,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.slip = slip
        tables = grid_tables(size, slip, following=np.zeros((1, 5), dtype=np.int64), opening=np.ones(1))
        super().__init__(size, tables, max_episode_steps=max_episode_steps, render_mode=render_mode)
