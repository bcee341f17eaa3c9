"""The grid with noise bits: the observation is the cell and bits that mean nothing."""

import numpy as np

from understudy.envs.finite import FiniteGrid
from understudy.envs.grid_tables import grid_tables
from understudy.errors import SettingError


class NoisyGrid(FiniteGrid):
    """`Grid`, observed as `cell + cells * noise`, the noise being fair bits drawn afresh at every observation.

    >>> env = NoisyGrid(bits=4)
    >>> env.n_observations, env.latent(np.array([24, 25, 399])).tolist()
    (400, [24, 0, 24])
    """

    def __init__(
        self,
        bits: int = 4,
        *,
        size: int = 5,
        slip: float = 0.0,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if not 0 <= bits <= 16:
            raise SettingError(f"bits is {bits}; there are 0 to 16 of them")
        self.bits, self.slip = bits, slip
        tables = grid_tables(
            size, slip, following=np.zeros((1, 5), dtype=np.int64), opening=np.ones(1), n_emissions=2**bits
        )
        super().__init__(size, tables, max_episode_steps=max_episode_steps, render_mode=render_mode)
