import numpy as np
import pytest

from tests.logs.rules.columns import changed, rules_found
from understudy.logs import check


@pytest.mark.parametrize("value", [-1, 3])
def test_action_range(clean, value):
    assert ("error", "action-range") in rules_found(clean, action=changed(clean["action"], 3, value))


def test_action_never_logged(clean):
    del clean["propensity"]
    audit = check({**clean, "n_actions": 9})
    finding = next(finding for finding in audit.findings if finding.rule == "action-never-logged")
    assert finding.count == 6
    assert "(3, 4, 5, 6, 7, ...)" in finding.sentence


def sentence_of(rule, columns):
    return next(finding.sentence for finding in check(columns).findings if finding.rule == rule)


NUMBERED = {"observation": np.zeros(8, int), "reward": np.zeros(8), "action": [0, 5, 10, 15] * 2, "ends": "every-row"}


def test_numbers_with_gaps_are_advised_as_labels():
    labels = 'the column holds 0, 5, 10, 15: if these are the actions, say actions=["0", "5", "10", "15"]'
    outside = sentence_of("action-range", {**NUMBERED, "propensity": np.full((8, 4), 0.25)})
    assert f"{labels}, all 4 of them in the order of the propensity columns" in outside
    assert labels in sentence_of("action-never-logged", NUMBERED)
    assert check({**NUMBERED, "actions": ["0", "5", "10", "15"]}).n_actions == 4
    assert "holds" not in sentence_of("action-never-logged", {**NUMBERED, "action": [0, 1, 3, 4] * 2})
    assert "holds" not in sentence_of("action-never-logged", {**NUMBERED, "n_actions": 40})
