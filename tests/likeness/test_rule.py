"""The margins are those that were written down before any result was seen: a change needs a reason in the docs."""

from understudy.likeness import rule


def test_the_margins_are_those_that_were_committed_first():
    margins = rule.VALUE_SHARE, rule.LEADS_SHARE, rule.NOISE_SHARE, rule.LEAST_LIKE, rule.LEVEL
    assert margins == (0.05, 0.25, 0.05, 0.1, 0.95)
