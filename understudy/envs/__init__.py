"""The paper's grids: true environments that record logs, walk compiled, and solve themselves exactly."""

from understudy.envs.continuous import ContinuousGrid
from understudy.envs.counter import CounterGrid
from understudy.envs.finite import FiniteGrid
from understudy.envs.grid import Grid
from understudy.envs.history import HistoryGrid
from understudy.envs.noisy import NoisyGrid

__all__ = ["ContinuousGrid", "CounterGrid", "FiniteGrid", "Grid", "HistoryGrid", "NoisyGrid"]
