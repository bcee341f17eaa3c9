"""How far runs are reaches whoever asks, as a share of the block: for any backend and any form of the loop."""

import sys
import time
from contextlib import nullcontext

import numpy as np
import pytest

from understudy.contracts.backing import HearsShares, TakesShares, always
from understudy.contracts.offering import offers
from understudy.envs import Grid, record
from understudy.learners import PPO, QLearning
from understudy.runs import experiment, fork_server, simulate
from understudy.runs.backends import BACKENDS
from understudy.runs.plan import Plan
from understudy.runs.shares import heard_here, share_of_each, tell_share
from understudy.simulators import psrs

LOG = record(Grid(3), episodes=300, seed=0)


class Told:
    def __init__(self):
        self.shares = []

    def __call__(self):
        return True

    def tell_share(self, share):
        self.shares.append(share)


def make_ppo(seed):
    return PPO(LOG.spec, hidden=(4,), epoch_steps=16, policy_iterations=2, value_iterations=2, device="cpu", seed=seed)


def make_tabular(seed):
    return QLearning(9, 5, seed=seed)


def test_what_runs_tell_is_a_share_of_their_block():
    told = Told()
    one, other = share_of_each(told, 2)
    one.tell_share(0.5)
    other.tell_share(1.0)
    one.tell_share(1.0)
    assert told.shares == [0.25, 0.75, 1.0]
    assert one()


def test_who_does_not_ask_is_not_told():
    assert share_of_each(always, 3) == [always] * 3
    tell_share(always, 0.5)
    assert heard_here(lambda block, wanted: None, (0,), always) is always


@pytest.mark.parametrize(("make", "compiled"), [(make_ppo, None), (make_tabular, None), (make_tabular, False)])
def test_a_run_tells_how_far_it_is_and_is_the_same_run(make, compiled, monkeypatch):
    monkeypatch.setattr(sys.modules["understudy.runs.loop"], "TELL_EVERY", 20)
    told, steps = Told(), 80
    run = simulate(psrs(LOG), make(0), 0, steps, compiled=compiled, keep_going=told)
    assert np.array_equal(run.rows, simulate(psrs(LOG), make(0), 0, steps, compiled=compiled).rows)
    assert told.shares == sorted(told.shares)
    assert (len(told.shares) >= 3) == (make is make_ppo or compiled is False)
    assert all(0 <= share <= 1 for share in told.shares)


def test_without_a_number_of_steps_nothing_is_known():
    told = Told()
    simulate(psrs(LOG), make_tabular(0), 0, keep_going=told)
    assert told.shares == []


@pytest.mark.parametrize("backend", ["serial", "threads"])
def test_the_experiment_hears_how_far_its_blocks_are(backend):
    plan, heard = Plan(psrs(LOG), make_ppo, 0, 160, {}, 100, None), []
    assert offers(plan, HearsShares)
    assert not offers(plan, TakesShares)
    plan.listener = lambda block, share: heard.append((block, share))
    blocks = plan.blocks(range(4), 2)
    assert blocks == [(0, 1), (2, 3)]
    assert set(dict(BACKENDS[backend](plan, blocks, 2))) == set(blocks)
    for block in blocks:
        shares = [share for one, share in heard if one == block]
        assert shares == sorted(shares)
        assert len(shares) > 10
        assert shares[-1] == 1.0


@pytest.mark.skipif(sys.platform != "linux", reason="workers that are not forked do not tell")
def test_an_experiment_hears_how_far_blocks_in_other_processes_are():
    class Task:
        def __call__(self, block, wanted):
            for share in (0.25, 0.5, 0.75):
                time.sleep(fork_server.TELL_EVERY)
                wanted.tell_share(share)
            return block

        def hear_share(self, block, share):
            heard.append((block, share))

    task, heard = Task(), []
    assert list(BACKENDS["processes"](task, [(0, 1)], 1)) == [((0, 1), (0, 1))]
    assert heard == [((0, 1), share) for share in (0.25, 0.5, 0.75)]


def test_a_worker_tells_now_and_then(monkeypatch):
    sent = []

    class Pipe:
        def send(self, message):
            sent.append(message)

    monkeypatch.setattr(fork_server, "TELL_EVERY", 0.0)
    wanted = fork_server.Wanted(Pipe())
    assert wanted()
    wanted.tell_share(0.5)
    monkeypatch.setattr(fork_server, "TELL_EVERY", 60.0)
    wanted.tell_share(0.6)
    assert sent == [("share", 0.5)]


def test_a_worker_whose_experiment_was_killed_does_not_fail_for_it(monkeypatch):
    class Closed:
        def send(self, message):
            asked.append(message)
            raise BrokenPipeError

    asked = []
    monkeypatch.setattr(fork_server, "TELL_EVERY", 0.0)
    fork_server.Wanted(Closed()).tell_share(0.5)
    assert asked == [("share", 0.5)]


def test_the_bar_of_an_experiment_moves_within_a_block(monkeypatch):
    shown = []
    module = sys.modules["understudy.runs.experiment"]  # the package has a function of that name
    monkeypatch.setattr(module, "progress_bar", lambda *given: nullcontext(shown.append))
    experiment(psrs(LOG), make_ppo, runs=4, max_steps=160, workers=1)
    assert shown == pytest.approx(sorted(shown))
    assert len({done for done in shown if 0 < done < 4 and done % 1}) > 10
    assert shown[-1] == 4
