import numpy as np
import pytest

import understudy as us
from benchmarks.beyond.traces import TracedQLearning

SETTINGS = {"epsilon": 0.2, "alpha": 0.1, "gamma": 0.95}


@pytest.fixture(scope="module")
def log():
    return us.record(us.envs.Grid(5, slip=0.3), episodes=30, seed=0)


def last_values(log, make, **options):
    """The rows of a run with cut episodes, and the values learned."""
    learner = make(3)
    run = us.simulate(us.qbe(log, then="cut", max_cut=0.5), learner, 3, **options)
    assert len(run.cuts) > 3
    return run.rows, learner.q


@pytest.mark.parametrize("hears", [True, False])
def test_without_a_trace_it_is_q_learning_whether_it_is_told_of_cuts_or_not(log, hears):
    """So telling of cuts makes no difference to Q-learning."""
    rows, q = last_values(log, lambda seed: TracedQLearning(25, 5, decay=0.0, hears=hears, seed=seed, **SETTINGS))
    expected_rows, expected = last_values(log, lambda seed: us.learners.QLearning(25, 5, seed=seed, **SETTINGS))
    assert (rows == expected_rows).all()
    assert np.allclose(q, expected, rtol=0, atol=1e-12)


def test_with_a_trace_telling_makes_a_difference(log):
    told, silent = (
        last_values(
            log, lambda seed, hears=hears: TracedQLearning(25, 5, decay=0.8, hears=hears, seed=seed, **SETTINGS)
        )
        for hears in (True, False)
    )
    assert not np.array_equal(told[0], silent[0])


@pytest.mark.parametrize("hears", [True, False])
def test_compiled_and_plain_runs_are_the_same(log, hears):
    def make(seed):
        return TracedQLearning(25, 5, decay=0.8, hears=hears, seed=seed, **SETTINGS)

    compiled, plain = last_values(log, make), last_values(log, make, compiled=False)
    assert (compiled[0] == plain[0]).all()
    assert (compiled[1] == plain[1]).all()


def test_an_error_moves_all_values_of_the_trace():
    learner = TracedQLearning(3, 2, decay=0.5, hears=True, seed=0, **SETTINGS)
    learner.learn(us.Step(0, 1, 0.0, 1, False, False))
    learner.learn(us.Step(1, 0, 1.0, 2, True, False))
    assert learner.q[1, 0] == pytest.approx(0.1)
    assert learner.q[0, 1] == pytest.approx(0.1 * 0.95 * 0.5)
