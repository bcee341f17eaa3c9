"""The grid with a memory: the observation is the cell and the last actions."""

import numpy as np

from understudy.envs.finite import FiniteGrid
from understudy.envs.grid_tables import grid_tables
from understudy.errors import SettingError


class HistoryGrid(FiniteGrid):
    """`Grid`, observed as `cell + cells * history`: the last `length` chosen actions, as digits in base 6.

    The latest action is the lowest digit. A digit is the action plus one; 0 is "no action yet".

    >>> env = HistoryGrid(length=2)
    >>> env.n_observations, env.reset(seed=0)[0], env.step(2)[0], env.step(1)[0]
    (900, 0, 76, 506)
    >>> divmod(506, 25), divmod(20, 6)  # in cell 6, after right (2 + 1) and then up (1 + 1)
    ((20, 6), (3, 2))
    """

    def __init__(
        self,
        length: int = 2,
        *,
        size: int = 5,
        slip: float = 0.0,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if not 0 <= length <= 4:
            raise SettingError(f"length is {length}; a history of 0 to 4 actions can be written out")
        self.length, self.slip = length, slip
        history, action = np.ogrid[: 6**length, :5]
        following = (6 * history + action + 1) % 6**length
        tables = grid_tables(size, slip, following, opening=np.arange(6**length) == 0)
        super().__init__(size, tables, max_episode_steps=max_episode_steps, render_mode=render_mode)
