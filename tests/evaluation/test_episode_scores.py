import numpy as np
import pytest

from understudy.envs import Grid, record
from understudy.evaluation.episode_scores import Policies, chosen_propensity, policies_at, product_so_far, scores
from understudy.learners import QLearning


def test_self_normalized_weights_of_several_steps_follow_the_formula():
    log = record(Grid(3, slip=0.2), episodes=30, seed=0)
    target = np.full(5, 0.2) + 0.1 * np.array([1, -1, 0, 0, 0])
    ratio = target[log.action] / chosen_propensity(log)
    weight = product_so_far(ratio, log.starts)
    longest = np.diff(log.starts).max()
    value = 0.0
    for step in range(longest):
        above = below = 0.0
        for first, end in zip(log.starts[:-1], log.starts[1:], strict=True):
            row = min(first + step, end - 1)
            below += weight[row]
            above += weight[row] * log.reward[row] * (first + step < end)
        value += 0.9**step * above / below
    found = scores(log, Policies.of(log, target), np.arange(30) % 5, 0.9).by_estimator
    assert found["SNIPS"].mean() == pytest.approx(value)
    assert found["IPS"].mean() == pytest.approx((weight * log.reward * 0.9**log.step).sum() / 30)


def test_weights_are_products_within_each_episode():
    log = record(Grid(3), episodes=20, seed=0)
    ratio = np.random.default_rng(0).uniform(0, 2, len(log))
    found = product_so_far(ratio, log.starts)
    for first, end in zip(log.starts[:-1], log.starts[1:], strict=True):
        assert found[first:end] == pytest.approx(np.cumprod(ratio[first:end]))


def test_policies_of_learners_and_vectors():
    learner = QLearning(3, 3, seed=0)
    assert policies_at(learner, np.array([0, 1, 1]), 3).shape == (3, 3)
    assert policies_at([0.5, 0.5], np.zeros((4, 2)), 2).tolist() == [[0.5, 0.5]] * 4
