"""The example script runs, on a log and in the true grid, and learns."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.distributions import Categorical

import understudy as us

PATH = Path(__file__).parents[2] / "examples" / "cleanrl_ppo.py"


@pytest.fixture(scope="module")
def example():
    n = torch.get_num_threads()
    torch.set_num_threads(1)
    spec = importlib.util.spec_from_file_location("cleanrl_ppo", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    torch.set_num_threads(n)


@pytest.mark.parametrize("where", ["log", "grid"])
def test_the_script_learns_on_a_log_as_in_the_grid(example, where):
    grid = us.envs.Grid(size=3, slip=0.1)
    simulator = us.psrs(us.record(grid, episodes=1500, seed=0)) if where == "log" else us.real(grid)
    original = Categorical.sample
    probes = {"worth": lambda agent: grid.values(agent.policies(np.arange(9)), 0.9)[0]}
    learner = us.learners.script(example.rehearse, total_steps=2048, n_steps=32)(0)
    run = us.simulate(simulator, learner, seed=0, max_steps=2048, probes=probes, every=1024)
    assert len(run) == 2048
    assert run.final["worth"] > run.curves["worth"][0] > -0.7  # a random walk is worth -.87
    assert run.final["worth"] > 0.1  # the best is worth about .3
    assert Categorical.sample is original
    if where == "log":
        assert len(np.unique(run.rows)) == len(run)


def test_the_script_is_unwound_where_the_log_ends(example):
    log = us.record(us.envs.Grid(size=3, slip=0.1), episodes=10, seed=0)
    run = us.simulate(us.psrs(log), us.learners.script(example.rehearse)(0), seed=0)
    assert 0 < len(run) < len(log)
    assert len(run) % 4 == 0
    assert run.stopped.cause != "learner ended"
