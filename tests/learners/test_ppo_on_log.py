"""Compiled code computes the policy of a network, at every place of a log."""

import numpy as np
import pytest
import torch
from understudy.learners.policy_on_log import is_input, policy_on_log, write_network_policy, write_softmax
from understudy.runs.kept_steps import observations_at

from understudy.envs import ContinuousGrid
from understudy.learners import PPO
from understudy.logs import Log, Spec

PLANE = ContinuousGrid(size=3)
POINTS = Log.from_columns(**PLANE.rollout_cells(np.full((9, 5), 0.2), steps=300, seed=0))
NUMBERS = Log.from_columns(**PLANE.grid.rollout(np.full((9, 5), 0.2), steps=300, seed=0))


def learner_on(log, **settings):
    learner = PPO(log.spec, seed=1, device="cpu", **settings)
    learner._policy.weight += 0.3 * torch.randn(
        learner._policy.weight.shape, generator=torch.Generator().manual_seed(0)
    )
    learner._follow_networks()
    return learner


@pytest.mark.parametrize("hidden", [(32, 32), (7,), (), (16, 5, 9)])
@pytest.mark.parametrize("log", [POINTS, NUMBERS], ids=["points", "numbers"])
def test_policies_are_those_of_the_learner(log, hidden):
    learner = learner_on(log, hidden=hidden)
    arrays = learner.compiled_policy(log)
    codes = np.arange(len(log) + log.n_episodes)
    got, policy = [], np.empty(5)
    for code in codes:
        assert is_input(arrays, code)
        write_network_policy(arrays, code, policy)
        got.append(policy.copy())
    expected = learner.policies(observations_at(log, codes))
    assert np.ptp(expected, axis=0).max() > 0.02
    np.testing.assert_allclose(got, expected, atol=2e-15)


def test_an_update_is_seen_and_a_log_of_another_shape_is_not_taken():
    learner = learner_on(POINTS)
    arrays, before, after = learner.compiled_policy(POINTS), np.empty(5), np.empty(5)
    write_network_policy(arrays, 3, before)
    learner._policy.weight.mul_(0.5)
    learner._follow_networks()
    write_network_policy(arrays, 3, after)
    assert np.abs(after - before).max() > 1e-3
    np.testing.assert_allclose(after, learner.policies(POINTS.next_observation[3:4])[0], atol=2e-15)
    assert learner.compiled_policy(NUMBERS) is None
    assert learner.policy_on(POINTS) is None  # on the CPU


def test_there_is_no_policy_where_an_observation_is_not_an_input():
    following = POINTS.next_observation.copy()
    following[7, 1], following[9, 0] = np.nan, np.inf
    arrays = policy_on_log((2, 3), False, POINTS)._replace(next_observation=following)
    assert [bool(is_input(arrays, code)) for code in (6, 7, 8, 9)] == [True, False, True, False]
    few = policy_on_log((3, 5), True, NUMBERS)
    inside = NUMBERS.next_observation < 3
    assert [bool(is_input(few, code)) for code in range(len(NUMBERS))] == inside.tolist()
    assert 0 < inside.sum() < len(NUMBERS)


def test_numbers_that_numba_does_not_know_are_left_to_python():
    log = Log.from_columns(observation=np.zeros((4, 2), np.float16), action=np.zeros(4, int), reward=np.zeros(4))
    assert policy_on_log((2, 3), False, log) is None
    assert PPO(Spec(5, None, (2,), np.dtype(np.float16), None), device="cpu").compiled_policy(log) is None


def test_large_scores_have_probabilities_too():
    policy = np.empty(3)
    write_softmax(np.array([1000.0, 999.0, -1000.0]), policy)
    np.testing.assert_allclose(policy, [1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1)), 0.0], rtol=1e-12)
