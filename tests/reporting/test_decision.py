from dataclasses import replace

import numpy as np

from understudy.reporting.belief import Belief, belief
from understudy.reporting.decision import advice
from understudy.reporting.deployment_words import evidence_of
from understudy.reporting.measurements import measure
from understudy.trust.onsets import Onset


def earning(runs, start, end, logged=1.0, waits=0.0, seed=0):
    """The same runs, with returns that rise, after this share of them, and a log that earned `logged`."""
    rng = np.random.default_rng(seed)

    def paid(set_):
        about = replace(set_.about, log_return=logged)
        made = []
        for run in set_:
            n = len(run.ends)
            rise = np.clip((np.linspace(0, 1, n) - waits) / (1 - waits), 0, 1)
            made.append(replace(run, returns=start + (end - start) * rise + 0.1 * rng.normal(size=n)))
        return replace(set_, runs=tuple(made), about=about)

    halves = tuple(paid(half) for half in runs.halves)
    return replace(paid(runs), halves=halves)


def advised(sets, margin=0.3):
    measured = measure(sets, margin=margin)
    return advice(measured, belief(measured))


def test_a_learner_that_earns_more_is_likely_better_from_some_step_on(halved_of):
    found = advised({"psrs": earning(halved_of([400] * 8, [400] * 4), 0.0, 3.0)})
    assert found.answer == "better"
    deployment = found.deployments["psrs"]
    assert found.sentence == (
        f"Deploying QLearning is likely better than the logging policy from step {deployment.from_step:,} on at "
        "the latest; this log can be believed up to step 400."
    )
    assert 100 < deployment.from_step < 200
    assert found.evidence[1].startswith("It begins to be better ")
    assert found.evidence[2].startswith("Half of that gain is reached, and kept from then on, between episode ")
    assert "on average, is " in found.evidence[3]
    assert "less an episode than the log, in episodes 1 to " in found.evidence[3]
    assert found.to_json()["deployments"]["psrs"]["verdict"] == "better"


def test_a_learner_that_earns_less_is_likely_worse(halved_of):
    found = advised({"psrs": earning(halved_of([400] * 8, [400] * 4), 0.0, 0.0)})
    assert found.answer == "worse"
    assert "likely worse than the logging policy from its first " in found.sentence


def test_where_both_may_earn_the_same_it_is_not_told(halved_of):
    found = advised({"psrs": earning(halved_of([400] * 8, [400] * 4), 1.0, 1.0)})
    assert found.answer == "not told"
    assert found.sentence.endswith("it can be believed up to step 400, and up to there both may earn the same.")


def test_nothing_is_claimed_past_the_believed_step_but_that_it_is_worth_logging_more(halved_of):
    runs = earning(halved_of([400] * 8, [60] * 4), -5.0, 9.0)
    found = advised({"psrs": runs})
    assert found.answer == "worse"
    assert "believed up to step 60" in found.sentence
    assert found.deployments["psrs"].last <= 12
    nothing = advised({"psrs": earning(halved_of([400] * 8, [400] * 4, shift=5.0), 4.0, 4.0)})
    assert nothing.answer == "not told"
    assert nothing.sentence.endswith("at no step was this log shown to be believable.")
    assert "With what lies beyond what can be believed" in nothing.evidence[0]
    assert "more an episode than the log: a reason to log more" in nothing.evidence[0]


def test_without_halves_it_is_said_that_it_cannot_be_told(runs_of, real_of):
    found = advised({"psrs": runs_of([40] * 3)})
    assert found.answer == "not told"
    assert found.sentence.endswith("cannot be told from this log: halves of the log were not run.")
    assert advised({"real": real_of([40] * 3)}) is None


def test_runs_that_must_not_be_believed_decide_nothing(halved_of):
    measured = measure({"psrs": earning(halved_of([400] * 8, [400] * 4), 0.0, 3.0)}, margin=0.3)
    found = advice(measured, Belief("error", "", [], None, {"psrs": "the log fails its self-check"}))
    assert (found.answer, found.deployments) == ("not believed", {})
    assert found.sentence == "Do not decide by this page: the log fails its self-check."


def test_of_one_learner_under_several_simulators_the_one_believed_for_longest_counts(halved_of, runs_of):
    short, long_ = halved_of([400] * 8, [60] * 4), halved_of([400] * 8, [400] * 4)
    found = advised({"a": earning(short, 0.0, 3.0), "b": earning(long_, 0.0, 3.0), "bare": runs_of([40] * 3)})
    assert list(found.deployments) == ["b"]


def learner(runs, gamma):
    """The same runs, as if another learner had made them."""
    other = {"class": "QLearning", "gamma": gamma}
    halves = tuple(replace(half, about=replace(half.about, learner=other)) for half in runs.halves)
    return replace(runs, about=replace(runs.about, learner=other), halves=halves)


def test_of_several_learners_it_is_said_which_to_choose(halved_of):
    runs = halved_of([400] * 8, [400] * 4)
    found = advised({"b a": learner(earning(runs, 0.0, 2.0), 0.1), "a b": learner(earning(runs, 0.0, 6.0), 0.2)})
    assert found.sentence == f"Choose a b, as far as this log can be believed (step 400): {found.comparison.sentence}."
    assert found.evidence[0].startswith("Deploying “a b” is likely better")
    assert list(found.deployments) == ["a b", "b a"]


def test_what_tells_learners_apart_beyond_the_believed_step_is_said_to_be_beyond_it(halved_of):
    runs = halved_of([400] * 8, [60] * 4)
    one, other = earning(runs, 0.0, 1.0, waits=0.3), earning(runs, 0.0, 9.0, waits=0.3, seed=1)
    found = advised({"a": learner(one, 0.1), "b": learner(other, 0.2)})
    assert found.sentence.startswith("As far as this log can be believed (step 60), this log cannot tell")
    assert found.evidence[0].startswith("Beyond what can be believed, b earns more than a")
    nowhere = halved_of([400] * 8, [400] * 4, shift=5.0)
    found = advised({"a": learner(earning(nowhere, 0.0, 1.0), 0.1), "b": learner(earning(nowhere, 0.0, 9.0), 0.2)})
    assert found.sentence.startswith("Which learner to choose cannot be told from this log: at no step")


def test_from_when_on_it_is_better_is_told_as_a_range(halved_of):
    runs = halved_of([400] * 8, [400] * 4)
    found = advised({"psrs": earning(runs, 0.0, 3.0)})
    one = found.deployments["psrs"]
    begins, first, steps = one.begins, one.against.first, one.against.difference.steps
    assert 0 < begins.earliest <= begins.by_mean < begins.latest
    assert found.evidence[1] == (
        f"It begins to be better between episode {first[begins.earliest]} (step {steps[begins.earliest - 1]}) and "
        f"episode {first[begins.latest]} (step {steps[begins.latest - 1]}) with a probability of 95% (by the mean "
        f"over runs, from episode {first[begins.by_mean]} (step {steps[begins.by_mean - 1]}) on). More runs "
        "(--runs 100), or a longer log, may narrow this down."
    )
    worse = advised({"psrs": earning(runs, 1.5, -2.0)})
    assert worse.evidence[1].startswith("It begins to be worse between ")


def test_a_range_that_says_nothing_is_not_told(halved_of):
    runs = halved_of([400] * 8, [400] * 4)
    found = advised({"psrs": earning(runs, 1.2, 1.2)})
    one = replace(found.deployments["psrs"], begins=Onset(0, 3, None), half_gain=Onset(0, 0, None))
    at = f"episode {one.against.first[3]} (step {one.against.difference.steps[2]})"
    told = evidence_of("it", one)
    assert told[1].startswith(f"From when on it is better is not certain: by the mean over runs, from {at} on. ")
    assert told[2] == (
        "From when on half of that gain is there is not certain: by the mean over runs, from the first episode on."
    )
    one = replace(one, begins=Onset(2, None, None))
    at = f"episode {one.against.first[2]} (step {one.against.difference.steps[1]})"
    told = evidence_of("it", one)
    assert told[1].startswith(f"It does not begin to be better before {at}, and this log cannot tell by when it does. ")


def test_how_fast_is_told_by_when_half_of_the_gain_is_there(halved_of):
    runs = halved_of([400] * 8, [400] * 4)
    late = advised({"psrs": earning(runs, 1.0, 3.0, waits=0.2)})
    against, gain = late.deployments["psrs"].against, late.deployments["psrs"].mean
    place = next(place for place in range(len(against.last)) if (against.difference.mean[place:] >= gain / 2).all())
    half = late.deployments["psrs"].half_gain
    first, last = against.first[half.earliest], against.first[half.latest]
    assert 1 < first < last
    assert late.evidence[2] == (
        f"Half of that gain is reached, and kept from then on, between episode {first} (step "
        f"{against.difference.steps[half.earliest - 1]}) and episode {last} (step "
        f"{against.difference.steps[half.latest - 1]}) with a probability of 95% (by the mean over runs, from episode "
        f"{against.first[place]} (step {against.difference.steps[place - 1]}) on)."
    )
    at_once = advised({"psrs": earning(runs, 3.0, 3.0)})
    assert at_once.evidence[1] == "At least half of that gain is there from the first episode on."
    assert " episodes on; this log" in at_once.sentence
    worse = advised({"psrs": earning(runs, 0.0, 0.0)})
    assert not any("gain" in sentence for sentence in worse.evidence)


def test_what_all_deployments_earned_has_its_interval_and_a_single_ones_risk_its_episodes(halved_of):
    found = advised({"psrs": earning(halved_of([400] * 8, [400] * 4), 0.0, 3.0)})
    against = found.deployments["psrs"].against
    total, low, high = (-value for value in against.regret.final)
    assert found.evidence[-1].startswith(
        f"By episode {against.last[-1]} deployments have earned {total:.1f} more in all, on average (+{high:.1f} to "
        f"+{low:.1f}); a single one has earned less than the logging policy by then with a probability of "
    )


def test_episodes_of_one_row_are_decisions(halved_of):
    found = advised({"replay": earning(halved_of([400] * 8, [400] * 4, log_rows=20), 0.0, 3.0)})
    assert found.evidence[0].startswith("In decisions ")
    assert " a decision, 1.26 more than the log, whose decisions earned " in found.evidence[0]
    assert "step" not in found.sentence
    assert "step" not in found.evidence[0]


def test_a_choice_that_is_not_told_is_not_shown_as_a_good_one(halved_of):
    runs = halved_of([400] * 8, [400] * 4)
    sets = {name: learner(earning(runs, 2.0, 2.0, seed=seed), seed) for seed, name in enumerate("abc")}
    found = advised(sets)
    assert (found.answer, found.tone) == ("better", "not told")
    assert found.sentence.startswith("This log cannot tell which learner to choose: as far as this log can be believed")


def test_the_same_learner_on_two_logs_is_told_of_both_by_name(halved_of):
    runs = earning(halved_of([400] * 8, [400] * 4), 0.0, 3.0)
    halves = tuple(replace(half, about=replace(half.about, seed=None)) for half in runs.halves)
    may, june = (replace(runs, about=replace(runs.about, log=log, seed=None), halves=halves) for log in ("1a", "2b"))
    found = advised({"may": may, "june": june})
    assert found.sentence.startswith("Deploying “may” is likely better than the logging policy from step ")
    assert found.sentence.endswith("its log can be believed up to step 400.")
    assert found.evidence[0].startswith("Deploying “june” is likely better")
    assert found.comparison is None
