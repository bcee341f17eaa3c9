"""Rates: of 400 series without a trend 5 % are called one, with three standard errors of 1.1 %."""

import numpy as np

from understudy.logs.statistics.tails import freedman, normal_tail, trend


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
