"""The margins are those that were written down before results were seen: a change needs a reason in the docs."""

import numpy as np
import pytest

from understudy.likeness import rule
from understudy.likeness.rule import chosen_radius, offers_reuse


def test_the_margins_are_those_that_were_committed_first():
    margins = rule.VALUE_SHARE, rule.LEADS_SHARE, rule.NOISE_SHARE, rule.LEAST_LIKE, rule.LEVEL
    assert margins == (0.05, 0.25, 0.05, 0.1, 0.95)


def test_the_largest_radius_that_keeps_all_margins_is_chosen_as_long_as_all_smaller_ones_do():
    good = (0.5, 0.04, 0.2)
    assert chosen_radius([(1.0, *good), (2.0, *good), (3.0, 0.5, 0.06, 0.2)]) == 2.0
    assert chosen_radius([(1.0, 0.5, 0.06, 0.2), (2.0, *good)]) is None
    assert chosen_radius([(1.0, *good), (2.0, 0.05, 0.04, 0.2), (3.0, *good)]) == 1.0


@pytest.mark.parametrize(
    "line", [(0.05, 0.04, 0.2), (0.5, 0.05, 0.2), (0.5, 0.04, 0.25), (0.5, np.nan, 0.2), (0.5, 0.04, np.nan), (0, 0, 0)]
)
def test_one_margin_that_is_not_kept_is_enough_to_refuse(line):
    assert chosen_radius([(1.0, *line)]) is None
    assert chosen_radius([]) is None


def test_reuse_needs_little_noise_and_rows_that_tell_it():
    assert offers_reuse(0.04, 0.5)
    assert not offers_reuse(0.05, 0.5)
    assert not offers_reuse(0.0, 0.05)
    assert not offers_reuse(np.nan, 0.5)
