"""Logs, and comparisons of Q-learners on them."""

import pytest

import understudy as us


def q_learning(epsilon, **settings):
    """A function seed -> learner."""
    return lambda seed: us.learners.QLearning(25, 5, epsilon=epsilon, **{"gamma": 0.95, "seed": seed} | settings)


@pytest.fixture(scope="session")
def log():
    return us.record(us.envs.Grid(slip=0.2), episodes=100, seed=0)


@pytest.fixture(scope="session")
def learners():
    return {"often": q_learning(0.9), "seldom": q_learning(0.4)}


@pytest.fixture(scope="session")
def compared(log, learners):
    """Two learners that differ much, on a log of 100 episodes."""
    return us.compare(learners, us.psrs(log), runs=20, progress=False)
