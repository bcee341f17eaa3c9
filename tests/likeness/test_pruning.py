"""Pairs are left out where the log shows that they differ, and only there."""

import numpy as np

from understudy.likeness import pruning
from understudy.likeness.pairs import lists_of_pairs
from understudy.likeness.pruning import PairTest, ValueCells
from understudy.logs import Log

N_STATES, N_ROWS = 40, 12


def one_step_log(means, seed, rows=N_ROWS, noise=1.0):
    """Each state has so many rows, all of one action, which end the episode and pay the state's mean and noise."""
    state = np.repeat(np.arange(len(means)), rows)
    reward = means[state] + noise * np.random.default_rng(seed).standard_normal(len(state))
    return Log.from_columns(observation=state, action=np.zeros(len(state), int), reward=reward, ends="every-row")


def kept(log, pairs, n_states):
    lists = lists_of_pairs(pairs[:, 0], pairs[:, 1], n_states)
    found = PairTest(True)(lists, log, log.observation, log.next_observation, n_states)
    return len(found[1]) / len(lists[1])


NEIGHBORS = np.stack([np.arange(0, N_STATES, 2), np.arange(1, N_STATES, 2)], axis=1)


def share_left_out(seeds):
    """Of pairs of equal states, in a log where other pairs make the range of values 4 standard deviations."""
    means = 4.0 * np.repeat(np.arange(N_STATES // 2), 2) / (N_STATES // 2)
    return np.mean([1 - kept(one_step_log(means, seed), NEIGHBORS, N_STATES) for seed in seeds])


def test_equal_states_are_seldom_taken_apart_and_without_their_noise_often(monkeypatch):
    """At most 5% of 2,000 pairs, with three standard errors; where noise counts as difference, far more."""
    assert share_left_out(range(100)) < 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5
    wrong = ValueCells.shown_to_differ

    def without_noise(self, one, other):
        self.variance = np.zeros_like(self.variance)
        return wrong(self, one, other)

    monkeypatch.setattr(pruning.ValueCells, "shown_to_differ", without_noise)
    assert share_left_out(range(5)) > 0.1


def test_states_that_are_known_to_differ_are_taken_apart():
    means = 20.0 * np.arange(N_STATES) / N_STATES
    far = np.stack([np.arange(20), np.arange(20, 40)], axis=1)
    assert kept(one_step_log(means, 0), far, N_STATES) == 0.0


def test_states_of_which_little_is_known_are_kept():
    means = np.repeat([0.0, 1.0], N_STATES // 2)
    far = np.stack([np.arange(20), np.arange(20, 40)], axis=1)
    assert kept(one_step_log(means, 0, rows=2, noise=3.0), far, N_STATES) > 0.8
    assert kept(one_step_log(means, 0, rows=1), far, N_STATES) == 1.0  # single rows tell nothing but their noise
    log = one_step_log(means, 0)
    lists = lists_of_pairs(far[:, 0], far[:, 1], N_STATES)
    assert PairTest(False)(lists, log, log.observation, log.next_observation, N_STATES) is lists


def test_without_a_range_of_values_nothing_is_left_out():
    log = one_step_log(np.zeros(N_STATES), 0, noise=0.0)
    assert kept(log, NEIGHBORS, N_STATES) == 1.0


def test_pairs_are_the_same_in_chunks(monkeypatch):
    log = one_step_log(20.0 * np.arange(N_STATES) / N_STATES, 0)
    everyone = np.stack(np.triu_indices(N_STATES, 1), axis=1)
    whole = kept(log, everyone, N_STATES)
    monkeypatch.setattr(pruning, "CHUNK", 7)
    assert 0 < whole < 0.3
    assert kept(log, everyone, N_STATES) == whole
