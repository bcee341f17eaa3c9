from dataclasses import replace

import numpy as np
import pytest

from understudy.logs import Audit, Finding
from understudy.reporting.belief import FITTED, UNSEEN, belief, without_evidence
from understudy.reporting.belief_table import WHY
from understudy.reporting.measurements import measure
from understudy.reporting.rung_words import SHARED_ERRORS
from understudy.reporting.states import MOST_FAIL
from understudy.trust import Beyond
from understudy.trust.evidence import Evidence
from understudy.trust.self_tests import SelfTest
from understudy.trust.selfcheck import Selfcheck

GOOD = Audit((), n_rows=200, n_episodes=20, n_actions=2)
BAD = replace(GOOD, findings=(Finding("doubt", "propensity-frequency", (), 1, "they do not fit"),))
FINE = Selfcheck((SelfTest("shapes", "episodes", 1.0, 0.5, "", 0.05),), 0.05, 200, 20, tested_states=True)
FIRES = replace(FINE, tests=(SelfTest("shapes", "episodes", 9.0, 0.001, "halves <b>differ</b>", 0.05),))


@pytest.fixture
def measured(halved_of):
    return measure({"psrs": halved_of([100] * 8, [60] * 4)}, margin=0.3)


def test_it_begins_with_the_step_up_to_which_to_believe_and_why_it_ends(measured):
    found = belief(measured, GOOD, None, FINE)
    assert found.severity == "note"
    luck = f"{measured.luck['psrs'].give_or_take:.2g}"
    assert found.title == f"Believable up to step 60, “g” give or take {luck}: {WHY['halves end']}"
    text = str(found)
    assert text.startswith(found.title)
    counts = "10 random halves of the log (4 runs each; 20 halves would tell more)"
    assert f"{counts} give the same g as the whole, on average, within a margin of 0.3" in text
    assert "At step 100, the last reading that all runs have" in text
    assert "the luck of the log included (extrapolated beyond step 60)" in text
    assert "Self-check: nothing found" in text
    assert text.endswith(UNSEEN)
    assert found.table is None


@pytest.mark.parametrize(
    ("audit", "selfcheck", "why"),
    [
        (BAD, FINE, "the audit of the log speaks against it"),
        (GOOD, FIRES, "the log fails its self-check"),
        (BAD, {"one": FINE, "other": FIRES}, "the audit of the log speaks against it; the log fails its self-check"),
    ],
)
def test_what_speaks_against_all_runs_comes_before_any_horizon(measured, audit, selfcheck, why):
    found = belief(measured, audit, None, selfcheck)
    assert (found.severity, found.title) == ("error", f"Not to be believed: {why}")
    assert found.sentences[0].startswith("Audit of the log: ")
    if selfcheck is FIRES:
        assert "halves <b>differ</b> (of logs with true states, 5% fail by chance)." in str(found)


def test_runs_of_one_reading_are_said_to_be_too_short_to_be_compared(halved_of):
    found = belief(measure({"psrs": halved_of([12] * 8, [12] * 4)}), GOOD, None, FINE)
    assert found.title == "Not shown to be believable at any step"
    assert "cannot be tested: runs are too short to be compared" in str(found)
    assert "margin of 0" not in str(found)
    assert "more halves would tell" not in str(found)


def test_doubts_about_propensities_do_not_speak_against_qbe_alone(halved_of):
    sets = {"qbe": halved_of([100] * 8, [60] * 4, simulator={"simulator": "qbe"})}
    worse = replace(BAD, findings=(*BAD.findings, Finding("doubt", "reward-drift", (), 1, "they drift")))
    both = sets | {"psrs": halved_of([100] * 8, [60] * 4)}
    baseline = sets | {"states": halved_of([100] * 8, [60] * 4, simulator={"simulator": "states_only"})}
    for runs, audit, against in ((sets, BAD, False), (baseline, BAD, False), (sets, worse, True), (both, BAD, True)):
        found = belief(measure(runs, margin=0.3), audit, None, FINE)
        assert (found.severity == "error") is against
        assert "propensity-frequency does not concern QBE" in str(found)
    assert "simulate it alone, with --simulator qbe" in str(found)


def test_states_that_mostly_fail_speak_against_all_runs(measured):
    class Suspicious:
        mostly_suspicious = True
        merges = np.array([True])

    found = belief(measured, GOOD, {"a": Suspicious()}, FINE)
    assert found.title == f"Not to be believed: {MOST_FAIL}"
    assert FITTED in found.sentences  # halves keep the states of the whole log


def test_states_that_merge_nothing_have_no_luck_of_their_own(measured):
    class Distinct:
        mostly_suspicious = False
        merges = np.array([False])

    assert FITTED not in belief(measured, GOOD, Distinct(), FINE).sentences


def test_runs_that_stop_at_step_0_have_the_reason_and_the_next_move(runs_of, halved_of):
    found = belief(measure({"psrs": halved_of([0] * 8, [0] * 4)}), GOOD)
    assert (found.severity, found.title) == ("error", "Nothing was simulated: no run was served a single step")
    assert "“psrs” stopped before its first step in all runs; what was missing in 8 of 8: " in found.sentences[0]
    assert "another --epsilon" in found.sentences[0]
    assert "no horizon can be trusted" not in str(found)
    both = belief(measure({"psrs": runs_of([0] * 8), "qbe": halved_of([100] * 8, [60] * 4)}, margin=0.3), GOOD)
    assert both.title.startswith("Believable up to step 60")
    assert "“psrs” stopped before its first step" in str(both)


def test_halves_that_differ_from_the_start_show_nothing_believable(halved_of):
    found = belief(measure({"psrs": halved_of([100] * 8, [60] * 4, shift=5.0)}, margin=0.3), GOOD)
    assert (found.severity, found.title) == ("warning", "Not shown to be believable at any step")
    assert "were not shown to give the same g as the whole" in str(found)
    assert "at the first reading, halves of the log and the whole differ by" in str(found)
    assert "then" not in found.sentences[0]
    assert "No self-check of the log was made." in str(found)


def test_replay_needs_no_self_check_of_states(halved_of):
    replayed = halved_of([100] * 8, [60] * 4, simulator={"simulator": "replay"})
    assert "self-check" not in str(belief(measure({"replay": replayed}, margin=0.3), GOOD))


def test_without_halves_it_says_that_nothing_was_tested_and_why(runs_of):
    found = belief(measure({"psrs": runs_of([40] * 3, log_episodes=2)}))
    assert (found.severity, found.title) == ("warning", "How far to believe this was not tested")
    assert "leave the luck of this log out, and no horizon can be trusted: the log has 2 episodes" in str(found)
    assert "No audit and no self-check of the log was made." in str(found)


def test_several_sets_have_a_table_and_baselines_are_not_judged(halved_of, runs_of):
    sets = {name: halved_of([100] * 8, [60] * 4) for name in ("a", "b", "c", "d")}
    sets["worse"] = halved_of([100] * 8, [60] * 4, simulator={"simulator": "states_only"})
    measured = measure(sets | {"bare": runs_of([40] * 3)}, margin=0.3)
    found = belief(measured, GOOD)
    luck = f"{measured.luck['a'].give_or_take:.2g}"
    assert found.title == "Believable up to step 60 (“a”); 60 (“b”); 60 (“c”); ..."
    assert sum("To believe it for longer" in sentence for sentence in found.sentences) == 1
    assert [row[:3] for row in found.table.rows] == [(name, "60", luck) for name in "abcd"]
    _, _, _, _, mean, between, why = found.table.rows[3]
    told = f"“d”: up to step 60, give or take {luck}; {why}. At step 100, beyond that, its mean is {mean}"
    assert f"{told} (95%: {between})." in str(found)
    assert "“worse”: not judged, since it leaves a part of the log out" in str(found)
    assert "Of “bare”, bands leave the luck of this log out" in str(found)


def test_a_set_that_differs_from_real_runs_is_not_believable(halved_of, real_of):
    sets = {"model": halved_of([100] * 8, [100] * 4, level=3.0), "real": real_of([100] * 8)}
    measured = measure(sets)
    assert measured.fidelity["g"].at_shared["model"].verdict == "different"
    found = belief(measured, GOOD)
    assert (found.severity, found.title) == ("error", "Not to be believed: “model” differs from real runs")
    assert "Compared with real runs, “model” differs: see Fidelity." in str(found)
    sets["other"] = halved_of([100] * 8, [100] * 4)
    of_two = belief(measure(sets), GOOD)
    assert of_two.doubted == {"model": "“model” differs from real runs"}  # nobody decides by it; by the other one may


def test_runs_that_share_no_log_need_no_such_sentence(real_of, runs_of):
    assert belief(measure({"real": real_of([40] * 3)})) is None
    assert belief(measure({"own": runs_of([40] * 3, own_logs=True)})) is None


def test_an_unlucky_log_is_believed_give_or_take_its_luck_however_well_its_halves_agree(halved_of):
    """Halves agree with the whole on average, since they are of it; the log's luck is another number."""
    lucky = belief(measure({"psrs": halved_of([100] * 8, [60] * 4, n_halves=60, luck=0.05)}, margin=0.3))
    unlucky = measure({"psrs": halved_of([100] * 8, [60] * 4, n_halves=60, luck=0.5, noise=0.15)}, margin=0.3)
    found, set_ = belief(unlucky), unlucky.luck["psrs"]
    interval = set_.intervals["g"]
    upto = interval.steps <= 60
    assert set_.give_or_take == pytest.approx(((interval.high - interval.low) / 2)[upto].max())
    assert set_.give_or_take > 2 * set_.trusted["g"].margin
    assert found.title.startswith(f"Believable up to step 60, “g” give or take {set_.give_or_take:.2g}: ")
    wide = f"The interval is as wide as give or take {set_.give_or_take:.2g} up to step 60, more than the margin of 0.3"
    assert found.severity == "warning"
    assert wide in str(found)
    assert f"“a”: {wide}" in str(belief(measure(dict.fromkeys("ab", unlucky.runs["psrs"]), margin=0.3)))
    assert "more than the margin" not in str(lucky)


def test_where_nothing_was_shown_it_does_not_say_that_halves_differ(halved_of):
    sets = {"noisy": halved_of([100] * 8, [60] * 4, n_halves=3, luck=0.5)}
    found = belief(measure(sets, margin=0.3))
    assert "were not shown to give the same g as the whole" in found.sentences[0]
    assert found.sentences[0].endswith("only: a larger log would tell.")
    both = belief(measure(sets | {"other": halved_of([100] * 8, [60] * 4, n_halves=3, luck=0.5)}, margin=0.3))
    assert (
        "“noisy”: at no step; at the first reading, halves of the log differ too much among themselves to tell."
        in str(both)
    )


def test_runs_on_a_ladder_are_exact_up_to_a_step_and_agreement_beyond_it_is_not_enough(halved_of, on_ladder):
    halved = halved_of([100] * 8, [60] * 4)
    ladder = on_ladder(halved, {40: 1}, cuts=[70])
    found = belief(measure({"qbe": ladder}, margin=0.3), GOOD, None, FINE)
    assert found.severity == "warning"
    assert found.title.startswith("Exact up to step 40; halves of the log agree up to step 60, “g” give or take")
    assert found.sentences[0].startswith("Exact up to step 40; beyond it 100% of steps came from states alike, 8 of")
    assert found.sentences[1] == SHARED_ERRORS
    named = belief(measure({"qbe": ladder, "psrs": halved}, margin=0.3), GOOD, None, FINE)
    assert named.title.startswith("Exact up to step 40 (“qbe”); halves of the log agree up to step 60")
    assert "“qbe”: Exact up to step 40" in str(named)


def test_as_far_as_a_ladder_is_exact_agreement_of_halves_is_enough(halved_of, on_ladder):
    ladder = on_ladder(halved_of([100] * 8, [60] * 4), {80: 2})
    found = belief(measure({"qbe": ladder}, margin=0.3), GOOD, None, FINE)
    assert found.title.startswith("Believable up to step 60")
    assert SHARED_ERRORS not in found.sentences
    assert found.sentences[0].startswith("Exact up to step 80; beyond it 100% of steps were served before")


def tried(runs, steps):
    evidence = (Evidence("halves of the log", 60, "then they differ"), Evidence("episodes cut", steps, "then too many"))
    return Beyond(steps, 40, 100, 0.3, "g", evidence, runs, ("like", "cut"))


def test_what_was_found_of_a_ladder_is_the_horizon_and_takes_the_place_of_halves(halved_of, on_ladder):
    ladder = on_ladder(halved_of([100] * 8, [60] * 4), {40: 1})
    measured = measure({"qbe": ladder}, margin=0.3, beyond={"qbe": tried(ladder, 50), "unknown": tried(ladder, 9)})
    assert measured.trusted() == measured.trusted("g") == {"qbe": 50}
    found = belief(measured, GOOD, None, FINE)
    assert found.severity == "note"
    assert found.title.startswith("Believe 'g' up to step 50, 1.25 times the 40 steps that are exact, to within 0.3")
    assert "Episodes cut: to step 50, then too many." in found.sentences
    assert "random halves of the log" not in str(found)  # a second horizon, by another margin, would confuse
    assert "At step 100, the last reading that all runs have" in str(found)
    assert SHARED_ERRORS not in found.sentences
    on_page = without_evidence(found, measured.beyond)  # which has it in a table
    assert set(found.sentences) - set(on_page.sentences) == {
        "Halves of the log: to step 60, then they differ.", "Episodes cut: to step 50, then too many.",
    }  # fmt: skip
    assert without_evidence(None, {}) is None
    assert belief(measured, BAD, None, FINE).title.startswith("Not to be believed")  # what speaks against the log first


def test_of_several_sets_each_has_its_horizon(halved_of, on_ladder):
    halved = halved_of([100] * 8, [60] * 4)
    ladder = on_ladder(halved, {40: 1})
    measured = measure({"a": ladder, "b": ladder, "psrs": halved}, margin=0.3, beyond={"a": tried(ladder, 50)})
    assert measured.trusted() == {"a": 50, "b": 40, "psrs": 60}
    found = belief(measured, GOOD, None, FINE)
    assert found.title == "Believable up to step 50 (“a”); 40 (“b”); 60 (“psrs”)"
    assert SHARED_ERRORS in found.sentences  # of the set that was not tested further
    words = {name: (upto, why) for name, upto, *_, why in found.table.rows}
    assert words["a"] == ("50", "then episodes cut ends it")
    assert words["b"] == ("40", "as far as runs are exact")
    assert words["psrs"] == ("60", WHY["halves end"])
    assert found.table.notes[0].endswith("“give or take” is its margin.")


def test_lower_rungs_that_gain_nothing_leave_what_halves_of_the_log_found(halved_of, on_ladder):
    """Exact is not yet believable: halves of the log end at step 30, and runs are exact up to step 40."""
    ladder = on_ladder(halved_of([100] * 8, [30] * 4), {40: 1})
    alone = measure({"qbe": ladder}, margin=0.3)
    asked = measure({"qbe": ladder}, margin=0.3, beyond={"qbe": tried(ladder, 40)})
    assert alone.trusted() == asked.trusted() == {"qbe": 30}
    found = belief(asked, GOOD, None, FINE)
    assert found.title.startswith("Believable up to step 30")
    assert "Episodes cut: to step 40, then too many." in found.sentences  # why they gain nothing
