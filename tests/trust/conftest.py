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


@pytest.fixture(scope="session")
def logging_policy_runs():
    """The logging policy itself, as a learner, on twenty logs of 60 episodes, and on halves of each."""
    found = []
    for seed in range(20):
        simulator = us.qbe(us.record(us.envs.Grid(), episodes=60, seed=seed), stop="plain")
        found.append(us.halves(simulator, lambda seed: us.learners.Uniform(5), runs=10, seed=seed, progress=False))
    return found
