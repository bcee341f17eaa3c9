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


def test_a_column_of_times_or_ids_is_no_column_of_actions():
    log = {"observation": np.zeros(200, int), "reward": np.zeros(200), "ends": "every-row"}
    found = check({**log, "action": [f"2026-05-28T20:{n:04}" for n in range(200)]})
    (finding,) = [one for one in found.findings if one.rule == "action-once"]
    assert finding.sentence.startswith("200 different actions were taken in 200 rows")
    assert not found.believable
    for fewer in (np.arange(200) // 2, np.arange(200) % 7):
        assert "action-once" not in str(check({**log, "action": fewer}))
    assert "action-once" not in str(check({name: one[:99] for name, one in log.items() if name != "ends"} | {
        "action": np.arange(99), "ends": "every-row"}))  # fmt: skip


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
