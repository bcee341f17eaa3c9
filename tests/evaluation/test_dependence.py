import numpy as np
import pytest

import understudy as us
from understudy.evaluation.dependence import dependence_of_episodes


def log_of(returns):
    """A log of one-step episodes with these returns."""
    zeros = np.zeros(len(returns), int)
    return us.Log.from_columns(observation=zeros, action=zeros, reward=returns, ends="every-row")


def test_independent_episodes_raise_no_alarm():
    """2,000 logs of skewed returns, each with a chance of 1 in 15,000 of an alarm: more than 3 have odds of 1e-5."""
    rng = np.random.default_rng(0)
    alarms = sum(dependence_of_episodes(log_of(rng.exponential(size=100))) is not None for _ in range(2000))
    assert alarms <= 3


@pytest.mark.parametrize("kind", ["walk", "blocks", "trend"])
def test_neighbors_that_are_alike_are_found(kind):
    rng = np.random.default_rng(1)
    noise = rng.standard_normal(300)
    returns = {
        "walk": np.convolve(noise, 0.7 ** np.arange(20))[:300],
        "blocks": noise + 2 * np.repeat(rng.standard_normal(30), 10),  # ten episodes of each user
        "trend": noise + np.linspace(0, 3, 300),
    }[kind]
    assert "returns of episodes that follow each other" in dependence_of_episodes(log_of(returns))


def test_a_recorded_log_is_fine_and_a_short_one_is_not_judged():
    assert dependence_of_episodes(us.record(us.envs.Grid(), episodes=300, seed=0)) is None
    assert dependence_of_episodes(log_of(np.arange(10.0))) is None


def test_halves_say_it():
    log = log_of(np.linspace(0, 3, 60) + np.random.default_rng(2).standard_normal(60) / 9)
    found = us.halves(us.qbe(log), lambda seed: us.learners.Uniform(1), runs=2, halves=5, progress=False)
    assert "alike" in found.note
    assert found.note in str(found)
