"""Learners are compared by the seeds that all of them have runs of, and not at all where these are too few."""

import json
from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from tests.trust.conftest import q_learning
from understudy.errors import FailedRunsWarning, RunError, SettingError
from understudy.trust.pairing import common_runs


class Raising(us.learners.QLearning):
    """Raises at its first step, with some seeds."""

    def policy(self, observation):
        raise ArithmeticError("overflow")


def raising(share, epsilon=0.9):
    """A function seed -> learner that raises with about this share of seeds."""
    sound = q_learning(epsilon)
    return lambda seed: Raising(25, 5, seed=seed) if seed % 100 < 100 * share else sound(seed)


OPTIONS = {
    "runs": 20,
    "halves": 5,
    "runs_of_half": 8,
    "progress": False,
    "compiled": False,
    "max_steps": 400,
    "workers": 1,
}


@pytest.fixture(scope="module")
def partly(log):
    with pytest.warns(FailedRunsWarning, match="left out of all learners") as caught:
        found = us.compare(
            {"often": raising(0.1), "seldom": q_learning(0.4)}, us.psrs(log), errors="keep", seed=1, **OPTIONS
        )
    assert len([one for one in caught if one.category is FailedRunsWarning]) == 1
    return found


def test_the_seeds_that_all_have_are_compared(partly, log):
    left_out = partly.left_out
    assert 0 < left_out.runs < left_out.of == 20
    assert left_out.of_halves == 40
    assert left_out.failed == {"often": left_out.runs + left_out.on_halves, "seldom": 0}
    one, other = (found.runs for found in partly.halves.values())
    for ours, theirs in ((one, other), *zip(one.halves, other.halves, strict=True)):
        assert [run.seed for run in ours] == [run.seed for run in theirs]
        assert not {run.seed for run in ours} & {failed.seed for failed in ours.failed}
        assert all(failed.seed % 100 < 10 for failed in theirs.failed)
        assert all(failed.reason.startswith("often: ArithmeticError: overflow") for failed in theirs.failed)
    assert len(one) == 20 - left_out.runs
    sound = us.compare(
        {"often": q_learning(0.9), "seldom": q_learning(0.4)}, us.psrs(log), seed=1, **OPTIONS
    )  # the same runs, none of which is left out
    kept = {run.seed for run in one}
    same = [run for run in sound.halves["seldom"].runs if run.seed in kept]
    for ours, theirs in zip(other, same, strict=True):
        assert np.array_equal(ours.returns, theirs.returns)


def test_it_is_said_how_many_were_left_out(partly):
    said = str(partly)
    assert f"{partly.left_out.runs} of 20 runs" in said
    assert "(often in " in said
    assert "ArithmeticError: overflow" in said
    assert json.loads(json.dumps(partly.to_json()))["left_out"]["of"] == 20


def test_where_nothing_failed_nothing_is_said(compared):
    assert compared.left_out is None
    assert "left out" not in str(compared)
    assert common_runs(compared.halves) == (dict(compared.halves), None)


def test_too_few_are_refused_with_the_learner_that_raised(log):
    learners = {"often": raising(0.6), "seldom": q_learning(0.4)}
    with pytest.raises(RunError, match=r"learners cannot be compared: \d+ of \d+ runs are left .*often: run \d+"):
        us.compare(learners, us.psrs(log), errors="keep", **OPTIONS | {"runs": 10, "runs_of_half": 10})


def test_a_learner_that_always_raises_is_named(log):
    with pytest.raises(RunError, match="often: 20 of 20 runs failed"):
        us.compare({"often": raising(1.0), "seldom": q_learning(0.4)}, us.psrs(log), errors="keep", **OPTIONS)


def test_by_default_an_error_ends_it(log):
    with pytest.raises(ArithmeticError, match="overflow"):
        us.compare({"often": raising(0.1), "seldom": q_learning(0.4)}, us.psrs(log), seed=1, **OPTIONS)


def test_runs_that_are_not_paired_are_not_compared(partly):
    """The wrong way: run i of one learner beside run i of the other, which is of another seed."""
    often, seldom = partly.halves.values()
    with pytest.raises(SettingError, match="cannot be paired"):
        us.Comparison({"often": often, "seldom": replace(seldom, runs=replace(seldom.runs, failed=()))})
