import numpy as np
import pyarrow as pa
import pytest

from tests.evaluation.test_luck_of_one_log import EPISODES, READINGS, experiment
from understudy.evaluation.intervals import RESOLUTION, HalvedReadings, interval_of

STEPS = np.arange(1, READINGS + 1) * EPISODES // READINGS


def readings(whole, halves):
    return HalvedReadings(STEPS, whole, halves, np.isfinite(halves).mean(axis=(0, 1)))


def test_intervals_hold_the_truth_as_often_as_they_say_and_naive_ones_do_not():
    """400 logs. A coverage below .90 would be 4.6 standard deviations below .95; the naive interval fails the test."""
    rng = np.random.default_rng(0)
    covered, naive = [], []
    for _ in range(400):
        found = interval_of(readings(*experiment(rng)))
        covered.append((found.low <= 0) & (found.high >= 0))
        low, high = found.naive
        naive.append((low <= 0) & (high >= 0))
    covered, naive = (np.mean(each, axis=0) for each in (covered, naive))
    assert covered.min() > 0.90
    assert covered.mean() < 0.99
    assert naive.min() < 0.90


def test_a_higher_level_is_wider_and_more_luck_too():
    rng = np.random.default_rng(1)
    given = readings(*experiment(rng))
    narrow, wide = (interval_of(given, level) for level in (0.8, 0.99))
    assert (wide.high - wide.low > narrow.high - narrow.low).all()
    lucky = interval_of(readings(*experiment(rng, luck=4.0)))
    assert (lucky.from_log > narrow.from_log).all()


def test_it_says_from_where_on_luck_is_extrapolated():
    found = interval_of(readings(*experiment(np.random.default_rng(2))))
    assert found.reach == EPISODES // 2
    assert "beyond step 32 the log's luck is extrapolated" in str(found)
    assert found.to_frame()["seen"].to_pylist() == [True] * 8 + [False] * 8


def test_it_unpacks_and_becomes_a_table():
    found = interval_of(readings(*experiment(np.random.default_rng(3))))
    steps, mean, low, high = found
    assert (low < mean).all()
    assert (mean < high).all()
    frame = found.to_frame()
    assert isinstance(frame, pa.Table)
    assert frame.column_names == ["step", "mean", "low", "high", "from_runs", "from_log", "seen"]
    assert frame["step"].to_pylist() == steps.tolist()
    assert found.final == (mean[-1], low[-1], high[-1])
    assert "<table" in found._repr_html_()


def test_where_all_runs_agree_the_interval_keeps_a_smallest_width():
    curve = np.linspace(0.0, 1.0, READINGS)
    found = interval_of(readings(np.tile(curve, (5, 1)), np.tile(curve, (20, 3, 1))))
    np.testing.assert_allclose(found.high - found.mean, RESOLUTION)


def test_where_halves_say_nothing_there_is_no_interval():
    whole, halves = experiment(np.random.default_rng(4))
    found = interval_of(readings(whole, np.full_like(halves, np.nan)))
    assert np.isnan(found.low).all()
    assert found.reach == 0


@pytest.mark.parametrize("missing", [0.1, 0.3])
def test_runs_without_a_reading_are_left_out(missing):
    rng = np.random.default_rng(5)
    whole, halves = experiment(rng)
    holes = [np.where(rng.random(part.shape) < missing, np.nan, part) for part in (whole, halves)]
    found = interval_of(HalvedReadings(STEPS, *holes, np.isfinite(halves).mean(axis=(0, 1))))
    assert np.isfinite(found.low).all()
    np.testing.assert_allclose(found.mean, np.nanmean(holes[0], axis=0))
