import pytest

from tests.reporting.test_belief import BAD, FINE, FIRES, GOOD
from understudy.reporting.belief import UNSEEN, as_believed
from understudy.reporting.decision import advice
from understudy.reporting.measurements import measure
from understudy.reporting.several_logs import LogChecks, belief_of_logs
from understudy.reporting.summary import setup_sentence


@pytest.fixture
def measured(halved_of):
    """A set on one log, and two on another."""
    mine, other = halved_of([100] * 8, [60] * 4), halved_of([100] * 8, [60] * 4, log="def")
    return measure({"mine": mine, "other": other, "third": other}, margin=0.3)


def judged(measured, mine, other):
    return belief_of_logs(measured, {("mine",): mine, ("other", "third"): other})


def test_no_set_is_condemned_for_another_logs_failing(measured):
    found = judged(measured, LogChecks(GOOD, None, FINE), LogChecks(GOOD, None, FIRES))
    assert found.doubted == dict.fromkeys(("other", "third"), "the log fails its self-check")
    assert found.severity == "warning"
    assert found.title == (
        "Runs on 2 different logs, each judged by the checks of its own: believable up to step 60 (“mine”); "
        "not to be believed: the log fails its self-check (“other”, “third”)"
    )
    assert as_believed(measured, found).trusted() == {"mine": 60, "other": 0, "third": 0}
    assert [row[:2] for row in found.table.rows] == [("mine", "60"), ("other", "0"), ("third", "0")]
    told = advice(measured, found)
    assert told.answer != "not believed"
    assert "Do not decide by “other”: the log fails its self-check." in told.evidence
    assert not any("Do not decide by “mine”" in sentence for sentence in [told.sentence, *told.evidence])


def test_checks_are_told_by_the_sets_they_are_of_and_not_added_up(measured):
    found = judged(measured, LogChecks(GOOD, None, FINE), LogChecks(BAD, None, FINE))
    assert f"“mine”: Audit of the log: {GOOD.verdict}." in found.sentences
    assert f"“other”, “third”: Audit of the log: {BAD.verdict}." in found.sentences
    assert found.sentences.count(UNSEEN) == 1
    assert found.sentences[-1] == UNSEEN


def test_where_something_speaks_against_all_logs_nothing_is_decided(measured):
    found = judged(measured, LogChecks(BAD, None, FINE), LogChecks(GOOD, None, FIRES))
    assert found.severity == "error"
    told = advice(measured, found)
    assert told.answer == "not believed"
    assert "the audit of the log speaks against it; the log fails its self-check" in told.sentence


def test_without_runs_on_a_log_there_is_nothing_to_believe(real_of):
    assert belief_of_logs(measure({"real": real_of([100] * 4)}), {("real",): LogChecks()}) is None


def test_logs_of_one_size_are_different_logs(measured):
    assert "rehearsed on 2 different logs 8 times in each of 3 sets of runs" in setup_sentence(measured)
