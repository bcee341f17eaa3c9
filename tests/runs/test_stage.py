"""A run that is kept on the simulator's side."""

import os

import numpy as np
import pytest

import understudy as us
from understudy.contracts import Exhausted
from understudy.runs.stage import Stage

EVEN = np.full((3, 5), 0.2)


@pytest.fixture
def stage(log):
    """Three copies, each at its first opening."""
    stage = Stage(us.psrs(log), 0, None, {}, 1000)
    stage.n = 3
    for number in range(3):
        stage.begin(number, None)
    return stage


def test_what_was_accepted_counts_when_it_is_delivered(stage):
    actions = stage.accept(EVEN)
    assert len(stage.run()) == 0
    assert stage.has_pending
    assert not stage.waiting.any()
    rows = [stage.step(number, action).row for number, action in enumerate(actions)]
    np.testing.assert_array_equal(stage.run().rows, rows)
    assert stage.waiting.all()


def test_a_copy_whose_step_is_pending_is_not_asked_again(stage):
    first = stage.accept(EVEN)
    stage.step(1, first[1])
    assert stage.accept(EVEN).tolist()[::2] == [-1, -1]


def test_a_copy_that_has_no_answer_ends_the_run_for_all_and_nothing_is_delivered():
    """The last copy asks for what the logger never did, after rows were accepted for the others."""
    onward = np.array([0, 0.5, 0.5, 0, 0])
    stage = Stage(us.psrs(us.record(us.envs.Grid(size=3), lambda _: onward, episodes=9, seed=0)), 0, None, {}, 1000)
    stage.n = 3
    for number in range(3):
        stage.begin(number, None)
    with pytest.raises(Exhausted, match=r"no row left whose logger could take action 0 .* after 0 steps"):
        stage.accept(np.array([onward, onward, [1, 0, 0, 0, 0]]))
    assert len(stage.run()) == 0
    for number in range(3):
        with pytest.raises(Exhausted):
            stage.step(number, 0)


def test_copies_stay_in_one_process(stage, monkeypatch):
    here = os.getpid()
    monkeypatch.setattr("understudy.runs.stage.os.getpid", lambda: here + 1)
    with pytest.raises(RuntimeError, match="share their log in one process only"):
        stage.begin(0, None)


def test_probes_need_to_know_the_learner(log):
    env = us.gym_env(us.psrs(log), seed=0, probes={"n": lambda learner: learner.n}, every=1)
    env.reset()
    env.step(0)
    with pytest.raises(RuntimeError, match=r"set env\.learner to yours"):
        env.step(0)
