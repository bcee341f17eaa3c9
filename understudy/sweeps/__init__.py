"""Sweeps: combinations of learners, simulators, encoders and logs, in one results folder of tables."""

from understudy.sweeps.comparing import SweepComparison
from understudy.sweeps.loaded import Sweep, load_sweep
from understudy.sweeps.sweeping import sweep

__all__ = ["Sweep", "SweepComparison", "load_sweep", "sweep"]
