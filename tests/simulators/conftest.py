"""Small worlds to log, a loop to run, and a reference to compare with."""

import importlib.util
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from understudy.contracts import Exhausted
from understudy.encoders import Function
from understudy.logs import Log


def module(name):
    """Return a module that lies beside this one and has no tests."""
    spec = importlib.util.spec_from_file_location(f"tests_simulators_{name}", Path(__file__).with_name(f"{name}.py"))
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


class Trace(NamedTuple):
    rows: list
    openings: list
    steps: list
    stop: object


def play(simulator, policy_at, seed, max_steps=10**6):
    """Run to the end of the log, or so many steps; `policy_at(step number, observation)`."""
    rehearsal, steps, openings, over = simulator.start(seed), [], [], True
    try:
        while len(steps) < max_steps:
            if over:
                observation = rehearsal.begin()
                openings.append(rehearsal.opening)
            step = rehearsal.step(policy_at(len(steps), observation))
            steps.append(step)
            observation, over = step.next_observation, step.terminated or step.truncated
    except Exhausted:
        pass
    return Trace([step.row for step in steps], openings, steps, rehearsal.stop())


def random_columns(seed, episodes=15, n_observations=8, n_actions=3, zeros=True):
    """Columns of a log in which nothing is regular: each row has a propensity vector of its own."""
    rng = np.random.default_rng(seed)
    often = np.where(np.arange(n_observations) == 6, 0.1, 1.0)  # that one has no state: runs end there
    often, rows = often / often.sum(), []
    for episode in range(episodes):
        ending, x = rng.choice(3, p=[0.6, 0.2, 0.2]), rng.choice(n_observations, p=often)
        length = rng.integers(1, 12)
        for step in range(length):
            p = rng.dirichlet(np.ones(n_actions))
            if zeros and rng.random() < 0.2:
                p = np.where(np.arange(n_actions) == rng.integers(n_actions), 0.0, p)
            p, following, last = p / p.sum(), rng.choice(n_observations, p=often), step == length - 1
            action = int((p.cumsum() <= rng.random() * p.sum()).sum())
            rows.append((x, action, rng.normal(), following, last and ending == 0, last and ending == 1, episode, p))
            x = following
    names = ["observation", "action", "reward", "next_observation", "terminated", "truncated", "episode", "propensity"]
    return {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def random_log(seed, **options):
    return Log.from_columns(**random_columns(seed, **options))


def table(seed, n_actions=3, size=11, zeros=True):
    """A policy that changes with the step and the observation."""
    rng = np.random.default_rng(seed)
    policies = rng.dirichlet(np.ones(n_actions), size=size)
    if zeros:
        policies[::4] = np.eye(n_actions)[rng.integers(n_actions, size=len(policies[::4]))]
    return lambda step, observation: policies[(5 * step + int(observation)) % size]


def bandit(action, propensity, observation=None):
    """A log of one-step episodes; they all lead to observation 0, and are over."""
    n = len(action)
    observation = np.zeros(n, int) if observation is None else observation
    return Log.from_columns(
        observation=observation, action=action, reward=np.zeros(n), next_observation=np.zeros(n, int),
        terminated=np.ones(n, bool), episode=np.arange(n), propensity=propensity,
    )  # fmt: skip


def walk_log(*paths, action=None, n_actions=2, **columns):
    """A log of paths through integer observations under a uniform policy; each is terminated, unless said otherwise."""
    lengths = [len(path) - 1 for path in paths]
    n = sum(lengths)
    last = np.zeros(n, bool)
    last[np.cumsum(lengths) - 1] = True
    made = {
        "observation": np.concatenate([path[:-1] for path in paths]),
        "next_observation": np.concatenate([path[1:] for path in paths]),
        "action": np.zeros(n, int) if action is None else action,
        "reward": np.arange(n, dtype=float),
        "terminated": last,
        "episode": np.repeat(np.arange(len(paths)), lengths),
        "propensity": np.full((n, n_actions), 1 / n_actions),
    }
    return Log.from_columns(**(made | columns))


MERGE = Function(lambda x: np.array([0, 1, 2, 0, 1, 5, -1, 3])[x])
"""Eight observations as five states: two of them merged, one renumbered, one without any."""


def handed_out(name, helper):
    """A fixture that is one of the helpers above."""
    return pytest.fixture(scope="session", name=name)(lambda: helper)


_play, _table, _merge = handed_out("play", play), handed_out("table", table), handed_out("merge", MERGE)
_random_log, _random_columns = handed_out("random_log", random_log), handed_out("random_columns", random_columns)
_bandit, _walk_log = handed_out("bandit", bandit), handed_out("walk_log", walk_log)


@pytest.fixture(scope="session")
def reference():
    return module("reference").Reference


@pytest.fixture(scope="session")
def model_reference():
    return module("reference").ModelReference


@pytest.fixture(scope="session")
def trajectories():
    return module("trajectories")
