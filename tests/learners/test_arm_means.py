"""Means of rewards, in compiled and in plain Python code: equal to NumPy's, and to each other row for row."""

import numpy as np
import pytest

import understudy as us
from tests.learners.references import PlainMeans
from understudy.contracts import Step
from understudy.learners import UCB1, EpsilonGreedy, Linear, Thompson

RNG = np.random.default_rng(3)
LOG = us.Log.from_columns(
    observation=RNG.integers(6, size=800), action=RNG.integers(3, size=800), reward=RNG.integers(2, size=800),
    propensity=np.full((800, 3), 1 / 3), ends="every-row",
)  # fmt: skip
LEARNERS = {
    "epsilon-greedy": lambda seed, **table: EpsilonGreedy(3, epsilon=Linear(1.0, 0.1, steps=50), seed=seed, **table),
    "with a step size": lambda seed, **table: EpsilonGreedy(3, alpha=0.2, initial=0.5, seed=seed, **table),
    "ucb1": lambda seed, **table: UCB1(3, seed=seed, **table),
    "bernoulli": lambda seed, **table: Thompson(3, seed=seed, **table),
    "gaussian": lambda seed, **table: Thompson(3, reward="gaussian", noise=0.5, seed=seed, **table),
}


def step(action, reward, observation=0):
    return Step(observation, action, reward, observation, True, False)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("table", [{}, {"n_observations": 6}], ids=["ignoring observations", "a table"])
def test_compiled_and_plain_runs_are_the_same(name, table):
    compiled, plain = (LEARNERS[name](5, **table) for _ in range(2))
    one = us.simulate(us.qbe(LOG), compiled, 1, compiled=True)
    other = us.simulate(us.qbe(LOG), plain, 1, compiled=False)
    assert len(one) > 100
    assert np.array_equal(one.rows, other.rows)
    assert np.array_equal(compiled.means, plain.means)
    assert compiled.counts.shape == (table.get("n_observations", 1), 3)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "with a step size"])
def test_means_are_those_of_numpy(name):
    learner, plain = LEARNERS[name](0), PlainMeans(3)
    for _ in range(300):
        action, reward = int(learner.policy(0).argmax()), float(RNG.integers(2))
        learner.learn(step(action, reward))
        plain.learn(action, reward)
        assert np.allclose(learner.means[0], plain.mean)
    assert np.array_equal(learner.counts[0], plain.taken)
    assert learner.value(0) == pytest.approx(plain.mean.max())
    assert learner.values(np.zeros(2)) == pytest.approx(plain.mean.max())


def test_a_step_size_forgets():
    learner = EpsilonGreedy(2, alpha=0.25, initial=1.0)
    for reward in (3.0, 5.0):
        learner.learn(step(1, reward))
    assert learner.means[0].tolist() == [1.0, 0.25 * 5 + 0.75 * (0.25 * 3 + 0.75)]


def test_rows_of_a_table_do_not_touch_each_other():
    learner = UCB1(2, n_observations=3)
    learner.learn(step(1, 4.0, observation=2))
    assert learner.counts.tolist() == [[0, 0], [0, 0], [0, 1]]
    assert learner.values([0, 2]).tolist() == [0.0, 4.0]


def test_a_schedule_of_python_gives_the_same_policies_and_is_not_compiled():
    ours, own = (
        EpsilonGreedy(3, epsilon=epsilon, seed=1) for epsilon in (Linear(1, 0, 20), lambda n: 1 - min(n, 20) / 20)
    )
    for n in range(30):
        assert ours.policy(0) == pytest.approx(own.policy(0))
        for learner in (ours, own):
            learner.learn(step(n % 3, 1.0))
    assert ours.arrays() is not None
    assert own.arrays() is None
