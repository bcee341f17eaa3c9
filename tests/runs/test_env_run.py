"""A run that is kept on the simulator's side."""

import os

import numpy as np
import pytest

import understudy as us
from understudy.contracts import Exhausted
from understudy.errors import ContractError, UsageError
from understudy.runs.env_run import EnvRun

EVEN = np.full((3, 5), 0.2)


@pytest.fixture
def env_run(log):
    """Three copies, each at its first opening."""
    env_run = EnvRun(us.psrs(log), 0, None, {}, 1000)
    env_run.n_copies = 3
    for number in range(3):
        env_run.begin(number, None)
    return env_run


def test_what_was_accepted_counts_when_it_is_delivered(env_run):
    actions = env_run.accept(EVEN)
    assert len(env_run.run()) == 0
    assert env_run.has_pending
    assert not env_run.waiting.any()
    rows = [env_run.step(number, action).row for number, action in enumerate(actions)]
    np.testing.assert_array_equal(env_run.run().rows, rows)
    assert env_run.waiting.all()


def test_a_copy_whose_step_is_pending_is_not_asked_again(env_run):
    first = env_run.accept(EVEN)
    env_run.step(1, first[1])
    assert env_run.accept(EVEN).tolist()[::2] == [-1, -1]


def test_a_copy_that_has_no_answer_ends_the_run_for_all_and_nothing_is_delivered():
    """The last copy asks for what the logger never did, after rows were accepted for the others."""
    onward = np.array([0, 0.5, 0.5, 0, 0])
    env_run = EnvRun(us.psrs(us.record(us.envs.Grid(size=3), lambda _: onward, episodes=9, seed=0)), 0, None, {}, 1000)
    env_run.n_copies = 3
    for number in range(3):
        env_run.begin(number, None)
    with pytest.raises(Exhausted, match=r"no row left whose logger could take action=0 .* after 0 steps"):
        env_run.accept(np.array([onward, onward, [1, 0, 0, 0, 0]]))
    assert len(env_run.run()) == 0
    for number in range(3):
        with pytest.raises(Exhausted):
            env_run.step(number, 0)


def test_copies_stay_in_one_process(env_run, monkeypatch):
    here = os.getpid()
    monkeypatch.setattr("understudy.runs.env_run.os.getpid", lambda: here + 1)
    with pytest.raises(UsageError, match="share their log in one process only"):
        env_run.begin(0, None)


def test_probes_need_to_know_the_learner(log):
    env = us.gym_env(us.psrs(log), seed=0, probes={"n": lambda learner: learner.n}, every=1)
    env.reset()
    env.step(0)
    with pytest.raises(UsageError, match=r"set env\.learner to yours"):
        env.step(0)


@pytest.mark.parametrize(("returned", "kind"), [(None, "NoneType"), ((0, 1, 1.0, 1, False, False), "tuple")])
def test_a_simulator_whose_step_is_not_a_step_is_refused(returned, kind):
    class Careless:
        n_actions = 5

        def start(self, seed):
            return self

        def begin(self):
            return 0

        def step(self, policy):
            return returned

    env_run = EnvRun(Careless(), 0, None, {}, 1000)
    env_run.begin(0, None)
    with pytest.raises(ContractError, match=rf"step\(policy\) of Careless returned a {kind}; return understudy"):
        env_run.step(0, 1)


def test_a_simulator_that_does_not_say_its_number_of_actions_has_its_logs(log):
    class Minimal:
        def __init__(self, log=None):
            if log is not None:
                self.log = log

        def start(self, seed):
            return us.psrs(log).start(seed)

    assert EnvRun(Minimal(log), 0, None, {}, 1000).n_actions == log.spec.n_actions
    with pytest.raises(us.ContractError, match="Minimal does not say how many actions there are; give it n_actions"):
        EnvRun(Minimal(), 0, None, {}, 1000)
