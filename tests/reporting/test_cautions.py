from understudy.contracts import Stop
from understudy.logs import Audit, Finding
from understudy.reporting.cautions import cautions
from understudy.runs import Runs


def test_few_logged_episodes_are_said_to_hide_ends(runs_of):
    (found,) = cautions({"psrs": runs_of([40] * 5, log_episodes=3, log_terminated=3)})
    assert found.startswith("The log has 3 episodes.")


def test_a_continuing_log_and_a_long_one_have_nothing_to_be_said(runs_of):
    assert not cautions({"psrs": runs_of([40] * 5, log_episodes=1, log_terminated=0)})
    assert not cautions({"psrs": runs_of([40] * 5, log_episodes=20, log_terminated=20)})


def test_lengths_that_few_runs_reached_are_named(runs_of):
    (found,) = cautions({"psrs": runs_of([10] * 2 + [60] * 8), "qbe": runs_of([60] * 10)})
    assert "of “psrs”, nine of ten runs reached step 10, and half of them step 60" in found
    assert "qbe" not in found


def test_real_runs_and_sets_without_runs_are_left_out(runs_of, real_of):
    assert not cautions({"real": real_of([10] * 2 + [60] * 8), "none": runs_of([])})


def test_what_the_audit_found_that_makes_numbers_wrong_is_said_first(runs_of):
    findings = (
        Finding("doubt", "action-predicted", (), 1, "the logger knew more"),
        Finding("warning", "propensity-frequency", (), 1, "the order is wrong"),
        Finding("warning", "duplicate-rows", (), 1, "some stand twice"),
        Finding("warning", "action-never-logged", (), 1, "harmless here"),
        Finding("note", "no-episode", (), 1, "derived"),
    )
    assert cautions({"psrs": runs_of([40] * 5)}, Audit(findings)) == [
        "The audit of the log found: the logger knew more.",
        "The audit of the log found: the order is wrong.",
        "The audit of the log found: some stand twice.",
    ]


def test_states_that_merge_observations_and_were_not_tested_are_named(run_of):
    merged = Runs((run_of(20, stop=Stop("queue empty", state=3, example="x=0.1")),))
    single = Runs((run_of(20, stop=Stop("queue empty", state=3, place="page=3")),))
    (found,) = cautions({"a": merged, "b": single}, states_tested=False)
    assert found.startswith("States of “a” stand for several observations each, and were not tested")
    assert not cautions({"a": merged, "b": single})


def test_bounds_that_were_exceeded_are_said_with_what_they_may_change(run_of):
    counts = {"bounds exceeded": 4, "rows not supported": 0}
    exceeded = Runs((run_of(20, stop=Stop("used up", counts=counts, bias=0.02)), run_of(20, stop=Stop("used up"))))
    (found,) = cautions({"replay": exceeded, "other": Runs((run_of(20, stop=Stop("used up")),))})
    assert found.startswith("In “replay”, 2.0 episodes a run had a ratio")
    assert "may be off by 0.01 (total variation)" in found
