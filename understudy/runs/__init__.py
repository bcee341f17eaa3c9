"""Runs: a learner rehearses in a simulator, once or many times."""

from understudy.runs import backends, probes
from understudy.runs.about import About
from understudy.runs.encoded_log import EncodedLog, encode
from understudy.runs.env import gym_env, gym_envs
from understudy.runs.experiment import experiment
from understudy.runs.folder import load
from understudy.runs.loop import simulate
from understudy.runs.run import Run, Runs
from understudy.runs.setup import Cancelled
from understudy.runs.vector import vector_env
from understudy.runs.warm_starts import WarmStart, warm_start

__all__ = [
    "About",
    "Cancelled",
    "EncodedLog",
    "Run",
    "Runs",
    "WarmStart",
    "backends",
    "encode",
    "experiment",
    "gym_env",
    "gym_envs",
    "load",
    "probes",
    "simulate",
    "vector_env",
    "warm_start",
]
