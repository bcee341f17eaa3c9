import json

import cloudpickle
import numpy as np
import pytest
import torch

from understudy.contracts import Encoder
from understudy.encoders import Homer
from understudy.encoders.homer_training import TrainingSplit, held_out_loss
from understudy.encoders.training import generator_of
from understudy.envs import ContinuousGrid, Grid
from understudy.errors import EncoderError, LogError, SettingError
from understudy.logs import Log

SMALL = {"latent": 12, "width": 16, "annealing": 100, "max_epochs": 8}


def agreement(states, cells):
    """How many cells are the majority of some state, and the share of rows in a state whose majority is theirs."""
    counts = np.zeros((states.max() + 1, cells.max() + 1))
    np.add.at(counts, (states, cells), 1)
    return len(set(counts[counts.any(axis=1)].argmax(axis=1))), counts.max(axis=1).sum() / len(states)


def test_it_finds_most_cells_of_a_grid(homer, grid, grid_log):
    # Of eight cells that rows leave from. What training adds is seen in a network that had hardly any.
    cells = grid.latent(grid_log.observation)
    n_cells, share = agreement(homer.encode(grid_log.observation), cells)
    assert n_cells >= 6
    assert share > 0.8
    hardly = Homer(latent=20, max_epochs=1).fit(grid_log)
    assert agreement(hardly.encode(grid_log.observation), cells)[1] < 0.6


def test_the_best_weights_are_those_that_are_used(homer, grid_log):
    split = TrainingSplit(grid_log, homer._options, torch.device("cpu"))
    again = held_out_loss(homer._net, split, "states", 1.0, generator_of(0, 0))
    assert homer.loss == min(homer.losses) == pytest.approx(again, abs=1e-9)


def test_a_seed_is_a_training_and_torchs_generator_stays_as_it_was(grid_log):
    before = torch.get_rng_state()
    one, again, other = (Homer(**SMALL | {"max_epochs": 2}, seed=seed).fit(grid_log) for seed in (0, 0, 1))
    assert one.settings == again.settings
    assert one.settings["weights"] != other.settings["weights"]
    assert torch.equal(before, torch.get_rng_state())


def test_one_observation_or_many_have_the_same_state(homer):
    points = np.random.default_rng(0).random((1500, 2))
    states = homer.encode(points)
    assert np.array_equal(states, np.concatenate([homer.encode(points[i : i + 1]) for i in range(len(points))]))
    assert len(homer.encode(points[:0])) == 0


def test_integers_are_learned_as_codes():
    log = Log.from_columns(**Grid(3).rollout(np.full((9, 5), 0.2), steps=8000, seed=0))
    encoder = Homer(latent=20, width=32, annealing=600, max_epochs=30).fit(log)
    n_cells, share = agreement(encoder.encode(log.observation), log.observation)
    assert n_cells >= 6  # of eight
    assert share > 0.8
    assert encoder.encode([77, -1]).tolist() == [-1, -1]
    assert encoder.encode([8])[0] >= 0  # the goal, which rows only lead to


def test_reward_alone_keeps_nothing_apart_and_the_audit_says_so():
    # A ring of three cells; a bit that is drawn anew at every step decides the reward and nothing else.
    rng = np.random.default_rng(0)
    n = 12_000
    action, bit = rng.integers(0, 2, n), rng.integers(0, 2, n + 1)
    cell = np.append(0, np.cumsum(action)) % 3
    angle = cell * 2 * np.pi / 3
    x = np.stack([np.cos(angle), np.sin(angle), bit], axis=1) + rng.normal(0, 0.05, (n + 1, 3))
    cut = np.arange(1, n + 1) % 50 == 0
    log = Log.from_columns(observation=x[:-1], action=action, reward=bit[:-1], next_observation=x[1:], truncated=cut)
    encoder = Homer(latent=6, width=32, annealing=600, max_epochs=30).fit(log)
    states = encoder.encode(log.observation)
    assert agreement(states, cell[:-1]) == (3, pytest.approx(1, abs=0.02))
    assert agreement(states, bit[:-1])[1] < 0.55
    found = encoder.audit(log)
    assert found.suspicious.all()
    assert found.explained.min() > 0.5


def test_a_search_keeps_the_best_and_lists_what_it_tried(grid_log, capfd):
    options = {"annealing": 60, "max_epochs": 3, "progress": True}
    best = Homer.search(grid_log, latents=(6, 12), widths=(8,), learning_rates=(1e-3,), seeds=(0, 1), **options)
    tried = {(attempt.latent, attempt.width, attempt.learning_rate, attempt.seed) for attempt in best.searched}
    assert tried == {(latent, 8, 1e-3, seed) for latent in (6, 12) for seed in (0, 1)}
    losses = [attempt.loss for attempt in best.searched]
    assert losses == sorted(losses)
    assert best.loss == losses[0]
    assert (best.n_states, best.settings["seed"]) == (best.searched[0].latent, best.searched[0].seed)
    assert "4/4" in capfd.readouterr().err
    with pytest.raises(SettingError, match="nothing to search"):
        Homer.search(grid_log, seeds=())


def test_a_search_on_workers_finds_the_same(grid_log):
    """Each training depends on its settings alone; results may come in any order."""
    options = {"latents": (6,), "widths": (8,), "seeds": (0, 1, 2), "annealing": 60, "max_epochs": 2}

    def elsewhere(run_block, blocks, workers):
        sent = cloudpickle.dumps(run_block)
        return [(block, cloudpickle.loads(sent)(block, lambda: True)) for block in reversed(blocks)]

    ours, theirs = (Homer.search(grid_log, backend=backend, **options) for backend in (None, elsewhere))
    assert ours.settings == theirs.settings
    assert [one[:-1] for one in ours.searched] == [one[:-1] for one in theirs.searched]


def test_the_authors_ways_are_options(grid_log):
    theirs = {"temperature": 1.0, "split": "transitions", "select": "soft", "batch_size": 64, "patience": 50}
    encoder = Homer(**SMALL | {"max_epochs": 1}, **theirs).fit(grid_log)
    assert encoder.settings["temperature"] == [1.0, 1.0]
    assert 0 < encoder.loss < 0.75
    assert Homer(**SMALL | {"max_epochs": 1}, hard=True).fit(grid_log).fitted


def test_progress_is_shown_when_asked_for(grid_log, capfd):
    Homer(**SMALL | {"max_epochs": 1}, progress=True).fit(grid_log)
    assert "training Homer" in capfd.readouterr().err


def test_bad_observations_are_refused(homer, log_of):
    assert homer.encode([[np.nan, 0.5], [0.5, np.inf]]).tolist() == [-1, -1]
    for observations in ([0.5], [[1, 2]], [[0.1, 0.2, 0.3]]):
        with pytest.raises(EncoderError, match="fitted on"):
            homer.encode(observations)
    with pytest.raises(LogError, match="NaN or infinite in row 3"):
        Homer().fit(log_of(np.where(np.arange(60) == 3, np.nan, 0.5)))
    with pytest.raises(LogError, match="needs at least 50"):
        Homer().fit(log_of(np.arange(20.0)))
    with pytest.raises(LogError, match="there is one state"):
        Homer().fit(log_of(np.ones(60)))
    with pytest.raises(EncoderError, match=r"fit\(log\) first"):
        Homer().encode([0.5])


@pytest.mark.parametrize(
    "options",
    [
        {"latent": 0},
        {"width": 1.5},
        {"learning_rate": 0},
        {"temperature": 0},
        {"temperature": (1, -1)},
        {"select": 1},
    ],
)
def test_settings_that_train_nothing_are_refused(options):
    with pytest.raises(SettingError, match=f"{next(iter(options))} is"):
        Homer(**options)


def test_it_tells_what_it_is(homer):
    assert isinstance(homer, Encoder)
    assert json.loads(json.dumps(homer.settings)) == homer.settings
    assert (repr(homer), repr(Homer())) == ("Homer(latent=20, seed=0)", "Homer(latent=50, seed=0)  # not fitted")
    assert homer.describe_state(3) == "learned state 3"


def test_training_ends_after_so_many_steps(grid_log):
    # Half of 12,000 rows are trained on, 32 batches to an epoch.
    assert len(Homer(**SMALL, max_steps=70).fit(grid_log).losses) == 2
    assert len(Homer(**SMALL, max_steps=1).fit(grid_log).losses) == 1


@pytest.mark.slow
def test_on_the_papers_grid_it_matches_the_published_network():
    # The published network, which a search found: 20 of 24 cells, 83.7% of rows.
    env = ContinuousGrid()
    log = Log.from_columns(**env.rollout_cells(np.full((25, 5), 0.2), steps=1_000_000, seed=10))
    encoder = Homer.search(log, seeds=(0, 1, 2))
    n_cells, share = agreement(encoder.encode(log.observation), env.latent(log.observation))
    assert n_cells >= 20
    assert share >= 0.837
