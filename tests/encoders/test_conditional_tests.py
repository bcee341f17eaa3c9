"""Tests of independence: their p-values are uniform without dependence, and small with it."""

import numpy as np
import pytest

from understudy.encoders.conditional_tests import Dependence, association, clustered, strongest, told_action

N, TIMES = 1500, 300


def shares_below(p_values, *levels):
    return [np.mean(np.array(p_values) <= level) for level in levels]


def skewed(rng, n, size):
    return (rng.random(n) ** 2 * size).astype(int)


def test_without_dependence_p_values_of_sparse_tables_are_uniform():
    """Five standard errors: a false alarm in 1 of a million; tables of 25 rows with up to 32 cells."""
    rng = np.random.default_rng(0)
    found = [association(rng.integers(60, size=N), skewed(rng, N, 4), skewed(rng, N, 8)) for _ in range(TIMES)]
    below = shares_below([result.p_value for result in found], 0.05, 0.5)
    assert np.abs(below - np.array([0.05, 0.5])).max() < 5 * np.sqrt(0.25 / TIMES)
    assert below[0] < 0.05 + 5 * np.sqrt(0.0475 / TIMES)
    assert abs(np.std([result.statistic for result in found]) - 1) < 0.2


def test_a_dependence_with_another_sign_in_each_stratum_is_found_by_strata_and_not_without():
    rng = np.random.default_rng(1)
    stratum, predictor = rng.integers(2, size=N), rng.integers(2, size=N)
    outcome = np.where(rng.random(N) < 0.2, stratum ^ predictor, rng.integers(2, size=N))
    assert association(stratum, outcome, predictor).p_value < 1e-6
    assert association(np.zeros(N, int), outcome, predictor).p_value > 1e-3


def test_the_stratum_itself_counts_as_no_dependence():
    rng = np.random.default_rng(2)
    stratum = rng.integers(5, size=N)
    outcome, predictor = (np.where(rng.random(N) < 0.5, stratum, rng.integers(5, size=N)) for _ in range(2))
    assert association(stratum, outcome, predictor).p_value > 1e-3
    assert association(np.zeros(N, int), outcome, predictor).p_value < 1e-9


@pytest.mark.parametrize("kind", ["even", "rare", "own"])
def test_actions_drawn_from_their_propensities_are_not_told(kind):
    rng = np.random.default_rng(3)
    found, wrong = [], []
    for _ in range(TIMES):
        propensity = {
            "even": np.full((N, 4), 0.25),
            "rare": np.tile([0.02, 0.08, 0.4, 0.5], (N, 1)),
            "own": rng.dirichlet(np.ones(4), size=N),
        }[kind]
        action = (rng.random((N, 1)) > np.cumsum(propensity, axis=1)).sum(axis=1).clip(0, 3)
        found.append(told_action(rng.integers(80, size=N), action, propensity).p_value)
        wrong.append(told_action(propensity.argmax(axis=1), action, propensity.mean(axis=0)[None].repeat(N, 0)).p_value)
    assert shares_below(found, 0.05)[0] < 0.05 + 5 * np.sqrt(0.0475 / TIMES)
    assert shares_below(found, 0.5)[0] > 0.3
    if kind == "own":  # wrong variant: the mean propensity in place of the row's own
        assert max(wrong) < 1e-6


def test_what_an_action_caused_tells_it():
    rng = np.random.default_rng(4)
    action, cell = rng.integers(3, size=N), rng.integers(10, size=N)
    caused = np.where(rng.random(N) < 0.3, action, rng.integers(3, size=N))
    assert told_action(cell * 3 + caused, action, np.full((N, 3), 1 / 3)).p_value < 1e-9


def slow(rng, episodes=60, steps=30):
    """A process that hardly changes within an episode."""
    return np.repeat(rng.normal(size=episodes), steps) + 0.1 * rng.normal(size=episodes * steps)


def test_two_slow_processes_are_told_apart_from_dependent_ones_by_whole_episodes():
    rng, found, naive = np.random.default_rng(5), [], []
    episode = np.repeat(np.arange(60), 30)
    for _ in range(TIMES):
        score, group = slow(rng), np.digitize(slow(rng), [-1, 0, 1])
        found.append(clustered(score, group, episode).p_value)
        naive.append(clustered(score, group, np.arange(len(episode))).p_value)
    assert shares_below(found, 0.05)[0] < 0.05 + 5 * np.sqrt(0.0475 / TIMES)
    assert shares_below(naive, 0.05)[0] > 0.5  # wrong variant: rows as if they were independent
    assert clustered(group + rng.normal(size=len(group)), group, episode).p_value < 1e-3


def test_where_nothing_varies_there_is_no_p_value():
    constant, varied = np.zeros(50, int), np.arange(50) % 2
    assert association(constant, constant, varied).p_value is None
    assert association(np.arange(50), varied, varied).p_value is None  # a stratum for each row
    assert clustered(np.zeros(50), varied, np.arange(50)).p_value is None
    assert clustered(np.zeros(0), varied[:0], varied[:0]).p_value is None


def test_the_strongest_of_several_counts_all_that_were_tried():
    results = [Dependence(1.0, 0.3, 9), Dependence(0.0, None, 0), Dependence(2.0, 0.02, 9)]
    assert strongest(results) == (2, Dependence(2.0, 0.04, 9))
    assert strongest([])[1].p_value is None
