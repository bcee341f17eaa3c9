"""Groups of runs hold each run once, on any backend, however long runs take and whatever dies."""

import os
import signal
import time

import pytest

import understudy as us
from understudy.errors import ContractError
from understudy.runs.plan import Plan
from understudy.sweeps import making
from understudy.sweeps.making import Group, GroupRunner, made_groups
from understudy.sweeps.run_tables import REWARD

PARENT = os.getpid()


def plan_of(log, make=None):
    make = make or (lambda seed: us.learners.QLearning(25, 5, seed=seed))
    probes = {REWARD: us.probes.reward_so_far}
    return Plan(us.psrs(log), make, 0, 40, probes, 20, None, keep_rows=False, keep_errors=True)


def singles(n):
    return [(number,) for number in range(n)]


def numbers_of(groups):
    return sorted((group.place, number) for group in groups for stack in group.made for number in stack)


@pytest.mark.parametrize("backend", ["serial", "threads"])
def test_every_run_is_made_once(log, backend):
    groups = list(made_groups({0: plan_of(log), 7: plan_of(log)}, {0: singles(70), 7: singles(5)}, backend, 2))
    assert numbers_of(groups) == [(0, n) for n in range(70)] + [(7, n) for n in range(5)]
    assert max(len(group.made) for group in groups) == 2  # 75 runs, at least 16 groups for each of two workers


def test_long_runs_come_back_soon(log, monkeypatch):
    """A group ends when it takes too long; what is left of it is made in groups of the size that fitted."""

    class Slow(us.learners.Uniform):
        def policy(self, observation):
            time.sleep(0.0005)
            return super().policy(observation)

    monkeypatch.setattr(making, "GROUPS_OF_WORKER", 1)
    plan = plan_of(log, lambda seed: Slow(5))
    runner = GroupRunner({0: plan}, longest=0.03)
    group = runner((0, tuple(singles(8))), lambda: True)
    assert 2 <= len(group.made) < 8
    monkeypatch.setattr(making, "GroupRunner", lambda plans: runner)
    groups = list(made_groups({0: plan}, {0: singles(8)}, "serial", 1))
    assert numbers_of(groups) == [(0, n) for n in range(8)]
    assert len(groups) > 1


def test_rows_are_those_of_an_experiment(log):
    (group,) = made_groups({0: plan_of(log)}, {0: singles(1)}, "serial", 1)
    run = us.experiment(us.psrs(log), lambda seed: us.learners.QLearning(25, 5, seed=seed), runs=1, max_steps=40,
                        probes={REWARD: us.probes.reward_so_far}, every=20, progress=False)[0]  # fmt: skip
    (line,) = group.runs.to_pylist()
    assert (line["seed"], line["steps"], line["reward"]) == (run.seed, len(run), run.final[REWARD])
    assert group.curves["value"].to_pylist() == run.curves[REWARD].tolist()


def test_a_run_that_raises_is_failed_and_the_others_are_made(log):
    def make(seed):
        if seed % 3 == 0:
            raise ValueError("no learner for this seed")
        return us.learners.QLearning(25, 5, seed=seed)

    plan = plan_of(log, make)
    plan.kind = 0  # run 0 may be one that raises
    groups = list(made_groups({0: plan}, {0: singles(30)}, "serial", 1))
    failed = {one.number: one.reason for group in groups for one in group.failed}
    kept = {number for group in groups for number in group.runs["number"].to_pylist()}
    assert set(failed) | kept == set(range(30))
    assert set(failed).isdisjoint(kept)
    assert failed
    assert set(failed.values()) == {"ValueError: no learner for this seed"}


def test_a_group_that_cannot_be_made_is_made_run_by_run():
    class Seeds:
        def seed_of(self, number):
            return 100 + number

    runner = GroupRunner({0: Seeds()})
    assert runner.give_up((0, ((1,), (2,))), "killed") == Group(0, lost=True)
    alone = runner.give_up((0, ((1,),)), "killed")
    assert alone.made == ((1,),)
    assert (alone.failed[0].number, alone.failed[0].seed, alone.failed[0].reason) == (1, 101, "killed")


def test_lost_groups_are_made_run_by_run(log):
    seen = []

    def losing(run_block, blocks, workers):
        for block in blocks:
            seen.append(len(block[1]))
            yield block, (run_block.give_up(block, "killed") if len(block[1]) > 1 else run_block(block, lambda: True))

    groups = list(made_groups({0: plan_of(log)}, {0: singles(40)}, losing, 1))
    assert numbers_of(groups) == [(0, n) for n in range(40)]
    assert 2 in seen
    assert seen[-40:] == [1] * 40


@pytest.mark.slow
def test_a_run_that_kills_its_process_is_failed_and_its_group_is_made(log):
    class Killer(us.learners.Uniform):
        def __init__(self, n_actions, seed):
            super().__init__(n_actions)
            self.seed = seed

        def policy(self, observation):
            if self.seed == bad and os.getpid() != PARENT:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().policy(observation)

    plan = plan_of(log, lambda seed: Killer(5, seed))
    bad = plan.seed_of(3)
    groups = list(made_groups({0: plan}, {0: singles(64)}, "processes", 2))
    assert [one.number for group in groups for one in group.failed] == [3]
    assert numbers_of(groups) == [(0, n) for n in range(64)]


@pytest.mark.parametrize(
    "wrong",
    [lambda run, blocks, n: [(blocks[0], [])], lambda run, blocks, n: [], lambda run, blocks, n: [((0, ()), 1)]],
)
def test_a_backend_that_yields_something_else_is_refused(log, wrong):
    with pytest.raises(ContractError, match="backend"):
        list(made_groups({0: plan_of(log)}, {0: singles(3)}, wrong, 1))
