"""What a problem of the panel is learned in: its environment, how it is logged, and what its log shows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import gymnasium
import numpy as np
from scipy.spatial import cKDTree

import understudy as us
from benchmarks.beyond import cart
from understudy.contracts.finite_tables import Tables
from understudy.encoders import Function


@dataclass(frozen=True, eq=False)
class FiniteWorld:
    """A world of tables; a log shows codes of states, or with `shown` numbers that stand for each."""

    make_tables: Callable[[], Tables]
    soft: float = 1.0  # the logger takes the best action, or, with this probability, any
    limit: int | None = None  # steps after which an episode is cut off
    shown: Callable[[], np.ndarray] | None = None  # (states, d)

    encoder = None  # each distinct observation is a state of the simulator

    @cached_property
    def finite(self) -> us.envs.FiniteEnv:
        """The environment, whose observations are codes of states."""
        return us.envs.FiniteEnv(self.make_tables(), max_episode_steps=self.limit)

    @property
    def n_codes(self) -> int:
        """The number of rows of a learner's table."""
        return self.finite.n_observations

    @property
    def n_actions(self) -> int:
        return self.finite.n_actions

    @cached_property
    def numbers(self) -> np.ndarray | None:
        """What a log shows of each state; None where it shows the code."""
        return None if self.shown is None else self.shown()

    @property
    def has_numbers(self) -> bool:
        """True if distances between the log's observations mean something."""
        return self.shown is not None

    @cached_property
    def codes(self) -> Function | None:
        """The row of a learner's table for observations as the log has them."""
        if self.numbers is None:
            return None
        tree = cKDTree(self.numbers)
        return Function(lambda observations: tree.query(observations)[1])

    @cached_property
    def logger(self) -> np.ndarray:
        """The logging policy, (states, actions)."""
        best = self.finite.optimal(gamma=0.95).argmax(axis=1)
        return (1 - self.soft) * np.eye(self.n_actions)[best] + self.soft / self.n_actions

    def log(self, episodes: int, seed: int) -> us.Log:
        columns = self.finite.rollout(self.logger, episodes, seed)
        if self.numbers is not None:
            names = ("observation", "next_observation")
            columns |= {name: self.numbers[columns[name]] for name in names}
        return us.Log.from_columns(**columns, n_actions=self.n_actions)


@dataclass(frozen=True, eq=False)
class PointWorld:
    """The continuous grid, logged by the uniform policy. Observations never repeat.

    The simulator's states are boxes, three by three in each cell, which are right and needlessly small: a box of the
    same cell is truly alike, one across its border is not. The learner's table is of cells.
    """

    size: int
    slip: float
    limit: int

    soft, n_actions, has_numbers = 1.0, 5, True

    @cached_property
    def env(self) -> us.envs.ContinuousGrid:
        return us.envs.ContinuousGrid(self.size, self.slip, max_episode_steps=self.limit)

    @property
    def finite(self) -> us.envs.FiniteEnv:
        """The cells underneath, as a learner with a table of cells meets them."""
        return self.env.grid

    @property
    def n_codes(self) -> int:
        return self.size**2

    @cached_property
    def codes(self) -> Function:
        return Function(self.env.latent)

    @cached_property
    def encoder(self) -> us.encoders.Boxes:
        edges = np.arange(1, 3 * self.size) / (3 * self.size)
        return us.encoders.Boxes(edges=[edges.tolist()] * 2)

    def log(self, episodes: int, seed: int) -> us.Log:
        uniform = np.full((self.n_codes, self.n_actions), 1 / self.n_actions)
        columns = self.env.rollout_cells(uniform, episodes=episodes, seed=seed)
        return us.Log.from_columns(**columns, n_actions=self.n_actions)


@dataclass(frozen=True, eq=False)
class CartWorld:
    """Gymnasium's CartPole. Observations never repeat, and each is a state of the simulator by itself.

    The logger pushes to the side that the pole falls to, or, with probability `soft`, to any; so it sees less of a
    pole about to fall than a beginner does.
    """

    soft: float

    encoder, n_codes, n_actions, limit, has_numbers = None, cart.N_BOXES, 2, cart.LIMIT, True

    @cached_property
    def env(self) -> gymnasium.Env:
        return gymnasium.make("CartPole-v1")

    @cached_property
    def codes(self) -> us.encoders.Boxes:
        return cart.boxes()

    def log(self, episodes: int, seed: int) -> us.Log:
        return cart.record_cart(episodes, seed, self.soft)
