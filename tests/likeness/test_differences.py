"""Differences of means are estimated without the noise of single rows, and their errors know of episodes.

Tests of means over many logs have a z value of at most 4 (an error rate below 1e-4), with seeds that were not chosen.
"""

import numpy as np
import pytest

from understudy.likeness import differences
from understudy.likeness.differences import (
    cells_of,
    explained_share,
    matrix_of,
    measured,
    noise_of,
    squared_difference,
    squared_difference_of_single_rows,
    squared_noise,
)
from understudy.likeness.pairs import lists_of_pairs, lists_within

N_LOGS, N_ROWS = 200, 150
MEANS = np.array([0.0, 0.3, 0.3, 1.0])  # of four states; 0 and 1 are called alike, and so are 1 and 2
LIKE = lists_of_pairs(np.array([0, 1]), np.array([1, 2]), 4)


def drawn(seed, noise=1.0):
    rng = np.random.default_rng(seed)
    state = rng.integers(4, size=N_ROWS)
    action = rng.integers(2, size=N_ROWS)
    return state, action, MEANS[state] + noise * rng.standard_normal(N_ROWS)


def true_difference(state, action):
    """The mean over rows of the mean squared difference of their like rows, with the true means."""
    total, n = 0.0, 0
    for s, a in zip(state, action, strict=True):
        like = [t for t in LIKE[1][LIKE[0][s] : LIKE[0][s + 1]] for _ in range(((state == t) & (action == a)).sum())]
        if like:
            total, n = total + np.mean([(MEANS[t] - MEANS[s]) ** 2 for t in like]), n + 1
    return total / n


def z_of(estimates):
    return abs(np.mean(estimates)) / (np.std(estimates) / len(estimates) ** 0.5)


def with_noise(cells, like):
    """The wrong variant: the noise of single rows is left in."""
    original = differences.noise_of
    try:
        differences.noise_of = lambda cells: (original(cells)[0], np.zeros_like(cells.rows))
        return squared_difference(cells, like)
    finally:
        differences.noise_of = original


def test_the_difference_is_unbiased_and_leaving_the_noise_in_is_caught():
    like = matrix_of(LIKE, np.arange(4))
    right, wrong = [], []
    for seed in range(N_LOGS):
        state, action, outcome = drawn(seed)
        cells, truth = cells_of(state, action, outcome, (4, 2)), true_difference(state, action)
        right.append(squared_difference(cells, like) - truth)
        wrong.append(with_noise(cells, like) - truth)
    assert z_of(right) < 4
    assert z_of(wrong) > 8


def test_the_noise_is_unbiased():
    found = [squared_noise(cells_of(*drawn(seed, noise=0.5), (4, 2))) - 0.25 for seed in range(N_LOGS)]
    assert z_of(found) < 4


def test_without_noise_the_difference_is_exact():
    state, action, outcome = drawn(0, noise=0.0)
    found = squared_difference(cells_of(state, action, outcome, (4, 2)), matrix_of(LIKE, np.arange(4)))
    assert found == pytest.approx(true_difference(state, action))


def test_single_rows_have_the_noise_of_the_others_or_keep_their_own():
    cells = cells_of(np.array([0, 0, 0, 1]), np.zeros(4, dtype=int), np.array([0.0, 2.0, 1.0, 5.0]), (2, 1))
    assert noise_of(cells)[1].ravel().tolist() == [1.0, 1.0]
    alone = cells_of(np.array([0, 1, 2, 2]), np.zeros(4, dtype=int), np.array([0.0, 2.0, 1.0, 3.0]), (3, 1))
    assert noise_of(alone)[1].ravel().tolist() == [0.0, 0.0, 2.0]  # half of the rows are alone: nothing is borrowed


def test_where_rows_never_repeat_the_noise_counts_as_difference_and_is_never_understated():
    like = matrix_of(lists_of_pairs(np.arange(0, 200, 2), np.arange(1, 200, 2), 200), np.arange(200))
    found = []
    for seed in range(100):
        outcome = np.random.default_rng(seed).standard_normal(200)  # all states are the same, with variance 1
        found.append(squared_difference(cells_of(np.arange(200), np.zeros(200, int), outcome, (200, 1)), like))
    assert np.mean(found) == pytest.approx(2.0, rel=0.05)


def single_rows(outcome_of, seed, noise, radius=0.1, n=500):
    """Estimates of the squared difference within a radius: told apart from noise, with it, and the truth."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, 1))
    mean = outcome_of(x[:, 0])
    cells, exact = (
        cells_of(np.arange(n), np.zeros(n, int), outcome, (n, 1))
        for outcome in (mean + noise * rng.standard_normal(n), mean)
    )
    like, nearer = (matrix_of(lists_within(x, np.arange(n), n, r), np.arange(n)) for r in (radius, radius / 2))
    found = squared_difference_of_single_rows(cells, like, nearer), squared_difference(cells, like)
    return (*found, squared_difference(exact, like), explained_share(cells, like))


@pytest.mark.parametrize(("outcome_of", "least", "most"), [(lambda x: 3 * x, 1.2, 1.8), (lambda x: x > 0.5, 0.75, 1.3)])
def test_the_noise_of_single_rows_is_told_from_rows_nearby_and_differences_are_not_understated(outcome_of, least, most):
    """By the mean over 100 logs: 1.5 times the truth where outcomes change steadily, and 1 where they jump."""
    found = np.mean([single_rows(outcome_of, seed, noise=0.3) for seed in range(100)], axis=0)
    told, with_noise, truth, _ = found
    assert least * truth < told < most * truth
    assert with_noise > 3 * truth  # the wrong variant


def test_outcomes_without_order_share_no_variance_and_orderly_ones_do():
    assert single_rows(lambda x: np.random.default_rng(1).standard_normal(len(x)), 0, noise=0.0)[3] < 0.2
    assert single_rows(lambda x: 3 * x, 0, noise=0.3)[3] > 0.6
    alone = cells_of(np.arange(3), np.zeros(3, int), np.ones(3), (3, 1))
    nobody = matrix_of(lists_of_pairs(np.empty(0, int), np.empty(0, int), 3), np.arange(3))
    assert np.isnan(squared_difference_of_single_rows(alone, nobody, nobody))
    assert explained_share(alone, nobody) == 0.0


def test_rows_without_a_state_or_an_outcome_are_left_out():
    cells = cells_of(np.array([0, -1, 0]), np.zeros(3, dtype=int), np.array([1.0, 5.0, np.nan]), (1, 1))
    assert (cells.rows.item(), cells.total.item()) == (1.0, 1.0)
    nothing = squared_difference(cells, matrix_of(lists_of_pairs(np.empty(0, int), np.empty(0, int), 1), np.arange(1)))
    assert np.isnan(nothing)


def clustered(seed):
    """Rows of 60 episodes; all rows of an episode are off by the same number, as rows of one logger's mood are."""
    rng = np.random.default_rng(seed)
    episode = np.repeat(np.arange(60), 10)
    state = rng.integers(4, size=600)
    return state, np.zeros(600, int), 3.0 * MEANS[state] + rng.standard_normal(60)[episode], episode


def test_errors_are_those_of_episodes_and_errors_of_single_rows_are_caught():
    """The mean error is within a fifth of the spread over logs; 300 logs know that to 4%."""
    found = {"episodes": [], "rows": []}
    for seed in range(300):
        state, action, outcome, episode = clustered(seed)
        groups = {"episodes": episode % 20, "rows": np.random.default_rng(1000 + seed).integers(20, size=600)}
        for name, group in groups.items():
            statistic = lambda cells: float(np.sum(cells.total) / np.sum(cells.rows))  # noqa: E731
            mean = measured(state, action, outcome + 0.0, group, (4, 1), statistic)
            found[name].append(mean.error)
    spread = np.std([clustered(seed)[2].mean() for seed in range(300)])
    assert np.mean(found["episodes"]) == pytest.approx(spread, rel=0.2)
    assert np.mean(found["rows"]) < 0.7 * spread


def test_an_error_needs_two_groups():
    state, action, outcome = drawn(0)
    found = measured(state, action, outcome, np.zeros(N_ROWS, int), (4, 2), squared_noise)
    assert np.isfinite(found.mean)
    assert np.isnan(found.error)
