import numpy as np
import pytest

from tests.logs.rules.columns import changed, rules_found
from understudy.logs import Log, check


@pytest.mark.parametrize("row", [[-0.2, 0.6, 0.6], [1.4, -0.2, -0.2]])
def test_propensity_range(clean, row):
    found = rules_found(clean, propensity=changed(clean["propensity"], 3, row))
    assert ("error", "propensity-range") in found
    assert ("error", "propensity-sum") not in found


@pytest.mark.parametrize("value", [-0.1, 1.1])
def test_propensity_range_of_the_chosen_action(clean, value):
    chosen = clean["propensity"][np.arange(len(clean["action"])), clean["action"]]
    assert ("error", "propensity-range") in rules_found(clean, propensity=changed(chosen, 3, value))


@pytest.mark.parametrize(("off", "wrong"), [(9e-6, False), (2e-5, True)])
def test_propensity_sum(clean, off, wrong):
    p = clean["propensity"].copy()
    p[4] *= 1 + off
    assert (("error", "propensity-sum") in rules_found(clean, propensity=p)) == wrong


def test_float32_propensities_sum_well_enough(clean):
    assert rules_found(clean, propensity=clean["propensity"].astype(np.float32)) == set()


def test_propensity_zero(clean):
    row = np.full(3, 0.5)
    row[clean["action"][4]] = 0
    assert rules_found(clean, propensity=changed(clean["propensity"], 4, row)) == {("error", "propensity-zero")}


def test_propensity_zero_of_the_chosen_action(clean):
    p = changed(np.full(len(clean["action"]), 0.5), 4, 0)
    assert ("error", "propensity-zero") in rules_found(clean, propensity=p)


def test_no_propensity_names_qbe(clean):
    del clean["propensity"]
    assert "use qbe" in check(clean).findings[0].sentence
    assert rules_found(clean) == {("warning", "no-propensity")}


def test_chosen_propensity_names_qbe(clean):
    chosen = clean["propensity"][np.arange(len(clean["action"])), clean["action"]]
    assert rules_found(clean, propensity=chosen) == {("warning", "chosen-propensity")}


def sentence_of(rule, columns):
    return next(finding.sentence for finding in check(columns).findings if finding.rule == rule)


NUMBERED = {"observation": np.zeros(8, int), "reward": np.zeros(8), "action": [0, 5, 10, 15] * 2, "ends": "every-row"}


@pytest.mark.parametrize(
    ("p", "words"),
    [([[30.0, 70.0]] * 8, "percentages"), ([30.0, 0.5] * 4, "percentages"), ([[-0.5, -1.2]] * 8, "logarithms")],
)
def test_propensities_in_other_units_are_guessed(p, words):
    columns = {**NUMBERED, "action": [0, 1] * 4, "propensity": p}
    assert f"(are they {words}?)" in sentence_of("propensity-range", columns)
    assert "are they" not in sentence_of("propensity-range", {**columns, "propensity": [[-0.5, 1.5]] * 8})


def test_a_source_that_is_not_the_log_is_noted(clean):
    log = Log.from_columns(**clean)
    assert not [finding for finding in check(log).findings if finding.rule == "propensity-source"]
    given = check(log.with_propensities(lambda seen: log.propensity))
    assert [finding.sentence for finding in given.findings if finding.rule == "propensity-source"] == [
        "propensities are from a function"
    ]


def test_one_row_is_a_mistake_and_no_other_unit():
    n = 20
    columns = {"observation": np.zeros(n, int), "reward": np.zeros(n), "action": [0, 1] * 10, "ends": "every-row"}
    sentence = sentence_of("propensity-range", {**columns, "propensity": [0.5] * 19 + [-0.2]})
    assert sentence == "propensity is outside 0 to 1 in row 19; fix the column, or drop it and use qbe"
