"""Runs: a learner meets the history that a simulator serves it, once or many times."""

from understudy.runs import probes
from understudy.runs.experiment import experiment
from understudy.runs.folder import load
from understudy.runs.loop import simulate
from understudy.runs.run import Run, Runs

__all__ = ["Run", "Runs", "experiment", "load", "probes", "simulate"]
