"""Rates: of 400 series without a trend 5% are called one, with three standard errors of 1.1%."""

import numpy as np

from understudy.logs.statistics.tails import STAKES, betting, changes, freedman, normal_tail, trend


def test_freedman_bounds_the_tail_of_rare_events():
    """P(two or more of 100 with p = .001) is .0046; a z-score of 6 would say 1e-9."""
    variance = 100 * 0.001 * 0.999
    assert 0.0046 < freedman(1.9, variance) < 0.2
    assert normal_tail(1.9 / variance**0.5) < 1e-8


def test_freedman_of_nothing_is_one():
    assert freedman(np.array([-1.0, 0.0]), np.zeros(2)).tolist() == [1.0, 1.0]


def uncorrected(series):
    """The wrong variant: values are taken to be independent."""
    return float(np.corrcoef(series, np.arange(len(series)))[0, 1] * np.sqrt(len(series) - 1))


def alarms(n, likeness, times, score=trend, level=0.05):
    """The share of series without a trend, each value like the one before, that are called one."""
    rng = np.random.default_rng(7)
    series = np.empty((times, n))
    series[:, 0] = rng.normal(size=times) / np.sqrt(1 - likeness**2)
    for t in range(1, n):
        series[:, t] = likeness * series[:, t - 1] + rng.normal(size=times)
    return np.mean([normal_tail(score(one)) < level for one in series])


def test_bets_on_numbers_that_are_rarely_large_are_rarely_won():
    """20,000 sums of 200 numbers of mean 1: each is 500 with probability .002, else 0. A z-score is wrong of them."""
    hits = np.random.default_rng(0).binomial(200, 0.002, size=20_000)
    bound = betting(np.log1p(STAKES * 499)[:, None] * hits, 200 - hits)
    assert np.mean(bound < 0.05) <= 0.05
    assert not (bound < 1e-4).any()
    z = (hits / 0.002 - 200) / np.sqrt(200 * 499)
    assert np.mean([normal_tail(one) / 2 < 1e-4 for one in z]) > 1e-3
    assert betting(np.log1p(STAKES * 9) * 60, 140) < 1e-6  # their mean is 3


def test_the_rate_of_false_trends_is_kept_also_where_neighbors_are_alike():
    assert alarms(200, 0.0, 400) < 0.05 + 3 * 0.011
    assert alarms(200, 0.6, 400) < 0.05 + 3 * 0.011
    assert alarms(200, 0.6, 400, uncorrected) > 0.25


def test_a_change_that_stays_is_a_trend():
    step = np.repeat([0.0, 1.0], 250)
    assert trend(step) > 15
    noisy = step + np.random.default_rng(0).normal(size=500)
    assert trend(noisy) > 6
    assert trend(-noisy) < -6


def test_rare_values_that_come_early_by_chance_are_no_change():
    """Of 2,000 series with 5 ones at random places of 1,000, corrected tails are below .001 in at most .1%.

    Three standard errors are .21%; the wrong variant, the normal law for the same z-scores, exceeds that.
    """
    rng = np.random.default_rng(8)
    bounded, normal = [], []
    for _ in range(2000):
        series = np.zeros(1000)
        series[rng.choice(1000, 5, replace=False)] = 1.0
        found = changes(series)
        bounded.append(len(found) * min(one.tail for one in found) < 0.001)
        normal.append(len(found) * min(normal_tail(one.z) for one in found) < 0.001)
    assert np.mean(bounded) <= 0.001 + 0.0021
    assert np.mean(normal) > 0.001 + 0.0021


def test_a_level_that_changes_early_is_found_at_its_place():
    noise = np.random.default_rng(0).normal(size=1000)
    found = max(changes(noise - 2.0 * (np.arange(1000) < 62)), key=lambda one: one.z)
    assert found.cut == "sixteenth"
    assert found.tail < 1e-12
    assert abs(trend(noise - 2.0 * (np.arange(1000) < 62))) < found.z
    assert len(changes(noise[:30])) == 2  # a trend, and halves


def test_a_constant_series_does_not_change():
    assert [one.tail for one in changes(np.ones(50))] == [1.0]
