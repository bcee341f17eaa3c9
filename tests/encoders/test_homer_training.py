from types import SimpleNamespace

import numpy as np
import pytest
import torch

from understudy.encoders import Homer
from understudy.encoders.homer_training import (
    HomerTraining,
    Network,
    TrainingSplit,
    batch_size,
    loss_of_states,
    n_epochs,
    soft_choices,
)
from understudy.encoders.training import generator_of

SMALL = {"latent": 12, "width": 16, "annealing": 100, "max_epochs": 8}


def test_a_split_has_every_row_once_with_what_followed_it(grid_log):
    split = TrainingSplit(grid_log, Homer(4)._options, torch.device("cpu"))
    assert len(split.train[0]) + len(split.held[0]) == len(grid_log)
    x, action, next_x = (torch.cat(columns).numpy() for columns in zip(split.train, split.held, strict=True))
    rows = np.lexsort(x.T)
    logged = np.lexsort(split.features(grid_log.observation).T)
    assert np.array_equal(action[rows], grid_log.action[logged])
    assert np.array_equal(next_x[rows], split.features(grid_log.next_observation)[logged])


def test_the_loss_is_over_all_imposters_there_could_be(homer, grid_log):
    rows = slice(0, 200)
    states = torch.from_numpy(homer.encode(grid_log.observation[rows]))
    next_states = torch.from_numpy(homer.encode(grid_log.next_observation[rows]))
    action = torch.from_numpy(grid_log.action[rows].astype(np.int64))
    z, next_z = (torch.nn.functional.one_hot(codes, homer.n_states).float() for codes in (states, next_states))
    with torch.no_grad():
        left, by_action, right = homer._net.parts()
        here, there = z @ left + by_action[action], next_z @ right
        real = torch.nn.functional.softplus(-homer._net.real_logit(here + there)).mean().item()
        pairs = torch.nn.functional.softplus(homer._net.real_logit(here[:, None] + there[None])).mean().item()
    assert loss_of_states(homer._net, states, action, next_states) == pytest.approx((real + pairs) / 2, rel=1e-5)


def draws(logits):
    return torch.empty_like(logits).exponential_(generator=generator_of(0, 0))


def test_soft_choices_follow_the_logits_law():
    # Gumbel's arg-max has the probabilities of the softmax: chi-square of 20,000 draws, false alarm 1e-4
    logits = torch.tensor([[0.0, 1.0, 2.0]]).expand(20_000, 3).contiguous()
    for hard in (False, True):
        chosen = soft_choices(logits, 0.7, hard, draws(logits))
        np.testing.assert_allclose(chosen.sum(dim=1), 1, atol=1e-5)
        counts = np.bincount(chosen.argmax(dim=1).numpy(), minlength=3)
        expected = 20_000 * torch.softmax(logits[0], 0).numpy()
        assert ((counts - expected) ** 2 / expected).sum() < 18.4
    assert set(chosen.unique().tolist()) <= {0.0, 1.0} or torch.allclose(chosen, chosen.round(), atol=1e-6)


def test_colder_choices_are_nearer_to_one_hot():
    logits = torch.randn(1000, 5, generator=generator_of(1, 0))
    sharpness = [soft_choices(logits, t, False, draws(logits)).max(dim=1)[0].mean() for t in (0.5, 1.0, 4.0)]
    assert sharpness == sorted(sharpness, reverse=True)


def test_the_classifier_is_one_hidden_layer_over_all_three(homer):
    net = homer._net
    assert isinstance(net, Network)
    z, a, next_z = torch.eye(20)[[3]], torch.eye(5)[[2]], torch.eye(20)[[7]]
    whole = net.output(torch.nn.functional.leaky_relu(net.hidden(torch.cat([z, a, next_z], dim=1))))
    left, by_action, right = net.parts()
    assert torch.allclose(net.real_logit(left[3] + by_action[2] + right[7]), whole.squeeze(), atol=1e-6)


@pytest.mark.parametrize("n_rows", [100, 100_000, 500_000, 20_000_000])
def test_by_default_training_is_a_matter_of_minutes_however_long_the_log_is(n_rows):
    split, options = SimpleNamespace(train=(range(n_rows),)), Homer()._options
    steps = n_epochs(split, options) * (n_rows // batch_size(split, options))
    assert 0 < steps <= 10_000


def test_the_papers_encoder_is_trained_as_long_as_it_was():
    from paper.continuous_grid import FULL

    split = SimpleNamespace(train=(range(FULL.rows // 2),))
    assert n_epochs(split, Homer(**FULL.homer)._options) == 200


def test_it_is_trained_in_one_thread_so_that_states_do_not_depend_on_how_many_there_are(grid_log, monkeypatch):
    seen, whole_epoch = [], HomerTraining.epoch

    def epoch(*arguments):
        seen.append(torch.get_num_threads())
        whole_epoch(*arguments)

    monkeypatch.setattr(HomerTraining, "epoch", epoch)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        Homer(**SMALL | {"max_epochs": 1}).fit(grid_log)
        assert (seen, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(before)
