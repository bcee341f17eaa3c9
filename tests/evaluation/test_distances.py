import numpy as np
import pytest

from understudy.evaluation.distances import squared_distance
from understudy.evaluation.luck_of_one_log import Luck


def wandering(rng, n_runs, n_points=30, shift=0.0):
    """Curves with strongly correlated noise, as learning curves have: a random walk around a common rise."""
    noise = rng.normal(size=(n_runs, n_points)).cumsum(axis=1) / np.sqrt(n_points)
    return np.linspace(0, 5, n_points) + shift * np.linspace(0, 1, n_points) + noise


@pytest.mark.slow
def test_the_squared_error_is_unbiased_where_the_rmse_is_not():
    """Mean of 1,000 estimates within 5 standard errors: false alarms below 1e-6. The plain RMSE fails the same test."""
    rng = np.random.default_rng(1)
    debiased, plain = [], []
    for _ in range(1000):
        ours, theirs = wandering(rng, 8, shift=0.5), wandering(rng, 12)
        debiased.append(squared_distance(ours, theirs, 0.95)[0])
        plain.append(np.mean((ours.mean(0) - theirs.mean(0)) ** 2))
    truth = np.mean((0.5 * np.linspace(0, 1, 30)) ** 2)

    def standard_errors_off(estimates):
        return abs(np.mean(estimates) - truth) / (np.std(estimates) / np.sqrt(len(estimates)))

    assert standard_errors_off(debiased) < 5 < standard_errors_off(plain)


@pytest.mark.parametrize("shift", [0.0, pytest.param(0.3, marks=pytest.mark.slow), 3.0])
@pytest.mark.parametrize("n_runs", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_the_interval_covers_the_truth_as_often_as_it_says(shift, n_runs):
    """500 intervals at 95%: fewer than 90.6% would be 4.5 standard deviations below; an 80% interval is caught."""
    rng = np.random.default_rng(n_runs)
    truth = np.mean((shift * np.linspace(0, 1, 30)) ** 2)
    covered = {0.95: 0, 0.8: 0}
    for _ in range(500):
        ours, theirs = wandering(rng, n_runs, shift=shift), wandering(rng, n_runs)
        for level in covered:
            low, high = squared_distance(ours, theirs, level)[1]
            covered[level] += low <= truth <= high
    assert covered[0.95] / 500 > 0.906
    if shift >= 1.0:  # near 0 the interval is wide on purpose
        assert covered[0.8] / 500 < 0.906


def test_equivalence_is_claimed_wrongly_at_most_as_often_as_stated():
    """At a true error of exactly the margin, "equivalent" is wrong: at most 2.5% + 4 s.d. of 1,000 verdicts."""
    rng = np.random.default_rng(3)
    margin = np.sqrt(np.mean((0.5 * np.linspace(0, 1, 30)) ** 2))
    wrong = 0
    for _ in range(1000):
        ours, theirs = wandering(rng, 50, shift=0.5), wandering(rng, 50)
        wrong += squared_distance(ours, theirs, 0.95)[1][1] < margin**2
    assert wrong / 1000 < 0.025 + 4 * np.sqrt(0.025 * 0.975 / 1000)


def luck_of(variance, error=0.0, n=30, fewest=5.0):
    return Luck(np.full(n, variance), np.full(n, error), n, fewest)


def test_the_luck_of_a_log_makes_the_interval_wider_and_the_less_it_is_known_the_more():
    rng = np.random.default_rng(5)
    ours, theirs = wandering(rng, 50, shift=1.0), wandering(rng, 50)
    plain, known, guessed = (
        squared_distance(ours, theirs, 0.95, luck)[1] for luck in (None, luck_of(0.05), luck_of(0.05, error=0.01))
    )
    assert guessed[0] <= known[0] < plain[0] < plain[1] < known[1] < guessed[1]


def test_luck_counts_where_runs_do_not_differ():
    ours, theirs = np.full((4, 30), 0.3), np.zeros((5, 30))
    assert squared_distance(ours, theirs, 0.95)[1] == (pytest.approx(0.09), pytest.approx(0.09))
    low, high = squared_distance(ours, theirs, 0.95, luck_of(0.04, error=1e-4))[1]
    assert low == 0.0
    assert np.sqrt(high) > 0.5


def test_luck_that_is_taken_too_large_does_not_make_curves_equal():
    rng = np.random.default_rng(6)
    ours, theirs = wandering(rng, 50), wandering(rng, 50)
    assert squared_distance(ours, theirs, 0.95, luck_of(1.0))[1][1] > 0.5


def test_verdicts_with_luck_are_wrong_at_most_as_often_as_stated():
    """400 pairs whose sides each share a shift: "different" in at most 5% + 4 s.d.; without luck in more."""
    rng = np.random.default_rng(7)
    wrong = {True: 0, False: 0}
    for _ in range(400):
        shift = 0.2 * rng.standard_normal(2)
        ours, theirs = wandering(rng, 40) + shift[0], wandering(rng, 40) + shift[1]
        for known in wrong:
            luck = luck_of(0.08, error=2 * 0.08**2 / 19) if known else None
            wrong[known] += squared_distance(ours, theirs, 0.95, luck)[1][0] > 0
    assert wrong[True] / 400 < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 400) < wrong[False] / 400
