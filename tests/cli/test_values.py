import argparse

import pytest

from understudy.cli.values import LEARNER_SETTINGS, bound, halves, not_negative_whole, positive, several, share


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (positive, "1", 1), (not_negative_whole, "0", 0), (not_negative_whole, "12", 12), (share, "0.25", 0.25),
        (several, "3", 3), (halves, "5", 5), (bound, "running", "running"), (bound, "2.5", 2.5),
        (LEARNER_SETTINGS["delay"], "0", 0), (LEARNER_SETTINGS["batch"], "7", 7),
    ],
)  # fmt: skip
def test_values_in_their_range_are_read(read, text, value):
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (positive, "0"), (not_negative_whole, "-1"), (not_negative_whole, "1.5"), (share, "0"), (share, "1"),
        (share, "nan"), (several, "2"), (halves, "1"), (bound, "0.5"), (bound, "x"), (LEARNER_SETTINGS["batch"], "0"),
    ],
)  # fmt: skip
def test_others_are_refused(read, text):
    with pytest.raises((ValueError, argparse.ArgumentTypeError)):
        read(text)
