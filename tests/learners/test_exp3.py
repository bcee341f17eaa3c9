"""Exp3: its probabilities, which NumPy computes as the paper writes them."""

import numpy as np
import pytest

import understudy as us
from tests.learners.references import PlainExp3
from understudy.contracts import Step
from understudy.errors import SettingError
from understudy.learners import Exp3, Harmonic
from understudy.testing import check_learner

LOG = us.record(us.envs.BernoulliBandit([0.2, 0.7, 0.5]), episodes=1500, seed=4)


def step(action, reward, observation=0):
    return Step(observation, action, reward, observation, True, False)


def test_it_keeps_the_promises_of_learners():
    assert any("compiled form" in rule for rule in check_learner(lambda seed: Exp3(3, seed=seed), LOG).rules)


def test_probabilities_are_those_of_the_paper():
    learner, plain, rng = Exp3(4, epsilon=0.3), PlainExp3(4, 0.3), np.random.default_rng(1)
    for _ in range(600):
        assert learner.policy(0) == pytest.approx(plain.policy(), abs=1e-12)
        action = int(rng.integers(4))
        reward = float(rng.random() * (0.2 + 0.8 * (action == 2)))
        learner.learn(step(action, reward))
        plain.learn(action, reward)
    assert learner.policy(0).max() > 0.5


def test_by_hand():
    learner = Exp3(2, epsilon=0.5, reward_range=(0, 4))
    learner.learn(step(1, 2.0))  # scaled .5, over probability .5, times .5 / 2: the logarithm grows by .25
    share = np.exp(0.25) / (1 + np.exp(0.25))
    assert learner.policy(0)[1] == pytest.approx(0.5 * share + 0.25)


def test_weights_do_not_overflow():
    learner = Exp3(2, epsilon=1.0)
    for _ in range(5000):
        learner.learn(step(0, 1.0))
    assert np.isfinite(learner.policy(0)).all()
    assert learner.learned_state["log_weight"].max() == 0.0


def test_a_schedule_of_epsilon_and_a_table():
    learner = Exp3(2, n_observations=2, epsilon=Harmonic(1.0, pace=1))
    assert learner.policy(0).tolist() == [0.5, 0.5]
    learner.learn(step(0, 1.0, observation=1))
    assert learner.policy(0).tolist() == [0.5, 0.5]
    assert learner.policy(1)[0] > 0.5


def test_rewards_outside_of_the_range_are_refused():
    with pytest.raises(SettingError, match="Exp3 takes rewards from 0 to 1"):
        Exp3(2).learn(step(0, 2.0))
    with pytest.raises(SettingError, match="epsilon"):
        Exp3(2, epsilon=2.0)
