from dataclasses import replace

import numpy as np
import pytest

from understudy.reporting.learners import compare_learners
from understudy.runs import Runs

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
    assert "“short” earned most" in found.sentence
    assert "first 8 episodes of each run (steps 1 to 40)" in found.sentence
    assert "the luck of this one log is not in that" in found.sentence
    assert set(found.earned) == {"short", "long"}


def test_what_the_spread_of_runs_leaves_open_cannot_be_told(earning):
    found = compare_learners({"a": earning(A, 1.0, spread=1.0), "b": earning(B, 1.01, spread=1.0)})
    assert found.sentence.startswith("Which learner earns more cannot be told: over the first 8 episodes")


def test_single_runs_have_no_spread_and_cannot_be_told_apart(earning):
    found = compare_learners({"a": earning(A, 1.0, (40,)), "b": earning(B, 5.0, (40,))})
    assert "cannot be told" in found.sentence


def test_runs_that_stopped_early_count_as_badly_as_they_may_have_gone(earning):
    ahead = earning(A, 2.0, (40,) * 19 + (5,), spread=3.0)
    found = compare_learners({"a": ahead, "b": earning(B, 1.6, (40,) * 20, spread=0.1)})
    assert found.earned["a"].missing > 0
    assert "cannot be told" in found.sentence


@pytest.mark.parametrize("about", [{"log": "another"}, {"simulator": {"simulator": "qbe"}}, {"states": "others"}])
def test_on_different_logs_or_under_different_simulators_learners_are_not_compared(earning, about):
    found = compare_learners({"a": earning(A, 1.0), "b": earning(B, 2.0, **about)})
    assert "no two of them ran on the same log" in found.sentence
    assert not found.earned


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
    assert "finished an episode" in found.sentence
