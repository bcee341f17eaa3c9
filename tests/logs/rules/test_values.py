import numpy as np
import pytest

from tests.logs.rules.columns import changed, rules_found
from understudy.logs import Log, check


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["reward", "observation", "next_observation", "propensity"])
def test_missing(clean, name, value):
    column = changed(clean[name].astype(float), 5, value)
    audit = check({**clean, name: column})
    finding = audit.findings[0]
    assert (finding.rule, finding.rows, finding.count) == ("missing", (5,), 1)
    assert name in finding.sentence


def test_images_are_compared_in_blocks(clean, monkeypatch):
    monkeypatch.setattr("understudy.logs.blocks.BLOCK", 64)
    images = {name: np.multiply.outer(clean[name], np.ones((2, 3), np.uint8)) for name in ("observation",)}
    images["next_observation"] = np.multiply.outer(clean["next_observation"], np.ones((2, 3), np.uint8))
    assert rules_found({**clean, **images}) == set()
    images["next_observation"][[0, 40], 1, 2] = 99
    finding = check({**clean, **images}).findings[0]
    assert (finding.rule, finding.rows) == ("next-observation-continuity", (0, 40))


def notes_of(columns):
    return [finding.rule for finding in check(columns).findings if finding.severity == "note"]


def test_what_was_derived_or_dropped_is_noted():
    bare = {"observation": [0, 1, 2, 3], "action": [0, 1, 0, 1], "reward": [0, 0, 0, 0]}
    assert notes_of(bare) == ["unfinished", "one-episode", "no-next-observation", "dropped"]


def sentence_of(rule, columns):
    return next(finding.sentence for finding in check(columns).findings if finding.rule == rule)


NUMBERED = {"observation": np.zeros(8, int), "reward": np.zeros(8), "action": [0, 5, 10, 15] * 2, "ends": "every-row"}


def test_one_step_decisions_are_one_note_of_next_observations(clean):
    notes = [finding.sentence for finding in check(NUMBERED).findings if finding.rule == "no-next-observation"]
    assert notes == ["8 terminated rows have none, and show their own observation"]
    told = {**NUMBERED, "ends": None, "terminated": [True] * 8}
    assert notes_of(told) == ["no-next-observation"]
    one = {name: column[:1] for name, column in clean.items() if name not in ("episode", "next_observation")}
    one |= {"terminated": [True], "truncated": [False]}
    assert "1 terminated row has none, and shows its own observation" in sentence_of("no-next-observation", one)
    assert str(check(one)).startswith("1 row, 1 episode, 3 actions")
    assert repr(Log.from_columns(**one)).startswith("Log of 1 row, 1 episode, 3 actions")


def test_a_missing_observation_is_said_once():
    columns = {"observation": [0.0, np.nan, 2.0, 3.0, 4.0, 5.0], "action": [0] * 6, "reward": [0.0] * 6}
    columns["terminated"] = [False, False, True] * 2
    assert [finding.rule for finding in check(columns).findings].count("missing") == 1
    dropped = {
        **columns,
        "observation": [0.0, 1.0, 2.0, 3.0, 4.0, np.nan],
        "terminated": [False, False, True] + [False] * 3,
    }
    assert "next_observation is NaN" in sentence_of("missing", dropped)
