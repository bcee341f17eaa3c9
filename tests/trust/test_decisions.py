"""Decisions on readings whose truth is known: what a log adds to all of its runs, and what runs add by themselves."""

from dataclasses import replace

import numpy as np
import pytest

from understudy.evaluation.intervals import HalvedReadings, interval_of
from understudy.trust.decisions import decide, first_of_later_half, interval_of_difference, later_halves

K, RUNS, HALVES, RUNS_OF_HALF, EPISODES = 8, 20, 20, 6, 100


def readings(rng, truth=0.0, luck=3.0, noise=1.0, halves_see_luck=True):
    """Readings on one log: each of its episodes shifts runs by what it happens to hold. Halves reach half as far."""
    episodes = rng.normal(0, luck, EPISODES)
    halves = [rng.permutation(episodes)[: EPISODES // 2].mean() for _ in range(HALVES)]
    whole = truth + episodes.mean() + rng.normal(0, noise, (RUNS, K))
    shift = np.array(halves)[:, None, None] if halves_see_luck else episodes.mean()
    found = truth + shift + rng.normal(0, noise, (HALVES, RUNS_OF_HALF, K))
    found[:, :, K // 2 :] = np.nan
    return HalvedReadings(np.arange(1, K + 1) * 10, whole, found, np.isfinite(found).mean(axis=(0, 1)))


def decided(n, seed, **given):
    """The share of logs on which two learners are told apart, the first truly ahead of the second by `truth`."""
    rng = np.random.default_rng(seed)
    pairs = ((readings(rng, **given), readings(rng, **given | {"truth": 0.0})) for _ in range(n))
    found = [decide(*pair) for pair in pairs]
    return np.mean([one.ahead for one in found]), np.mean([one.behind for one in found])


def test_equal_learners_are_told_apart_in_at_most_one_log_of_twenty():
    """100 logs: at a true rate of 5%, more than 10 are expected in one seed of a hundred; this seed is fixed."""
    assert sum(decided(100, seed=1)) <= 10 / 100


def test_the_same_test_catches_an_interval_that_leaves_the_logs_luck_out():
    assert sum(decided(100, seed=1, halves_see_luck=False)) > 10 / 100


def test_a_large_difference_is_found_and_never_turned_around():
    ahead, behind = decided(40, seed=2, truth=3.0)
    assert ahead > 0.6  # beyond what halves reach, the luck is extrapolated with care
    assert behind == 0.0


def constant(values, seed=0):
    """Readings of runs that differ little, on a log without luck."""
    rng = np.random.default_rng(seed)
    whole = np.array(values) + rng.normal(0, 0.1, (RUNS, len(values)))
    halves = np.array(values) + rng.normal(0, 0.1, (HALVES, RUNS_OF_HALF, len(values)))
    return HalvedReadings(np.arange(1, len(values) + 1) * 10, whole, halves, np.ones(len(values)))


def test_a_lead_begins_where_every_later_window_is_decided():
    found = decide(constant([0, 0, 1, 0, 1, 1, 1, 1]), constant([0] * 8, seed=1))
    assert found.ahead
    assert (found.first, found.begins, found.reverse) == (4, 4, False)
    assert found.low < 1.0 < found.high
    mirrored = decide(constant([0] * 8, seed=1), constant([0, 0, 1, 0, 1, 1, 1, 1]))
    assert mirrored.behind
    assert mirrored.begins == 4
    assert mirrored.mean == pytest.approx(-found.mean)


def test_a_lead_from_the_first_window_on_begins_there():
    assert decide(constant([1] * 8), constant([0] * 8, seed=1)).begins == 0


def test_a_lead_that_turned_around_is_said():
    assert decide(constant([-1, -1, 0, 0, 1, 1, 1, 1]), constant([0] * 8, seed=1)).reverse


def test_a_lead_that_the_last_window_does_not_show_has_no_beginning():
    found = decide(constant([0, 0, 0, 0, 1, 1, 1, 0]), constant([0] * 8, seed=1))
    assert found.ahead
    assert found.begins is None


def test_learners_that_do_the_same_are_not_told_apart():
    one = constant([0, 1, 2, 3])
    other = replace(one, whole=one.whole + 1e-14, halves=one.halves + 1e-14)  # rounding
    for found in (decide(one, one), decide(one, other)):
        assert not found.ahead
        assert not found.behind


def test_the_later_half_is_a_plain_mean_of_its_windows():
    whole = np.array([[1.0, 2.0, 4.0, 8.0]])
    found = later_halves(HalvedReadings(np.arange(4), whole, whole[None], np.ones(4)))
    assert found.whole.tolist() == [[1.0, 2.0, 3.0, 6.0]]
    assert found.halves.tolist() == [[[1.0, 2.0, 3.0, 6.0]]]
    assert [first_of_later_half(n) for n in (1, 2, 3, 4)] == [0, 1, 1, 2]


def test_the_later_half_skips_what_is_missing_and_ends_where_readings_end():
    whole = np.array([[1.0, np.nan, 4.0, np.nan]])
    found = later_halves(HalvedReadings(np.arange(4), whole, whole[None], np.ones(4)))
    assert np.array_equal(found.whole, [[1.0, np.nan, 4.0, np.nan]], equal_nan=True)


def test_a_difference_is_never_more_uncertain_than_its_parts_together():
    rng = np.random.default_rng(3)
    one, other = readings(rng), readings(rng)
    apart = replace(one, halves=one.halves + rng.normal(0, 50, (HALVES, 1, 1)))  # as if halves showed much luck
    found = interval_of_difference(apart, other)
    parts = [interval_of(part) for part in (apart, other)]
    assert (found.high - found.low <= sum(part.high - part.low for part in parts) + 1e-9).all()
