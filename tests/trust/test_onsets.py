import numpy as np
import pytest

from understudy.evaluation.intervals import Interval
from understudy.trust.onsets import Onset, holds_from, onset, rising


def curve(mean, half_width=1.0):
    mean = np.asarray(mean, dtype=float)
    steps, nothing = np.arange(1, len(mean) + 1), np.zeros(len(mean))
    return Interval(steps, mean, mean - half_width, mean + half_width, 0.95, int(steps[-1]), nothing, nothing)


@pytest.mark.parametrize(
    ("mean", "expected"),
    [
        ([-3, -2, -0.5, 0.5, 2, 3], Onset(2, 3, 4)),
        ([2, 2, 2], Onset(0, 0, 0)),
        ([-2, -2, -2], Onset(3, None, None)),
        ([-0.5, 0.5, 0.5], Onset(0, 1, None)),
        ([2, -2, 2], Onset(0, 2, 2)),  # a window below, after one that is not, tells nothing of the earliest
        ([2, 0.5, 2], Onset(0, 0, 2)),
    ],
)
def test_a_curve_begins_to_be_above_zero_between_its_first_and_its_last_doubtful_window(mean, expected):
    assert onset(curve(mean)) == expected


def test_no_window_is_skipped_in_either_direction():
    """Windows are tested one after the other: the first that is not told ends the search."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        one = curve(rng.normal(0, 3, 8))
        found = onset(one)
        assert (one.high[: found.earliest] < 0).all()
        assert found.earliest == 8 or one.high[found.earliest] >= 0
        latest = 8 if found.latest is None else found.latest
        assert (one.low[latest:] > 0).all()
        assert latest == 0 or one.low[latest - 1] <= 0


def test_what_holds_nowhere_at_the_end_holds_from_nowhere():
    assert holds_from(np.array([False])) is None
    assert holds_from(np.array([True])) == 0


def test_the_nearest_curve_that_never_falls_has_the_means_of_its_flat_parts():
    assert rising(np.array([3.0, 1.0, 2.0])).tolist() == [2.0, 2.0, 2.0]
    assert rising(np.array([1.0, 2.0, 2.0, 5.0])).tolist() == [1.0, 2.0, 2.0, 5.0]


def test_where_a_noisy_curve_passes_a_level_is_not_moved_to_its_end():
    """It passes 0 at window 4 of 32; the last window in which its noise is below 0 is far later."""
    rng, by_mean, raw = np.random.default_rng(0), [], []
    for _ in range(200):
        mean = np.where(np.arange(32) < 4, -1.0, 1.0) + rng.normal(0, 0.8, 32)
        by_mean.append(onset(curve(mean, half_width=5.0)).by_mean)
        raw.append(holds_from(mean > 0))
    assert abs(np.median(by_mean) - 4) <= 1
    assert np.median([place for place in raw if place is not None]) > 15


def test_the_beginning_by_the_mean_lies_between_the_earliest_and_the_latest():
    rng = np.random.default_rng(1)
    for _ in range(300):
        found = onset(curve(np.linspace(-2, 2, 12) + rng.normal(0, 1, 12)))
        if found.by_mean is not None:
            assert found.earliest <= found.by_mean <= (11 if found.latest is None else found.latest)
