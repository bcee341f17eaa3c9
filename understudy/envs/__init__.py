"""The recorder of environments, and the paper's grids: recorded and run by compiled code, and solved exactly."""

from understudy.envs.continuous import ContinuousGrid
from understudy.envs.counter import CounterGrid
from understudy.envs.finite import FiniteGrid
from understudy.envs.grid import Grid
from understudy.envs.history import HistoryGrid
from understudy.envs.noisy import NoisyGrid
from understudy.envs.recorder import record

__all__ = ["ContinuousGrid", "CounterGrid", "FiniteGrid", "Grid", "HistoryGrid", "NoisyGrid", "record"]
