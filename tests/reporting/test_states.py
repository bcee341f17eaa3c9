from dataclasses import replace

import numpy as np
import pytest

from understudy.encoders import Function, Identity
from understudy.errors import ContractError
from understudy.logs import Log
from understudy.reporting import report
from understudy.reporting.states import state_box, state_boxes

rng = np.random.default_rng(0)


def audit_of(n_told, n_other=0, n_few=0, name=None):
    """An audit: states where x tells the reward, states where it does not, and states of a few rows."""
    state = np.concatenate([np.repeat(np.arange(n_told + n_other), 100), 100 + np.repeat(np.arange(n_few), 5)])
    x = np.column_stack([state, rng.random(len(state))])
    reward = np.where(state < n_told, x[:, 1] > 0.5, rng.integers(2, size=len(x)))
    log = Log.from_columns(
        observation=x, next_observation=np.zeros_like(x), action=np.zeros(len(x), dtype=int), reward=reward,
        terminated=np.ones(len(x), dtype=bool), n_actions=1,
    )  # fmt: skip
    encoder = Function(lambda x: x[:, 0].astype(int))
    if name:
        encoder.f.__qualname__ = name
    return encoder.audit(log)


@pytest.fixture
def drawn(runs_of, tmp_path):
    """The page of some runs with these states."""

    def draw(states):
        return report({"psrs": runs_of([50, 60])}, tmp_path / "page.html", states=states).read_text()

    return draw


def test_suspicious_states_are_the_first_thing_on_the_page(drawn):
    page = drawn(audit_of(4, 1))
    body = page[page.index("<h1>") :]
    assert body.index("Do not trust these curves") < body.index('class="lead"') < body.index("<svg")
    assert 'class="states error"' in body
    assert "4 of 5 states tested are suspicious, with 80.0% of the rows" in body
    assert "100.0% of the rows could be tested" in body
    assert "The runs were made all the same (--anyway)" in body
    assert "the worst states" in body
    assert "would not have met in the real world" in body


def test_a_few_suspicious_states_are_a_warning_and_no_more(drawn):
    page = drawn(audit_of(1, 4))
    assert 'class="states warning"' in page
    assert "Some states are suspicious" in page
    assert "--anyway" not in page


def test_what_could_not_be_told_does_not_reassure(drawn):
    page = drawn(audit_of(0, 1, n_few=50))
    assert 'class="states warning"' in page
    assert "It could not be told whether the states are right" in page
    assert "too little could be tested: 28.6% of the rows" in page
    assert "Nothing was found" not in page


def test_nothing_found_is_said_with_its_share(drawn):
    page = drawn(audit_of(0, 5))
    assert "Nothing was found against the states" in page
    assert "100.0% of the rows are in states that could be tested" in page


def test_observations_as_states_are_a_line(drawn):
    log = Log.from_columns(
        observation=[0, 1, 0], action=[0, 0, 0], reward=[0, 0, 0], next_observation=[1, 0, 1], terminated=[True] * 3
    )
    page = drawn(Identity().audit(log))
    assert "States are the 2 distinct observations: nothing is merged." in page
    assert "<h2>" not in page[page.index('class="states') : page.index('class="lead"')]


def test_without_an_audit_nothing_is_said_of_states(drawn):
    for nothing in (None, {}):
        assert 'class="states' not in drawn(nothing)


def test_several_audits_are_told_by_their_names(drawn):
    page = drawn({"a/<b>": audit_of(3), "other": audit_of(0, 3)})
    assert "a/&lt;b&gt;: Do not trust these curves" in page
    assert "other: Nothing was found" in page
    assert len(state_boxes({"alone": audit_of(3)})) == 1
    assert state_boxes({"alone": audit_of(3)})[0].title.startswith("alone: Do not")
    assert state_boxes(audit_of(3))[0].title.startswith("Do not")


def test_names_are_escaped(drawn):
    page = drawn(audit_of(3, name="<script>alert(1)</script>"))
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_what_is_not_an_audit_of_states_is_refused(drawn):
    with pytest.raises(ContractError, match=r"states of 'a' is a int; give what encoder.audit\(log\) returns"):
        drawn({"a": 5})
    with pytest.raises(ContractError, match="give what"):
        drawn("states")


def test_the_worst_states_are_listed_and_only_suspicious_ones():
    box = state_box(audit_of(2, 4))
    assert {state for state, *_ in box.worst.rows} == {"0", "1"}
    assert len(state_box(audit_of(9)).worst.rows) == 5


def test_states_do_not_become_acceptable_by_being_made_smaller():
    """All states that could be tested fail; the others are too small to be tested."""
    small = audit_of(2, n_few=200)
    assert small.suspicious_share < 0.5
    assert small.mostly_suspicious
    assert not audit_of(2, n_other=5).mostly_suspicious
    assert state_boxes(small)[0].severity == "error"


def test_what_fails_is_said_of_the_rows_tested_not_of_all():
    """2 of 5 states tested fail, with a small part of all rows: neither most states fail nor most rows."""
    found = replace(audit_of(2, n_other=3, n_few=200), rows=np.array([100, 100, 10, 10, 10] + [5] * 200))
    assert found.mostly_suspicious
    assert found.suspicious_share < 0.2
    assert found.suspicious.sum() < found.tested.sum() / 2
    (box,) = state_boxes(found)
    text = " ".join([box.title, *box.sentences]).lower()
    assert "most of the rows that could be tested are in states that fail their test" in text
    assert "(87.0% of those tested)" in text
    assert "most states" not in text
    assert "most rows" not in text
