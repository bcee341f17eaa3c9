import numpy as np
import pytest

from understudy.evaluation.intervals import Interval
from understudy.trust.onsets import Onset, holds_from, onset


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
