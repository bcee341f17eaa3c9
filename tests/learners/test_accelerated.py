"""Stacks as on an accelerator: no network depends on the others, on empty places, or on being masked.

All but graphs can be seen on a CPU, where rounding does not depend on the stack; what CUDA adds is tested where it is.
"""

import numpy as np
import pytest
import torch

from understudy.contracts import Steps
from understudy.encoders import Function
from understudy.envs import ContinuousGrid
from understudy.learners import PPO, accelerated
from understudy.learners.accelerated import PART, PlacedNetworks, StackTrainer, train_together, write_parts
from understudy.learners.networks import Networks
from understudy.learners.ppo_epochs import FinishedEpochs
from understudy.logs import Log, Spec
from understudy.runs import experiment, simulate
from understudy.simulators import psrs

PLANE = Spec(5, None, (2,), np.dtype(float), None)
SETTINGS = {"policy_iterations": 20, "value_iterations": 20, "target_kl": 0.0005}
NO_CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA here")


def due(n, device="cpu", **settings):
    """Learners after their second epoch of steps, with Adam's moments of the first."""
    learners = []
    for seed in range(n):
        learner, rng = PPO(PLANE, seed=seed, device="cpu", **(SETTINGS | settings)), np.random.default_rng(seed)
        for epoch in range(2):
            x, action = rng.random((learner.epoch_steps + 1, 2)), rng.integers(5, size=learner.epoch_steps)
            over = rng.random(learner.epoch_steps) < 0.02
            learner.collect(Steps(x[:-1], action, 1.0 * (action == 1), x[1:], over, np.zeros_like(over)))
            if epoch == 0:
                learner.update()
        learner.device = device  # "cpu:0" is trained as an accelerator is, on the CPU
        learners.append(learner)
    return learners


def updated(learners):
    PPO.update_all(learners)
    return learners


def assert_same(one, other, **tolerance):
    for name in ("_policy", "_value"):
        ours, theirs = getattr(one, name), getattr(other, name)
        assert ours.counts == theirs.counts
        for part in ("weight", "first_moment", "second_moment"):
            np.testing.assert_allclose(getattr(ours, part), getattr(theirs, part), **({"rtol": 0} | tolerance))


def test_policies_that_are_masked_end_as_those_that_leave_to_the_last_bit():
    left, masked = updated(due(6, epoch_steps=500)), updated(due(6, "cpu:0", epoch_steps=500, stack_size=6))
    assert len({learner._policy.counts[0] for learner in left}) > 2  # some stop before others
    for one, other in zip(left, masked, strict=True):
        assert_same(one, other)


def test_a_mask_that_does_not_hold_would_be_seen(monkeypatch):
    step = PlacedNetworks.step
    monkeypatch.setattr(
        PlacedNetworks, "step", lambda ours, slope, rate, going: step(ours, slope, rate, torch.ones_like(going))
    )
    left, moved = updated(due(1, epoch_steps=500)), updated(due(1, "cpu:0", epoch_steps=500, stack_size=5))
    with pytest.raises(AssertionError):
        assert_same(left[0], moved[0])


def test_parts_of_an_epoch_add_up_to_it():
    whole, parts = updated(due(3, epoch_steps=1303)), updated(due(3, "cpu:0", epoch_steps=1303, stack_size=3))
    for one, other in zip(whole, parts, strict=True):
        assert_same(one, other, atol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 7, 12])
def test_weights_depend_neither_on_the_size_of_a_stack_nor_on_empty_places(size):
    settings = {"epoch_steps": 600}
    alone = due(7, "cpu:0", stack_size=1, **settings)
    for learner in alone:
        learner.update()
    for one, other in zip(updated(due(7, "cpu:0", stack_size=size, **settings)), alone, strict=True):
        assert_same(one, other)


def test_what_a_stack_was_used_for_before_does_not_matter():
    first = updated(due(2, "cpu:0", stack_size=4))
    updated([*due(4, "cpu:0", stack_size=4)][::-1])
    again = updated(due(2, "cpu:0", stack_size=4))
    for one, other in zip(first, again, strict=True):
        assert_same(one, other)
    assert accelerated.trainer_of.cache_info().hits > 0


def test_training_ends_when_no_policy_goes_on(monkeypatch):
    seen, improve = [], StackTrainer._improve_policies
    monkeypatch.setattr(StackTrainer, "_improve_policies", lambda trainer: seen.append(1) or improve(trainer))
    learners = updated(due(2, "cpu:0", stack_size=3, policy_iterations=70, policy_rate=0.05))
    assert max(learner._policy.counts[0] for learner in learners) < 40
    assert len(seen) < 70


def test_epochs_are_cut_into_parts():
    ours, theirs = torch.full((3 * 2, 4, PART), 7.0), torch.randn(3, 4, PART + 50)
    write_parts(ours, theirs)
    np.testing.assert_array_equal(ours[0], theirs[0, :, :PART])
    np.testing.assert_array_equal(ours[3, :, :50], theirs[1, :, PART:])
    assert not ours[1::2, :, 50:].any()


def test_networks_come_back_on_the_cpu_with_their_counts():
    (learner,) = due(1, "cpu:0", stack_size=2)
    n = learner._policy.counts[0]
    stacked = [Networks.stacked([network], "cpu") for network in (learner._policy, learner._value)]
    policies, values = train_together(learner._stack_form, FinishedEpochs([learner._epoch]), *stacked)
    assert (values.counts, policies.weight.device.type) == ([40], "cpu")
    assert n < policies.counts[0] <= n + 20


# On CUDA.


@NO_CUDA
@pytest.mark.parametrize("size", [1, 10, 64])
def test_on_cuda_weights_do_not_depend_on_who_else_is_in_a_stack_of_a_size(size):
    stacked, again = (updated(due(13, "cuda", epoch_steps=5000, stack_size=size)) for _ in range(2))
    alone = due(13, "cuda", epoch_steps=5000, stack_size=size)
    for learner in alone:
        learner.update()
    for one, two, three in zip(stacked, again, alone, strict=True):
        assert_same(one, two)
        assert_same(one, three)


@NO_CUDA
def test_on_cuda_stacks_of_different_sizes_and_the_cpu_nearly_agree():
    here = updated(due(5, epoch_steps=5000, target_kl=10.0))
    for size in (1, 10, 64):
        for one, other in zip(
            here, updated(due(5, "cuda", epoch_steps=5000, stack_size=size, target_kl=10.0)), strict=True
        ):
            assert_same(one, other, atol=1e-4)


@NO_CUDA
def test_on_cuda_runs_depend_neither_on_workers_nor_on_other_runs():
    plane = ContinuousGrid(size=3, slip=0.2)
    log = Log.from_columns(**plane.rollout_cells(np.full((9, 5), 0.2), steps=100_000, seed=0))
    simulator = psrs(log, Function(plane.latent))

    def make(seed):
        return PPO(log.spec, seed=seed, device="cuda", stack_size=4, epoch_steps=1000)

    one, two = (experiment(simulator, make, runs=10, max_steps=5000, workers=workers) for workers in (1, 3))
    fewer = experiment(simulator, make, runs=6, max_steps=5000)
    alone = [simulate(simulator, make(run.seed), run.seed, 5000) for run in one[:3]]
    for other in (two, fewer, alone):
        for ours, theirs in zip(one, other, strict=False):
            np.testing.assert_array_equal(ours.rows, theirs.rows)
