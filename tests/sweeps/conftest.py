"""A small log, learners and a sweep of them, for all to copy."""

import shutil

import pytest

import understudy as us


def q_learning(epsilon):
    return lambda seed: us.learners.QLearning(25, 5, epsilon=epsilon, seed=seed)


@pytest.fixture(scope="session")
def log():
    return us.record(us.envs.Grid(slip=0.1), episodes=40, seed=3)


@pytest.fixture(scope="session")
def settings():
    return {"max_steps": 60, "every": 20, "backend": "serial", "progress": False}


@pytest.fixture(scope="session")
def learners():
    return {"small": q_learning(0.1), "large": q_learning(0.9)}


@pytest.fixture(scope="session")
def made(log, learners, settings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep") / "out"
    us.sweep(learners, ["psrs", "qbe"], {"may": log}, out=folder, runs=6, **settings)
    return folder


@pytest.fixture
def copied(made, tmp_path):
    """The folder of a sweep of two learners and two simulators, six runs each."""
    shutil.copytree(made, tmp_path / "copied")
    return tmp_path / "copied"
