"""Small worlds, learners for them, and what it means that two runs are the same."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest

from understudy.envs import NoisyGrid
from understudy.learners import QLearning
from understudy.logs import Log

GRID = NoisyGrid(1, size=3, slip=0.2)
LOG = Log.from_columns(**GRID.rollout(np.full((GRID.n_observations, 5), 0.2), 60, seed=0))


@pytest.fixture(scope="session")
def grid():
    """Nine cells seen as 18 observations; five actions."""
    return GRID


@pytest.fixture(scope="session")
def log():
    """Sixty episodes of the grid, acting evenly."""
    return LOG


@pytest.fixture(scope="session")
def make():
    """A learner that compiles."""
    return lambda seed: QLearning(18, 5, epsilon=0.5, seed=seed)


@pytest.fixture(scope="session")
def make_plain():
    """The same learner with a schedule that only Python knows, so that it runs in the Python loop."""
    return lambda seed: QLearning(18, 5, epsilon=lambda step: 0.5, seed=seed)


@pytest.fixture(scope="session")
def assert_same():
    return _assert_same


def _assert_same(one, other):
    """Two runs are equal in everything that a run is."""
    assert one.seed == other.seed
    assert one.stopped == other.stopped
    assert one.partial == other.partial
    assert (one.emissions is None) == (other.emissions is None)
    for name in ("rows", "openings", "emissions", "ends", "returns", "steps", "rungs", "cuts"):
        ours, theirs = getattr(one, name), getattr(other, name)
        if ours is not None:
            np.testing.assert_array_equal(ours, theirs, err_msg=name, strict=True)
    assert list(one.curves) == list(other.curves)
    assert list(one.final) == list(other.final)
    for name in one.curves:
        np.testing.assert_array_equal(one.curves[name], other.curves[name], err_msg=name, strict=True)
        np.testing.assert_array_equal(one.final[name], other.final[name], err_msg=name)


@pytest.fixture(scope="session")
def assert_same_runs():
    def check(some, others):
        assert len(some) == len(others)
        for one, other in zip(some, others, strict=True):
            _assert_same(one, other)

    return check


@pytest.fixture
def script(tmp_path):
    """Starts Python on a text, in a process group of its own; ended with the test."""
    started = []

    def start(text, *arguments):
        path = tmp_path / "script.py"
        path.write_text(textwrap.dedent(text))
        process = subprocess.Popen(
            [sys.executable, "-W", "error", path, *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
