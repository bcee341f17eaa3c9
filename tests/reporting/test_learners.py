from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.reporting.learners import compare_learners
from understudy.runs import About, Runs

A, B = {"class": "QLearning", "gamma": 0.5}, {"class": "QLearning", "gamma": 0.9}


@pytest.fixture
def earning(runs_of):
    """Runs of one learner whose episodes earn about so much."""

    def runs(learner, level, lengths=(40,) * 10, spread=0.1, **about):
        rng = np.random.default_rng(len(lengths) + int(1000 * level))
        made = runs_of(lengths, learner=learner, **about)
        return Runs(
            tuple(replace(run, returns=level + spread * rng.normal(size=len(run.ends))) for run in made), made.about
        )

    return runs


def test_the_one_that_earned_more_is_named_not_the_one_that_lasted(earning):
    found = compare_learners({"short": earning(A, 2.0), "long": earning(B, 1.0, (400,) * 10)})
    assert "“short” earned most" in found.sentences[0]
    assert "first 8 episodes of each run (steps 1 to 40)" in found.sentences[0]
    assert "the spread of runs and the luck of the log allowed for" in found.sentences[0]
    assert set(found.earned) == {"short", "long"}


def test_what_the_spread_of_runs_leaves_open_cannot_be_told(earning):
    found = compare_learners({"a": earning(A, 1.0, spread=1.0), "b": earning(B, 1.01, spread=1.0)})
    assert found.sentences[0].startswith("Which learner earns more cannot be told: over the first 8 episodes")


def test_single_runs_have_no_spread_and_cannot_be_told_apart(earning):
    found = compare_learners({"a": earning(A, 1.0, (40,)), "b": earning(B, 5.0, (40,))})
    assert "cannot be told" in found.sentences[0]


def test_episodes_that_are_missing_are_allowed_for(earning):
    ahead = earning(A, 2.0, (40,) * 19 + (5,), spread=3.0)
    found = compare_learners({"a": ahead, "b": earning(B, 1.6, (40,) * 20, spread=0.1)})
    assert found.earned["a"].missing > 0
    assert "cannot be told" in found.sentences[0]
    assert "runs that stopped early allowed for" in found.sentences[0]


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"log": "another"}, "the rows, actions, rewards or propensities of their logs"),
        ({"simulator": {"simulator": "qbe"}}, "the simulator or its settings"),
        ({"states": "others"}, "the states that observations are merged into"),
    ],
)
def test_on_different_logs_or_under_different_simulators_learners_are_not_compared(earning, about, words):
    found = compare_learners({"a": earning(A, 1.0), "b": earning(B, 2.0, **about)})
    assert "no two of them ran on the same log" in found.sentences[0]
    assert f"(“a” and “b” differ in {words}); rehearse them on the same file" in found.sentences[0]
    assert not found.earned


def test_logs_of_the_same_rows_are_one_however_observations_are_coded(earning):
    codes, columns = {"log": "codes", "log_content": "same"}, {"log": "one-hot", "log_content": "same"}
    found = compare_learners({"a": earning(A, 1.0, **codes), "b": earning(B, 2.0, **columns)})
    assert "“b” earned most" in found.sentences[0]
    others = columns | {"log_content": "other"}
    assert not compare_learners({"a": earning(A, 1.0, **codes), "b": earning(B, 2.0, **others)}).earned


def test_learners_are_compared_within_one_simulator_of_several(earning):
    qbe = {"simulator": {"simulator": "qbe"}}
    found = compare_learners({"a/qbe": earning(A, 9.0, **qbe), "a": earning(A, 1.0), "b": earning(B, 2.0)})
    assert set(found.earned) == {"a", "b"}


def test_one_learner_is_compared_with_nobody(earning):
    assert compare_learners({"psrs": earning(A, 1.0), "qbe": earning(A, 2.0)}) is None
    assert compare_learners({"psrs": earning(A, 1.0), "real": earning(B, 2.0, kind="real")}) is None
    assert compare_learners({}) is None


def test_without_finished_episodes_it_says_so(earning):
    found = compare_learners({"a": earning(A, 1.0, (4,) * 3), "b": earning(B, 1.0, (4,) * 3)})
    assert "finished an episode" in found.sentences[0]


def test_a_third_that_nothing_is_known_of_keeps_it_open(earning):
    sets = {"a": earning(A, 10.0), "b": earning(B, 8.0), "c": earning({"class": "Other"}, 7.0, spread=40.0)}
    assert "“c”" in compare_learners(sets).sentences[0]
    assert "cannot be told" in compare_learners(sets).sentences[0]


def test_every_simulator_has_its_sentence(earning):
    qbe = {"simulator": {"simulator": "qbe"}}
    sets = {"a": earning(A, 2.0), "b": earning(B, 1.0)}
    sets |= {"a/qbe": earning(A, 1.0, **qbe), "b/qbe": earning(B, 5.0, **qbe)}
    one, other = compare_learners(sets).sentences
    assert "“a” earned most" in one
    assert "“b/qbe” earned most" in other


def test_on_logs_of_their_own_learners_are_compared_whatever_the_first_log_was(earning):
    sets = {"a": earning(A, 2.0, own_logs=True, log="x"), "b": earning(B, 1.0, own_logs=True, log="y")}
    (sentence,) = compare_learners(sets).sentences
    assert "“a” earned most" in sentence
    assert "luck of the log" not in sentence


def test_sets_without_an_episode_are_named_and_the_others_compared(earning):
    sets = {"a": earning(A, 2.0), "b": earning(B, 1.0), "none": earning({"class": "Other"}, 1.0, (4,) * 10)}
    (sentence,) = compare_learners(sets).sentences
    assert "“a” earned most" in sentence
    assert "Left out" in sentence
    assert "“none”" in sentence


def test_small_rewards_are_not_shown_as_none(earning):
    sets = {"a": earning(A, 0.0008, spread=1e-6), "b": earning(B, 0.0005, spread=1e-6)}
    assert "0.0008" in compare_learners(sets).sentences[0]


def test_where_no_episode_ends_steps_are_compared_without_a_verdict(run_of):
    def runs(learner, level):
        made = [run_of(40, {"reward per step": lambda t: level}) for _ in range(3)]
        made = [replace(run, ends=run.ends[:0], returns=run.returns[:0]) for run in made]
        return Runs(tuple(made), About(learner=learner, log="x"))

    (sentence,) = compare_learners({"a": runs(A, 2.0), "b": runs(B, 1.0)}).sentences
    assert sentence.endswith("a step earned: “a” 2.00, “b” 1.00.")
    assert "no episode of this log ends" in sentence


def two_arms(seed, rows=200):
    """One state, two arms that both pay half of the time."""
    rng, zeros = np.random.default_rng(seed), np.zeros(rows, int)
    return us.Log.from_columns(
        observation=zeros, action=rng.integers(0, 2, rows), reward=(rng.random(rows) < 0.5).astype(float),
        next_observation=zeros, terminated=np.ones(rows, bool), propensity=np.full((rows, 2), 0.5),
    )  # fmt: skip


def test_of_two_that_are_equal_one_is_rarely_said_to_be_better():
    """On one log, the spread of runs alone names a winner almost always: the log has one. 60 logs, nominal rate 5%."""
    claims, naive = 0, 0
    for seed in range(60):
        log = two_arms(seed)
        sets = {
            str(policy): us.experiment(us.psrs(log), lambda _, p=policy: us.learners.FixedPolicy(np.array([p])),
                                       runs=30, seed=seed)
            for policy in ((0.9, 0.1), (0.1, 0.9))
        }  # fmt: skip
        found = compare_learners(sets)
        claims += "earned most" in found.sentences[0]
        means = [[run.returns.mean() for run in runs] for runs in sets.values()]
        apart = abs(np.mean(means[0]) - np.mean(means[1]))
        naive += apart > 1.96 * np.hypot(*(np.std(each, ddof=1) / np.sqrt(30) for each in means))
    assert claims <= 7  # P(more than 7 of 60 at 5%) is 1%
    assert naive > 30


def test_one_learner_twice_is_not_told_from_itself(earning):
    twice = {"a": earning(A, 2.0), "again": earning(A, 2.3), "b": earning(B, 1.0)}
    found = compare_learners(twice)
    assert "“again” earned most" in found.sentences[0]
    assert "and “b”" in found.sentences[0]
    assert "“a”" not in found.sentences[0]
