"""Kernels act as the network does at every place of a log, and collect what the learner would have collected."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from understudy.envs import ContinuousGrid
from understudy.learners import PPO
from understudy.learners.ppo_epochs import Epoch
from understudy.learners.ppo_on_log import (
    acting_weights,
    collect_step,
    end_episode_here,
    is_input,
    ppo_on_log,
    write_network_policy,
    write_softmax,
)
from understudy.logs import Log
from understudy.runs.look_ahead import observations_at

PLANE = ContinuousGrid(size=3, slip=0.2)
POINTS = Log.from_columns(**PLANE.rollout_cells(np.full((9, 5), 0.2), steps=4_000, seed=0, max_episode_steps=30))
NUMBERS = Log.from_columns(**PLANE.grid.rollout(np.full((9, 5), 0.2), steps=300, seed=0))
SMALL = {"epoch_steps": 300, "policy_iterations": 5, "value_iterations": 5, "policy_rate": 0.01, "device": "cpu"}


class Longer(SimpleNamespace):
    """A log of four rows with numbers of 80 bits."""

    def __len__(self):
        return 4


class Compiled(PPO):
    """PPO on the CPU with compiled epochs, which it has on an accelerator only."""

    def epochs_on(self, log):
        return self.compiled_epochs_on(log)


def learner_on(log, **settings):
    """A learner whose policy is far from uniform."""
    learner = Compiled(log.spec, seed=1, **(SMALL | settings))
    noise = torch.randn(learner._policy.weight.shape, generator=torch.Generator().manual_seed(0))
    learner._policy.weight += 0.3 * noise
    learner._follow_networks()
    return learner


# Acting.


@pytest.mark.parametrize("hidden", [(32, 32), (7,), (), (16, 5, 9)])
@pytest.mark.parametrize("log", [POINTS, NUMBERS], ids=["points", "numbers"])
def test_policies_are_those_of_the_learner(log, hidden):
    learner = learner_on(log, hidden=hidden)
    arrays, policy = learner.epochs_on(log), np.empty(5)
    codes = np.r_[:300, len(log) : len(log) + log.n_episodes]
    got = []
    for code in codes:
        assert is_input(arrays, code)
        write_network_policy(arrays, code, policy)
        got.append(policy.copy())
    expected = learner.policies(observations_at(log, codes))
    assert np.ptp(expected, axis=0).max() > 0.02
    np.testing.assert_allclose(got, expected, atol=2e-15)


def test_an_update_is_seen():
    learner = learner_on(POINTS)
    arrays, before, after = learner.epochs_on(POINTS), np.empty(5), np.empty(5)
    write_network_policy(arrays, 3, before)
    learner._policy.weight.mul_(0.5)
    learner._follow_networks()
    write_network_policy(arrays, 3, after)
    assert np.abs(after - before).max() > 1e-3
    np.testing.assert_allclose(after, learner.policy(POINTS.next_observation[3]), atol=2e-15)


def test_weights_of_a_stack_are_those_of_each():
    networks = [PPO(POINTS.spec, seed=seed, **SMALL)._policy for seed in range(2)]
    both = type(networks[0]).stacked(networks, "cpu")
    np.testing.assert_array_equal(acting_weights(both)[1], acting_weights(networks[1])[0])
    assert acting_weights(both).dtype == np.float64


def test_there_is_no_policy_where_an_observation_is_not_an_input():
    following = POINTS.next_observation.copy()
    following[7, 1], following[9, 0] = np.nan, np.inf
    arrays = learner_on(POINTS).epochs_on(POINTS)._replace(log_following=following)
    assert [bool(is_input(arrays, code)) for code in (6, 7, 8, 9)] == [True, False, True, False]
    few = ppo_on_log((3, 5), True, Epoch(4, None), NUMBERS)
    inside = NUMBERS.next_observation < 3
    assert [bool(is_input(few, code)) for code in range(len(NUMBERS))] == inside.tolist()
    assert 0 < inside.sum() < len(NUMBERS)


def test_large_scores_have_probabilities_too():
    policy = np.empty(3)
    write_softmax(np.array([1000.0, 999.0, -1000.0]), policy)
    np.testing.assert_allclose(policy, [1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1)), 0.0], rtol=1e-12)


# Collecting.


def test_steps_are_written_into_the_epoch_and_a_cut_ends_the_last_of_them():
    epoch = Epoch(4, 2)
    arrays = ppo_on_log((2, 5), False, epoch, POINTS)
    end_episode_here(arrays)
    assert epoch.cut_before.tolist() == [True]
    collect_step(arrays, len(POINTS) + 1, 3, 0.5, 7, False, False)
    collect_step(arrays, 7, 0, -1.0, 9, False, False)
    end_episode_here(arrays)
    assert (epoch.n, epoch.action[:2].tolist(), epoch.reward[:2].tolist()) == (2, [3, 0], [0.5, -1.0])
    np.testing.assert_array_equal(
        epoch.observed[:2], [POINTS.observation[POINTS.starts[1]], POINTS.next_observation[7]]
    )
    np.testing.assert_array_equal(epoch.following[:2], POINTS.next_observation[[7, 9]])
    assert (epoch.truncated[:2].tolist(), epoch.terminated[:2].tolist()) == ([False, True], [False, False])


# Which learners have compiled epochs.


def test_compiled_epochs_are_for_accelerators_and_logs_that_kernels_can_read():
    assert PPO(POINTS.spec, **SMALL).epochs_on(POINTS) is None
    compiled = Compiled(POINTS.spec, **SMALL)
    assert compiled.epochs_on(POINTS) is not None
    assert compiled.epochs_on(NUMBERS) is None
    columns = {"observation": np.zeros((4, 2), np.longdouble), "next_observation": np.zeros((4, 2), np.longdouble)}
    assert ppo_on_log((2, 5), False, Epoch(4, 2), Longer(**columns, starts=np.array([0, 4]))) is None
