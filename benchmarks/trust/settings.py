"""The problems that parts of this benchmark share: the paper's grid, its learners, and the truth about them."""

from functools import lru_cache

import numpy as np

import understudy as us
from understudy.contracts.finite_tables import Tables
from understudy.contracts.streams import spawn
from understudy.envs.finite import FiniteGrid

SLIPS = {"deterministic": 0.0, "slip": 0.3}
LEARNERS = {"Q-learning": us.learners.QLearning, "Expected SARSA": us.learners.ExpectedSarsa}
TRUE_RUNS = 5_000
QUIET = {"backend": "serial", "progress": False, "keep_rows": False}


@lru_cache(maxsize=8)
def grid(kind: str) -> us.envs.Grid:
    """The paper's grid of 5 x 5 cells; with "slip", three of ten actions are replaced by a random one."""
    return us.envs.Grid(5, slip=SLIPS[kind])


LAKE = "SFFFFHFHFFFHHFFG"
"""Gymnasium's FrozenLake of 4 x 4 cells: start, frozen, hole, goal."""


@lru_cache(maxsize=1)
def lake() -> FiniteGrid:
    """The slippery lake as tables, for compiled runs: a move goes one of three ways, and only the goal pays."""
    cells = np.arange(16)
    row, column = np.divmod(cells, 4)
    moves = [(0, -1), (1, 0), (0, 1), (-1, 0)]  # left, down, right, up
    landing = np.stack([4 * np.clip(row + r, 0, 3) + np.clip(column + c, 0, 3) for r, c in moves], axis=1)
    carried_out = (np.arange(4)[:, None] + [-1, 0, 1]) % 4
    next_state = landing[:, carried_out].astype(np.int32)  # (cells, actions, outcomes)
    ends = np.isin(list(LAKE), ["H", "G"])
    return FiniteGrid(
        4,
        Tables(
            start=np.ones(16),
            outcome=np.tile(np.array([1, 2, 3]) / 3, (16, 4, 1)),
            next_state=next_state,
            reward=(next_state == 15).astype(float),
            terminated=ends[next_state],
            emission=np.ones((16, 1)),
            observation=cells[:, None].astype(np.int32),
        ),
        max_episode_steps=100,
    )


def make_learner(name: str, epsilon: float = 0.9):
    """A function seed -> learner with the paper's settings."""
    kind = LEARNERS[name]
    return lambda seed: kind(25, 5, epsilon=epsilon, alpha=0.5, gamma=0.95, seed=seed)


def grid_probes(kind: str) -> dict:
    return {"start value": us.probes.start_value(grid(kind)), "episode return": us.probes.episode_returns}


def log_of(kind: str, episodes: int, number: int) -> us.Log:
    """Log `number` of a grid, of the uniform policy."""
    return us.record(grid(kind), episodes=episodes, seed=spawn(number, episodes, 77))


@lru_cache(maxsize=64)
def truth(kind: str, learner: str, every: int, max_steps: int, epsilon: float = 0.9) -> dict[str, np.ndarray]:
    """The mean and the standard deviation of each probe over real runs, (2, K)."""
    runs = us.experiment(
        us.real(grid(kind)), make_learner(learner, epsilon), runs=TRUE_RUNS, seed=1, max_steps=max_steps,
        probes=grid_probes(kind), every=every, **QUIET,
    )  # fmt: skip
    curves = {probe: runs.curve(probe)[1] for probe in runs.probes}
    return {probe: np.stack([np.nanmean(curve, axis=0), np.nanstd(curve, axis=0)]) for probe, curve in curves.items()}


def percent(share: float) -> str:
    return f"{100 * share:.1f}"
