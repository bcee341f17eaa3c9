"""Stacks of perceptrons compute what torch's own layers do, each network by itself."""

import numpy as np
import pytest
import torch

from understudy.learners import networks as module
from understudy.learners.networks import PAD_TO, Networks, as_input, forward, new_network, outputs

SIZES = (30, 40, 5)


def stack(*seeds):
    return Networks.stacked([new_network(SIZES, torch.Generator().manual_seed(seed)) for seed in seeds], "cpu")


def linears(seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return torch.nn.Linear(30, 40), torch.nn.Linear(40, 5)


def test_networks_begin_as_those_of_torch_do():
    network = new_network(SIZES, torch.Generator().manual_seed(1))
    for layer, linear in zip(network.layers(), linears(1), strict=True):
        np.testing.assert_allclose(layer[0, :, :-1], linear.weight.detach(), rtol=1e-6)
        np.testing.assert_allclose(layer[0, :, -1], linear.bias.detach(), rtol=1e-6)


def test_weights_are_padded_with_zeros():
    weight = stack(0).weight
    assert weight.shape[1] % PAD_TO == 0
    assert not weight[0, 31 * 40 + 41 * 5 :].any()


def test_outputs_are_those_of_torchs_layers():
    x = np.random.default_rng(0).normal(size=(2, 7, 30)).astype(np.float32)
    found = forward(stack(1, 2).layers(), as_input(x))
    for place, seed in enumerate((1, 2)):
        one, two = linears(seed)
        wanted = two(torch.relu(one(torch.from_numpy(x[place])))).T.detach()
        np.testing.assert_allclose(found[place], wanted, atol=1e-5)


def test_codes_stand_for_one_hot_inputs():
    layers, codes = stack(1).layers(), np.array([[3, 0, 29]])
    np.testing.assert_allclose(
        forward(layers, as_input(codes)), forward(layers, as_input(np.eye(30, dtype=np.float32)[codes])), atol=1e-6
    )


@pytest.mark.parametrize("batch", [3, 4096])
def test_a_batch_is_computed_in_parts_that_do_not_matter(batch, monkeypatch):
    monkeypatch.setattr(module, "BATCH", batch)
    layers, x = stack(1).layers(torch.float64), np.random.default_rng(0).normal(size=(10, 30))
    found = outputs(layers, x, lambda scores: 2 * scores)
    np.testing.assert_allclose(found, 2 * forward(layers, as_input(x[None]))[0].T, rtol=1e-12)


def test_networks_are_selected_with_the_state_of_their_training():
    networks = stack(0, 1, 2)
    networks.counts = [5, 6, 7]
    networks.first_moment += torch.arange(3)[:, None]
    chosen = networks.select([2, 0])
    assert chosen.counts == [7, 5]
    np.testing.assert_array_equal(chosen.weight, networks.weight[[2, 0]])
    np.testing.assert_array_equal(chosen.first_moment[:, 0], [2, 0])
    chosen.weight.zero_()
    assert networks.weight.any(1).all()  # a copy


def test_a_step_of_adam_by_hand():
    # the first step goes against the gradient by the rate, whatever the gradient's size; the second is Adam's own
    networks = stack(0)
    before, gradient = networks.weight.clone(), torch.full_like(networks.weight, 4.0)
    networks.adam_step(gradient, 0.1)
    np.testing.assert_allclose(networks.weight, before - 0.1, atol=1e-6)
    networks.adam_step(torch.zeros_like(gradient), 0.1)
    first, second = 0.9 * 0.4 / (1 - 0.9**2), 0.999 * 0.016 / (1 - 0.999**2)
    np.testing.assert_allclose(networks.weight, before - 0.1 - 0.1 * first / second**0.5, atol=1e-6)
    assert networks.counts == [2]


def test_each_network_of_a_stack_by_itself():
    networks = [new_network((2, 4, 3), torch.Generator().manual_seed(seed)) for seed in range(3)]
    stack = Networks.stacked(networks, "cpu")
    stack.counts = [4, 5, 6]
    for one, other, count in zip(stack.each(), networks, (4, 5, 6), strict=True):
        assert (one.sizes, one.counts) == (other.sizes, [count])
        assert torch.equal(one.weight, other.weight)
        assert one.second_moment.shape == one.weight.shape
