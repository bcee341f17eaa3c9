import numpy as np
import pytest
import torch

from understudy.encoders.features import Features
from understudy.encoders.training import (
    BestWeights,
    features_of_log,
    generator_of,
    in_chunks,
    input_layer,
    module_with_weights,
    seeded_module,
    split_rows,
)
from understudy.errors import EncoderError, LogError, SettingError
from understudy.logs import Log


def test_held_out_rows_are_whole_episodes(grid_log):
    train, held = split_rows(grid_log, 0.3, "episodes", seed=0)
    assert np.array_equal(np.sort(np.append(train, held)), np.arange(len(grid_log)))
    assert not np.intersect1d(grid_log.episode[train], grid_log.episode[held]).size
    assert 0.3 <= len(held) / len(grid_log) < 0.33


def test_held_out_rows_can_be_single_ones(grid_log):
    train, held = split_rows(grid_log, 0.3, "transitions", seed=0)
    assert (len(train), len(held)) == (8400, 3600)
    assert np.intersect1d(grid_log.episode[train], grid_log.episode[held]).size


def test_a_lone_episode_is_cut_in_time():
    log = Log.from_columns(observation=np.arange(10), action=np.zeros(10, int), reward=np.zeros(10))
    train, held = split_rows(log, 0.5, "episodes", seed=0)
    assert train[-1] + 1 == held[0]


@pytest.mark.parametrize("seed", range(4))
def test_a_log_that_is_mostly_one_episode_is_cut_in_time(seed):
    last = np.isin(np.arange(100), [97, 99])
    log = Log.from_columns(
        observation=np.arange(100), action=np.zeros(100, int), reward=np.zeros(100), next_observation=np.arange(100),
        terminated=last, episode=np.repeat([0, 1], [98, 2]),
    )  # fmt: skip
    train, held = split_rows(log, 0.2, "episodes", seed)
    assert len(held) / len(log) == pytest.approx(0.2, abs=0.01)
    assert train[-1] + 1 == held[0]


def test_two_episodes_are_one_each(log_of):
    train, held = split_rows(log_of([0.5, 0.7]), 0.9, "episodes", seed=0)
    assert (len(train), len(held)) == (1, 1)


@pytest.mark.parametrize("options", [(0.5, "rows"), (0, "episodes"), (1.0, "episodes")])
def test_no_split_is_refused(grid_log, options):
    with pytest.raises(SettingError, match=r"split is|held_out is"):
        split_rows(grid_log, *options, seed=0)


def test_the_best_weights_are_put_back():
    module = torch.nn.Linear(1, 1)
    best = BestWeights(module, patience=2)
    for weight, loss in [(1.0, 0.5), (2.0, 0.3), (3.0, 0.4), (4.0, 0.6)]:
        torch.nn.init.constant_(module.weight, weight)
        assert not best.out_of_patience
        best.record(loss)
    assert best.out_of_patience
    best.restore()
    assert (module.weight.item(), best.loss, best.epoch, best.losses) == (2.0, 0.3, 1, [0.5, 0.3, 0.4, 0.6])


def test_weights_come_from_our_generator_and_torchs_stays_as_it_was():
    before = torch.get_rng_state()

    def make():
        return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Conv2d(1, 2, 3), torch.nn.Embedding(5, 2))

    one, again, other = (seeded_module(make, generator_of(seed, 0)).state_dict() for seed in (1, 1, 2))
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(one[name], again[name]) and not torch.equal(one[name], other[name]) for name in one)


def test_a_row_gives_the_same_result_in_any_batch():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(7, 64), torch.nn.LeakyReLU(), torch.nn.Linear(64, 50))
    rows = torch.randn(3000, 7)
    whole = in_chunks(net, rows)
    for n in (1, 3, 7, 8, 9, 50):
        assert torch.equal(torch.cat([in_chunks(net, part) for part in rows.split(n)]), whole)
    assert in_chunks(net, rows[:0]).shape == (0, 50)


def test_the_first_layer_fits_the_features():
    codes, floats = Features.of([3, 9, 3]), Features.of([[0.5, 1.0], [0.1, 2.0]])
    assert input_layer(codes, 8)(torch.tensor([0, 1])).shape == (2, 8)
    assert input_layer(floats, 8)(torch.zeros(5, 2)).shape == (5, 8)


def test_weights_that_are_not_a_modules_own_are_refused():
    with pytest.raises(EncoderError, match="weights are"):
        module_with_weights(lambda: torch.nn.Linear(2, 1), {"weight": np.zeros((1, 2), np.float32)})


def test_nothing_to_learn_is_said(log_of):
    with pytest.raises(LogError, match="among 3 rows, and needs at least 50"):
        features_of_log(log_of([0.1, 0.2, 0.3]), "Homer", 50)
    for same in (np.full((60, 2), 0.5), np.full(60, 3)):
        with pytest.raises(LogError, match="every observation of the log is the same: there is one state"):
            features_of_log(log_of(same), "Homer", 50)
    with pytest.raises(LogError, match="next_observation is NaN or infinite in row 7"):
        features_of_log(log_of(np.arange(60.0), np.where(np.arange(60) == 7, np.nan, 1.0)), "Homer", 50)
