"""The panel: problems with known truth, how they are logged, and the learners whose curves are to be foretold."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import understudy as us
from benchmarks.beyond import cart, tables
from benchmarks.beyond.worlds import CartWorld, FiniteWorld, PointWorld
from understudy.contracts.streams import spawn

WINDOWS = 8
PROBE = "episode return"
LOGS_OF_PANEL = 79
"""A part of the seeds of logs: no other benchmark has the same ones."""

LIKE, STEADY = "like states", "steady outcomes"
"""Neighbors lead on to neighbors; a state and action lead on to one outcome, or nearly so. Both by construction."""

QUIET = {"backend": "serial", "progress": False, "keep_rows": False}


@dataclass(frozen=True, eq=False)
class Problem:
    """A world, a learner on it, and logs of three sizes: 0 is the small, 1 the middle and 2 the large one.

    The curve to be foretold is what an episode earns, over the episodes that end in each of eight windows of a run. On
    smaller logs runs are shorter, so that a window is not much longer than what the log can answer exactly.
    """

    world: FiniteWorld | PointWorld | CartWorld
    sizes: tuple[int, int, int]  # episodes of a log
    steps: tuple[int, int, int]  # of a run on it
    learner: Mapping[str, Any]  # arguments of `QLearning`, or of `PPO`
    ppo: bool = False
    unit: float = 0.0  # the least margin, in what an episode earns, where the true curve is flat
    gain: str = ""  # why much longer runs than exact ones could be right: LIKE or STEADY; "" where nothing says so

    def window(self, size: int) -> int:
        """Return the number of steps of a window of runs on a log of this size."""
        return self.steps[size] // WINDOWS

    def reading(self, size: int) -> dict[str, Any]:
        """Return the arguments of an experiment that reads the curve."""
        probes = {PROBE: us.probes.episode_returns}
        return {"max_steps": self.steps[size], "every": self.window(size), "probes": probes, **QUIET}

    @property
    def true_runs(self) -> int:
        """How many real runs the truth is the mean of: networks are slow, tables are not."""
        return 200 if self.ppo else 4_000

    def log(self, size: int, number: int) -> us.Log:
        """Return log `number` of a size: other numbers are other logs of the same law.

        The time limit is known, as it is to users, also where no logged episode happened to reach it.
        """
        log = self.world.log(self.sizes[size], spawn(number, size, LOGS_OF_PANEL))
        return replace(log, max_episode_steps=self.world.limit)

    def make(self, seed: int) -> us.learners.QLearning | us.learners.PPO:
        """Return a learner for observations as the log has them."""
        if self.ppo:
            return us.learners.PPO(self.world.env, seed=seed, **self.learner)
        sizes = (self.world.n_codes, self.world.n_actions)
        return us.learners.QLearning(*sizes, encoder=self.world.codes, seed=seed, **self.learner)

    def true_curves(self, size: int, runs: int, seed: int = 1) -> np.ndarray:
        """Return the curves of real runs in the windows of a log's size, (runs, windows)."""
        return self.real_curves(self.window(size), WINDOWS, runs, seed)

    def real_curves(self, every: int, windows: int, runs: int, seed: int = 1) -> np.ndarray:
        """Return the curves of real runs, (runs, windows); NaN where no episode ended in a window of so many steps."""
        if not self.ppo and isinstance(self.world, CartWorld):
            return cart.true_curves(self.make, runs, seed, every, windows)
        env, make = (self.world.env, self.make) if self.ppo else (self.world.finite, self._make_on_codes)
        reading = {"max_steps": every * windows, "every": every, "probes": {PROBE: us.probes.episode_returns}}
        return us.experiment(us.real(env), make, runs=runs, seed=seed, **reading, **QUIET).curve(PROBE)[1]

    def _make_on_codes(self, seed: int) -> us.learners.QLearning:
        """Return the learner of a world that shows the rows of its table, so that real runs are compiled."""
        return us.learners.QLearning(self.world.n_codes, self.world.n_actions, seed=seed, **self.learner)

    @cached_property
    def words(self) -> str:
        """The learner in words."""
        if self.ppo:
            return f"PPO, epochs of {self.learner['epoch_steps']:,}"
        shown = " ".join(f"{name} {self.learner[name]:g}".replace("0.", ".") for name in ("epsilon", "alpha", "gamma"))
        return f"Q, {shown}"


NETWORKS = {"epoch_steps": 1_000, "policy_rate": 3e-3, "value_rate": 3e-3} | dict.fromkeys(
    ("policy_iterations", "value_iterations"), 20
)
"""PPO with larger steps than the paper's, so that it learns in runs that a table of many cases can afford."""


def q(epsilon: float, alpha: float, gamma: float) -> dict[str, float]:
    return {"epsilon": epsilon, "alpha": alpha, "gamma": gamma}


PANEL = {
    "slip grid": Problem(
        FiniteWorld(lambda: us.envs.Grid(5, slip=0.3).tables(), limit=100),
        sizes=(10, 30, 100), steps=(1_000, 2_000, 4_000), learner=q(0.2, 0.1, 0.95),
    ),
    "FrozenLake": Problem(
        FiniteWorld(tables.frozen_lake, limit=100),
        sizes=(200, 1_000, 5_000), steps=(2_400, 10_000, 40_000), learner=q(0.1, 0.1, 0.99),
    ),
    "CliffWalking": Problem(
        FiniteWorld(tables.cliff_walking, limit=200),
        sizes=(30, 100, 300), steps=(4_000, 10_000, 40_000), learner=q(0.1, 0.2, 0.95),
    ),
    "Taxi": Problem(
        FiniteWorld(tables.taxi, limit=200),
        sizes=(100, 200, 400), steps=(4_000, 10_000, 40_000), learner=q(0.1, 0.5, 0.95), gain=STEADY,
    ),
    "treatment": Problem(
        FiniteWorld(tables.treatment, soft=0.5),
        sizes=(5_000, 20_000, 80_000), steps=(4_000, 8_000, 16_000), learner=q(0.1, 0.2, 1.0), unit=0.03, gain=LIKE,
    ),
    "inventory": Problem(
        FiniteWorld(tables.inventory, limit=50, shown=tables.stock),
        sizes=(30, 100, 300), steps=(1_600, 4_000, 16_000), learner=q(0.1, 0.1, 0.9), gain=LIKE,
    ),
    "two servers": Problem(
        FiniteWorld(tables.two_servers, limit=100, shown=tables.lines),
        sizes=(100, 300, 1_000), steps=(4_000, 8_000, 16_000), learner=q(0.1, 0.1, 0.9), gain=LIKE,
    ),
    "maintenance": Problem(
        FiniteWorld(tables.maintenance, soft=0.5, limit=60, shown=tables.wear_and_load),
        sizes=(100, 300, 1_000), steps=(2_000, 4_000, 8_000), learner=q(0.1, 0.05, 0.9), gain=LIKE,
    ),
    "navigation": Problem(
        FiniteWorld(tables.navigation, soft=0.9, limit=300, shown=tables.position),
        sizes=(100, 300, 1_000), steps=(8_000, 24_000, 60_000), learner=q(0.2, 0.5, 0.95), gain=LIKE,
    ),
    "hill car": Problem(
        FiniteWorld(tables.hill_car, soft=0.8, limit=60, shown=tables.place_and_speed),
        sizes=(300, 1_000, 3_000), steps=(4_000, 16_000, 40_000), learner=q(0.1, 0.5, 0.99), gain=LIKE,
    ),
    "continuous grid": Problem(
        PointWorld(8, 0.1, limit=200),
        sizes=(50, 100, 300), steps=(4_000, 8_000, 8_000), learner=q(0.2, 0.2, 0.95), gain=LIKE,
    ),
    "CartPole": Problem(
        CartWorld(0.7),
        sizes=(100, 300, 1_000), steps=(4_000, 10_000, 40_000), learner=q(0.1, 0.2, 0.99), gain=LIKE,
    ),
    "continuous grid, PPO": Problem(
        PointWorld(5, 0.0, limit=100),
        sizes=(50, 100, 300), steps=(16_000, 16_000, 16_000), learner=NETWORKS, ppo=True, gain=STEADY,
    ),
    "CartPole, PPO": Problem(
        CartWorld(0.7),
        sizes=(100, 300, 1_000), steps=(16_000, 16_000, 16_000), learner=NETWORKS, ppo=True, gain=LIKE,
    ),
}  # fmt: skip


def sized_cases() -> dict[str, tuple[str, int]]:
    """Return each problem with each size of its log, by the name of that case."""
    return {
        f"{name}: {episodes:,}": (name, size)
        for name, problem in PANEL.items()
        for size, episodes in enumerate(problem.sizes)
    }
