from dataclasses import replace

import pytest

from understudy.reporting.belief import belief
from understudy.reporting.decision import advice
from understudy.reporting.measurements import measure
from understudy.reporting.summary import (
    earnings_sentences,
    propensity_sentences,
    result_sentences,
    setup_sentence,
    tiles,
    unjudged_rungs,
)


def test_what_was_done_names_learner_log_and_reference(runs_of, real_of):
    sets = {"psrs": runs_of([40] * 3), "qbe": runs_of([60] * 3), "real": real_of([100] * 5)}
    assert setup_sentence(measure(sets)) == (
        "A QLearning learner (gamma 0.5) rehearsed on a log of 200 rows (20 episodes) 3 times in each of 2 sets of "
        "runs, to be compared with 5 runs of “real”."
    )


def test_one_run_alone_is_said_plainly(runs_of):
    assert setup_sentence(measure({"psrs": runs_of([40])})).endswith("(20 episodes) once.")
    assert result_sentences(measure({"psrs": runs_of([40])})) == ["“psrs” could answer for 40 steps (20% of the log)."]


def test_runs_in_an_environment_rehearse_on_no_log(real_of):
    assert setup_sentence(measure({"real": real_of([40] * 2)})) == "A QLearning learner (gamma 0.5) ran 2 times."


def test_the_answer_is_how_long_and_how_far_off(runs_of, real_of):
    sets = {"psrs": runs_of([40] * 3, noise=0, level=0.5), "real": real_of([100] * 3, noise=0)}
    found = measure(sets)
    text = " ".join(result_sentences(found))
    assert "could answer for 40 steps (20% of the log; median over runs)" in text
    assert "Over the first 40 of these" in text
    assert "RMSE of 0.50" in text
    assert "share one log" in text


def test_of_several_sets_the_closest_is_named_first_and_the_longest_too(runs_of, real_of):
    sets = {"far": runs_of([80] * 3, level=2.0), "near": runs_of([40] * 3), "real": real_of([100] * 3)}
    found = measure(sets)
    text = " ".join(result_sentences(found))
    assert "closest to “real” is “near”" in text
    assert "After it comes “far”" in text
    assert "“far” lasted longest, 80 steps" in text
    assert tiles(found)[0].value == "40"


def test_a_verdict_is_told_with_its_margin(runs_of, real_of):
    sets = {"psrs": runs_of([40] * 30, own_logs=True), "real": real_of([100] * 30)}
    found = measure(sets, margin=0.5)
    assert "equivalent at a margin of 0.5" in " ".join(result_sentences(found))


def test_sets_that_share_no_probe_are_said_not_to(runs_of, real_of):
    sets = {"psrs": runs_of([40] * 3, probe="h"), "real": real_of([100] * 3)}
    assert "they share no probe" in result_sentences(measure(sets))[-1]


def test_what_an_episode_earned_stands_beside_the_logs_own(runs_of, real_of):
    alone = {"psrs": runs_of([40] * 3, log_return=0.25)}
    assert earnings_sentences(measure(alone)) == [
        "Over the first 8 episodes of each run, an episode earned 0.000.",
        "The log's own episodes earned 0.250 on average.",
    ]
    assert [tile.value for tile in tiles(measure(alone))][2:] == ["0.00", "0.25"]
    two = {"psrs": runs_of([40] * 3), "qbe": runs_of([60] * 3)}
    assert "an episode of “psrs” earned" in earnings_sentences(measure(two))[0]
    assert "of “qbe”" in tiles(measure(two))[2].label
    assert earnings_sentences(measure({**two, "real": real_of([90] * 3)})) == []


def test_several_learners_are_counted(runs_of):
    learners = [{"class": "QLearning", "gamma": gamma} for gamma in (0.5, 0.9)]
    sets = {str(place): runs_of([40] * 3, learner=learner) for place, learner in enumerate(learners)}
    assert setup_sentence(measure(sets)).startswith("2 QLearning learners rehearsed")


def test_pages_say_where_propensities_came_from(runs_of):
    sets = {"a": runs_of([40], log_propensities="as logged"), "b": runs_of([40], log_propensities="as logged")}
    assert propensity_sentences(measure(sets)) == ["Propensities: as logged."]
    sets["c"] = runs_of([40], log_propensities="estimated from the log")
    assert propensity_sentences(measure(sets))[1] == "Propensities: estimated from the log."
    assert propensity_sentences(measure({"a": runs_of([40])})) == []


def test_runs_on_a_ladder_of_which_nothing_else_is_said_tell_how_far_they_are_exact(runs_of, on_ladder):
    ladder = on_ladder(runs_of([100] * 3), {40: 1})
    (sentence,) = unjudged_rungs(measure({"qbe": replace(ladder, about=replace(ladder.about, own_logs=True))}))
    assert sentence.startswith("Exact up to step 40")
    assert unjudged_rungs(measure({"qbe": ladder})) == []  # what is said of runs on one log includes it
    assert unjudged_rungs(measure({"psrs": runs_of([40] * 3)})) == []


def learner_of(runs, gamma):
    return replace(runs, about=replace(runs.about, learner={"class": "QLearning", "gamma": gamma}))


def test_tiles_tell_what_is_earned_as_far_as_it_can_be_believed(halved_of):
    measured = measure({"psrs": halved_of([400] * 8, [120] * 4, log_return=0.5, log_return_error=0.1)}, margin=0.3)
    told = advice(measured, belief(measured))
    found = told.deployments["psrs"]
    *_, earned, logged = tiles(measured, told)
    assert earned.label.startswith(
        f"an episode, episodes {found.first} to {found.last}, as far as believed (against the log "
    )
    assert float(earned.value) == pytest.approx(0.5 + found.mean, abs=0.01)
    assert (float(logged.value), logged.label) == (0.5, "an episode of the log")
    assert "(up to step 400, beyond what can be believed)" in earnings_sentences(measured)[0]
    (past,) = (tile.label for tile in tiles(measured) if tile.label.startswith("an episode, "))  # with no decision told
    assert past.endswith(", beyond what can be believed")
    several = measure({"a": measured.runs["psrs"], "b": learner_of(measured.runs["psrs"], 0.9)}, margin=0.3)
    assert all(tile.label.endswith(", beyond what can be believed") for tile in tiles(several))


def test_the_number_that_an_episode_earned_says_that_cut_ones_are_left_out(runs_of, on_ladder):
    runs = runs_of([100] * 3)
    for found, said in ((on_ladder(runs, {40: 1}, cuts=[50]), True), (runs, False)):
        (earned,) = [tile.label for tile in tiles(measure({"qbe": found})) if "an episode" in tile.label][:1]
        assert ("cut ones left out" in earned) is said
