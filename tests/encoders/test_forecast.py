"""The model of outcomes: what it looks at, and what it does not."""

import numpy as np
import pytest
import torch

import understudy as us
from understudy.contracts.encoding import ObservationSpec
from understudy.encoders.features import Features
from understudy.encoders.forecast import ForecastNet, RowLoader, image_shape, is_image, trained_forecast
from understudy.encoders.training import split_rows


def coin_log(n=3000, seed=0):
    """The next observation is this one or its opposite, as the action says; the reward tells nothing."""
    rng = np.random.default_rng(seed)
    action, reward = rng.integers(2, size=n), rng.integers(3, size=n) / 2.0
    x = np.concatenate([[1.0], np.cumprod(np.where(action == 1, -1.0, 1.0))])
    x = np.column_stack([x, rng.normal(size=n + 1)])
    return us.Log.from_columns(
        observation=x[:-1], next_observation=x[1:], action=action, reward=reward, terminated=rng.random(n) < 0.01
    )


@pytest.fixture(scope="module")
def trained():
    torch.set_num_threads(1)
    log = coin_log()
    loader = RowLoader(log, Features.of(log.observation), torch.device("cpu"))
    rows, held = split_rows(log, 0.2, "episodes", 0)
    options = {"seed": 0, "steps": 300, "batch_size": 128, "width": 32, "learning_rate": 3e-3, "patience": 10}
    net, best = trained_forecast(loader, rows, held, options, lambda done: None)
    return log, loader, net, best


def test_it_learns_which_outcome_follows_which_action(trained):
    log, loader, net, best = trained
    assert best.loss < np.log(128) - 0.5  # half of the outcomes are ruled out: log 2 less than guessing
    chosen = np.flatnonzero(~log.terminated)[:200]
    with torch.no_grad():
        scores = net.phi(loader.observations(chosen)) @ net.mu(*loader.outcomes(chosen)).T
    same = torch.from_numpy(np.sign(log.observation[chosen, :1]) == np.sign(log.next_observation[chosen, 0]))
    likely = (scores[:, 0] > scores.mean(dim=1)) == same
    assert likely.float().mean() > 0.9


def test_what_is_observed_after_termination_is_not_looked_at(trained):
    _, loader, net, _ = trained
    next_x, signals = loader.outcomes(np.arange(50))
    over = signals.clone()
    over[:, 0] = 1
    with torch.no_grad():
        assert torch.allclose(net.mu(next_x, over), net.mu(next_x + 5, over))
        assert not torch.allclose(net.mu(next_x, 0 * over), net.mu(next_x + 5, 0 * over))


def test_few_rewards_are_one_hot_and_many_are_told_by_size():
    log = coin_log()
    few = RowLoader(log, Features.of(log.observation), torch.device("cpu"))
    assert few.n_signals == 2 + 3
    assert few.outcomes(np.arange(20))[1][:, 2:].sum(dim=1).tolist() == [1.0] * 20
    many = us.Log.from_columns(
        observation=log.observation, next_observation=log.next_observation, action=log.action,
        reward=np.linspace(0, 1e6, len(log)), terminated=log.terminated,
    )  # fmt: skip
    sized = RowLoader(many, Features.of(log.observation), torch.device("cpu"))
    assert sized.n_signals == 2
    assert sized.outcomes(np.arange(len(log)))[1][:, 1].abs().max() < 3


@pytest.mark.parametrize(
    ("shape", "image", "channels"),
    [((16, 16), True, 1), ((3, 16, 16), True, 3), ((16, 16, 3), True, 3), ((4, 4), False, 1), ((2,), False, None)],
)
def test_images_are_known_by_their_shape(shape, image, channels):
    spec = ObservationSpec("float", shape)
    assert is_image(spec) == image
    if channels is not None:
        assert image_shape(spec)[0][0] == channels


def test_channels_may_come_first_or_last():
    images = np.random.default_rng(0).normal(size=(20, 3, 16, 16)).astype(np.float32)
    first, last = (Features.of(batch) for batch in (images, np.moveaxis(images, 1, 3)))
    nets = [ForecastNet(features, 2, 2, 8).eval() for features in (first, last)]
    nets[1].load_state_dict(nets[0].state_dict())
    with torch.no_grad():
        one, other = (
            net.phi(torch.from_numpy(features(batch)))
            for net, features, batch in zip(nets, (first, last), (images, np.moveaxis(images, 1, 3)), strict=True)
        )
    torch.testing.assert_close(one, other)
