"""The recorder of environments, the paper's grids, which are run by compiled code and solved exactly, and bandits."""

from understudy.envs.bandits import BernoulliBandit, LinearBandit
from understudy.envs.continuous import ContinuousGrid
from understudy.envs.counter import CounterGrid
from understudy.envs.finite import FiniteEnv, FiniteGrid
from understudy.envs.grid import Grid
from understudy.envs.history import HistoryGrid
from understudy.envs.noisy import NoisyGrid
from understudy.envs.recorder import record
from understudy.envs.weather import WeatherGrid

__all__ = [
    "BernoulliBandit", "ContinuousGrid", "CounterGrid", "FiniteEnv", "FiniteGrid", "Grid", "HistoryGrid",
    "LinearBandit", "NoisyGrid", "WeatherGrid", "record",
]  # fmt: skip
