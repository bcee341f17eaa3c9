"""The parts of PPO's training, each against the sum, the gradient or the rule that it stands for."""

import numpy as np
import pytest
import torch

from understudy.learners.networks import PAD_TO, Networks, as_input, forward, new_network
from understudy.learners.ppo_training import (
    Batch,
    Passes,
    estimate_advantages,
    fit_values,
    improve_policies,
    surrogate_slope,
)


def naive(reward, value, after, over, gamma, lam):
    """Advantages and rewards-to-go, each by its own sum."""
    n = len(reward)
    delta = [reward[t] + gamma * after[t] - value[t] for t in range(n)]
    advantage, target = np.zeros(n), np.zeros(n)
    for t in range(n):
        last = next(u for u in range(t, n) if over[u])
        advantage[t] = sum((gamma * lam) ** (u - t) * delta[u] for u in range(t, last + 1))
        target[t] = sum(gamma ** (u - t) * reward[u] for u in range(t, last + 1))
        target[t] += gamma ** (last - t + 1) * after[last]
    return advantage, target


def test_advantages_and_targets_are_the_sums_they_stand_for():
    rng = np.random.default_rng(0)
    reward, value, after = rng.normal(size=(3, 60))
    over = rng.random(60) < 0.1
    over[-1] = True
    got = np.empty((2, 60))
    estimate_advantages(reward, value, after, over, 0.9, 0.7, *got)
    np.testing.assert_allclose(got, naive(reward, value, after, over, 0.9, 0.7), rtol=1e-12)


def test_advantages_by_hand():
    # gamma .5, lam 1: the last step has 4 + .5 * 2 - 1 = 4, the one before it 1 + .5 * 1 - 3 + .5 * 4 = .5
    advantage, target = np.empty((2, 2))
    reward, value, after = np.array([1.0, 4.0]), np.array([3.0, 1.0]), np.array([1.0, 2.0])
    estimate_advantages(reward, value, after, np.array([False, True]), 0.5, 1.0, advantage, target)
    assert (advantage.tolist(), target.tolist()) == ([0.5, 4.0], [3.5, 5.0])


@pytest.fixture
def networks():
    return Networks.stacked([new_network((2, 8, 8, 3), torch.Generator().manual_seed(s)) for s in range(3)], "cpu")


@pytest.fixture
def epochs():
    """Observations, actions, advantages and targets of three learners, 50 steps each."""
    rng = np.random.default_rng(0)
    return rng.random((3, 50, 2)), rng.integers(3, size=(3, 50)), *rng.normal(size=(2, 3, 50))


def test_a_batch_is_padded_with_steps_of_weight_zero(epochs):
    batch = Batch.of(*epochs, (2, 8, 3), "cpu")
    assert batch.x.shape == (3, 2, PAD_TO)
    np.testing.assert_array_equal(batch.x[:, :, :50], epochs[0].transpose(0, 2, 1).astype(np.float32))
    np.testing.assert_array_equal(batch.taken[:, :, :50].argmax(1), epochs[1])
    np.testing.assert_allclose(batch.weight[:50], 1 / 50)
    for part in (batch.x, batch.taken, batch.advantage, batch.target, batch.weight):
        assert not part[..., 50:].any()
    codes = Batch.of(epochs[1], *epochs[1:], (3, 8, 3), "cpu")
    np.testing.assert_array_equal(codes.x, codes.taken)  # integers are one-hot
    np.testing.assert_array_equal(batch.select([2, 0]).target, batch.target[[2, 0]])


def test_gradients_are_those_of_autograd_and_padding_weighs_nothing(networks, epochs):
    batch = Batch.of(*epochs, networks.sizes, "cpu")
    passes = Passes(networks, batch)
    log_policy = torch.log_softmax(passes.forward(), 1)
    log_taken = (log_policy * batch.taken).sum(1, keepdim=True)
    slope = surrogate_slope(log_taken + 1.1, batch.advantage, 0.2) * batch.weight  # so that some are beyond the clip
    gradient = passes.backward((batch.taken - log_policy.exp()) * slope)

    x, action, advantage = (torch.from_numpy(part) for part in epochs[:3])
    weight = networks.weight.clone().requires_grad_()
    layers = Networks(networks.sizes, weight, weight, weight, [0] * 3).layers()
    chosen = torch.log_softmax(forward(layers, as_input(x.float().numpy())), 1).gather(1, action[:, None])[:, 0]
    ratio = torch.exp(chosen + 1.1)
    assert 0 < ((ratio - 1).abs() > 0.2).sum() < 150
    (-torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean(1).sum()).backward()
    np.testing.assert_allclose(gradient, weight.grad, atol=1e-6)


def test_passes_that_reuse_memory_of_larger_ones_are_the_same(networks, epochs):
    batch = Batch.of(*epochs, networks.sizes, "cpu")
    larger = Passes(networks, batch)
    larger.backward(torch.ones_like(larger.forward()))
    few, fewer = networks.select([2]), batch.select([2])
    new, reusing = Passes(few, fewer), Passes(few, fewer, larger)
    assert reusing.activations[1].data_ptr() == larger.activations[1].data_ptr()
    for passes in (new, reusing):
        passes.backward(passes.forward() * fewer.weight)
    np.testing.assert_array_equal(new.gradient, reusing.gradient)


def test_values_come_closer_to_their_targets(epochs):
    networks = Networks.stacked([new_network((2, 8, 1), torch.Generator().manual_seed(s)) for s in range(3)], "cpu")
    batch = Batch.of(epochs[0], epochs[1], epochs[2], epochs[0].sum(2), (2, 8, 3), "cpu")

    def error():
        return ((Passes(networks, batch).forward() - batch.target) ** 2 * batch.weight).sum((1, 2))

    before = error()
    fit_values(networks, batch, 0.01, 200)
    assert (error() < 0.1 * before).all()
    assert networks.counts == [200] * 3


@pytest.mark.parametrize("target_kl", [10.0, 1e-4])
def test_a_policy_that_has_moved_too_far_is_trained_no_further(networks, epochs, target_kl):
    batch = Batch.of(*epochs, networks.sizes, "cpu")
    before = torch.log_softmax(Passes(networks, batch).forward(), 1)
    improved = improve_policies(networks, batch, 0.2, target_kl, 0.003, 30)
    counts = [network.counts[0] for network in improved]
    assert (counts == [30] * 3) == (target_kl == 10.0)
    assert all(count > 0 for count in counts)
    after = torch.log_softmax(Passes(Networks.stacked(improved, "cpu"), batch).forward(), 1)
    gain = ((after - before) * batch.taken * batch.advantage * batch.weight).sum((1, 2))
    assert (gain > 0).all()


def test_the_objective_is_flat_beyond_the_clip_only_where_it_would_gain():
    ratio = torch.tensor([1.1, 1.3, 0.9, 0.7, 1.3, 0.7])
    advantage = torch.tensor([2.0, 2.0, 2.0, 2.0, -2.0, -2.0])
    slope = surrogate_slope(ratio.log(), advantage, 0.2)
    np.testing.assert_allclose(slope, [-2.2, 0.0, -1.8, -1.4, 2.6, 0.0], rtol=1e-6)
