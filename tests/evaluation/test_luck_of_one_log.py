"""Luck is estimated on logs made by a formula: a log is n numbers, a run the mean of those it has used so far."""

import numpy as np
import pytest

from understudy.evaluation.luck_of_one_log import Luck, Moments, degrees_of_freedom, luck_of_one_log, variance_among

EPISODES, READINGS, HALVES = 64, 16, 20


def runs_on(episodes, n_runs, n_readings, rng, noise=1.0):
    """Readings of runs that use up a log in random order: after k steps the mean of k values, and noise."""
    order = np.stack([rng.permutation(len(episodes)) for _ in range(n_runs)])
    used = episodes[order].cumsum(axis=1) / np.arange(1, len(episodes) + 1)
    at = (np.arange(1, n_readings + 1) * EPISODES // n_readings) - 1
    found = np.full((n_runs, n_readings), np.nan)
    reached = at < len(episodes)
    found[:, reached] = used[:, at[reached]]
    return found + noise * rng.standard_normal(found.shape)


def experiment(rng, luck=1.0, noise=1.0, n_runs=60, runs_of_half=12):
    episodes = luck * rng.standard_normal(EPISODES)
    whole = runs_on(episodes, n_runs, READINGS, rng, noise)
    halves = np.stack(
        [runs_on(rng.permutation(episodes)[: EPISODES // 2], runs_of_half, READINGS, rng, noise) for _ in range(HALVES)]
    )
    return whole, halves


def estimated(whole, halves):
    going = np.isfinite(halves).mean(axis=(0, 1))
    return luck_of_one_log(np.nanvar(whole, axis=0, ddof=1), Moments.of(halves), going)


def test_moments_are_of_the_runs_that_have_a_reading():
    readings = np.array([[1.0, np.nan, np.nan], [3.0, 5.0, np.nan]])
    found = Moments.of(readings)
    np.testing.assert_array_equal(found.mean, [2.0, 5.0, np.nan])
    np.testing.assert_array_equal(found.noise, [1.0, np.nan, np.nan])


def test_the_variance_among_halves_is_that_of_the_log_without_that_of_runs():
    """Mean of 300 estimates within 5 standard errors. With the part due to runs left in, the same test fails."""
    rng = np.random.default_rng(0)
    without, within = [], []
    for _ in range(300):
        _, halves = experiment(rng, noise=2.0)
        first = halves[:, :, : READINGS // 2]
        without.append(variance_among(Moments.of(first))[-1])
        within.append(np.var(first.mean(axis=1), axis=0, ddof=1)[-1])
    truth = 1.0 / EPISODES  # all runs of a half have used it up there, and differ by noise alone

    def off(estimates):
        return abs(np.mean(estimates) - truth) / (np.std(estimates) / np.sqrt(len(estimates)))

    assert off(without) < 5 < off(within)


def test_halves_tell_the_luck_up_to_where_they_reach_and_a_careful_guess_beyond():
    rng = np.random.default_rng(1)
    lucks = [estimated(*experiment(rng, noise=0.3)) for _ in range(100)]
    assert all(luck.n_seen == READINGS // 2 for luck in lucks)
    mean = np.mean([luck.variance for luck in lucks], axis=0)
    truth = 1.0 / EPISODES  # of the mean over runs: two runs share k/64 of their k values
    np.testing.assert_allclose(mean[1 : READINGS // 2], truth, rtol=0.3)
    assert (mean[READINGS // 2 :] > 0.8 * truth).all()


def test_without_luck_little_is_found():
    rng = np.random.default_rng(2)
    lucks = [estimated(*experiment(rng, luck=0.0)) for _ in range(50)]
    noise = 1.0 / 60
    assert np.mean([luck.variance for luck in lucks]) < noise


def test_where_no_half_reaches_a_reading_nothing_is_known():
    whole, halves = experiment(np.random.default_rng(3))
    luck = estimated(whole, np.full_like(halves, np.nan))
    assert luck.n_seen == 0
    assert np.isnan(luck.variance).all()


def test_readings_of_survivors_are_not_used():
    whole, halves = experiment(np.random.default_rng(4))
    spread, going = whole.var(axis=0, ddof=1), np.where(np.arange(READINGS) < 4, 1.0, 0.5)
    assert luck_of_one_log(spread, Moments.of(halves), going).n_seen == 4


@pytest.mark.parametrize("spread", [0.0, 1e-30])
def test_where_runs_do_not_differ_halves_are_believed(spread):
    """Also where they differ by rounding."""
    halves = np.repeat(np.random.default_rng(5).standard_normal((HALVES, 1, 1)), 3, axis=1) * np.ones((1, 1, 4))
    luck = luck_of_one_log(np.full(4, spread), Moments.of(halves), np.array([1.0, 1.0, 0.0, 0.0]))
    np.testing.assert_allclose(luck.variance, halves[:, 0, 0].var(ddof=1))


def test_runs_that_have_used_up_the_log_still_have_its_luck():
    """Without noise of their own, runs agree at the end, where all have used all values. The luck is still there."""
    rng = np.random.default_rng(6)
    lucks = []
    for _ in range(50):
        whole, halves = experiment(rng, noise=0.0)
        assert np.var(whole[:, -1]) < 1e-20
        lucks.append(estimated(whole, halves).variance[-1])
    assert np.median(lucks) == pytest.approx(1 / EPISODES, rel=1.0)
    assert min(lucks) > 0.2 / EPISODES


def test_in_log_order_halves_show_half_of_the_luck():
    whole, halves = experiment(np.random.default_rng(7))
    spread, going = whole.var(axis=0, ddof=1), np.where(np.arange(READINGS) < 4, 1.0, 0.0)
    plain, ordered = (luck_of_one_log(spread, Moments.of(halves), going, in_log_order=log) for log in (False, True))
    assert (ordered.variance[:4] > 1.5 * plain.variance[:4]).all()


def test_few_halves_know_less():
    whole, halves = experiment(np.random.default_rng(8))
    few, many = (estimated(whole, halves[:n]) for n in (4, HALVES))
    assert few.fewest_degrees == 3.0
    assert (
        degrees_of_freedom(whole.var(axis=0) / 60, 60, few) < degrees_of_freedom(whole.var(axis=0) / 60, 60, many)
    ).any()
    assert (few.error >= 2 * few.variance**2 / 3).all()


@pytest.mark.parametrize(
    ("variance", "error", "expected"), [(0.0, 0.0, 99.0), (1.0, 2.0 / 19, 19.2), (1.0, 100.0, 5.0)]
)
def test_degrees_of_freedom_are_those_of_the_part_that_matters(variance, error, expected):
    luck = Luck(np.array([variance]), np.array([error]), 1)
    assert degrees_of_freedom(np.array([0.01]), 100, luck)[0] == pytest.approx(expected, rel=0.03)
