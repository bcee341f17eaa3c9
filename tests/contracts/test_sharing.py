"""The env that a learner with its own loop is handed keeps the promises of a shared run."""

import numpy as np
import pytest

from understudy.contracts import Exhausted, RehearsalEnv, SharedRun
from understudy.contracts.offering import offers
from understudy.contracts.sharing import HasSharedRun
from understudy.envs import Grid
from understudy.logs import Log
from understudy.runs import gym_env, vector_env
from understudy.simulators import psrs, real

ENV = Grid(3)
LOG = Log.from_columns(**ENV.rollout(np.full((9, 5), 0.2), 20, seed=0))
EVEN = np.full((2, 5), 0.2)


@pytest.fixture
def envs():
    copies = gym_env(psrs(LOG), 0).copies(2)
    for env in copies:
        env.reset()
    return copies


def test_envs_and_vectors_of_them_have_a_shared_run():
    env, vector = gym_env(psrs(LOG), 0), vector_env(psrs(LOG), 2, seed=0)
    assert offers(env, RehearsalEnv)
    assert offers(vector, HasSharedRun)
    assert not offers(vector, RehearsalEnv)
    assert not offers(ENV, HasSharedRun)
    for shared in (env.shared_run, vector.shared_run):
        assert offers(shared, SharedRun)
    assert (env.shared_run.n_copies, vector.shared_run.n_copies, env.shared_run.n_actions) == (1, 2, 5)


def test_copies_that_wait_are_served_and_then_deliver_what_was_accepted(envs):
    shared = envs[0].shared_run
    assert (shared.waiting.tolist(), shared.has_pending) == ([True, True], False)
    actions = shared.accept(EVEN)
    assert (shared.waiting.tolist(), shared.has_pending) == ([False, False], True)
    rows = [env.step(int(action))[4]["row"] for env, action in zip(envs, actions, strict=True)]
    assert LOG.action[rows].tolist() == actions.tolist()
    assert not shared.has_pending


def test_copies_that_do_not_wait_get_no_action(envs):
    shared = envs[0].shared_run
    shared.accept(EVEN)
    assert shared.accept(EVEN).tolist() == [-1, -1]


def test_only_true_environments_are_real():
    assert gym_env(real(ENV), 0, max_steps=5).shared_run.is_real
    assert not gym_env(psrs(LOG), 0).shared_run.is_real


def test_acceptance_ends_with_the_run():
    env = gym_env(psrs(LOG), 0, max_steps=1)
    env.reset()
    env.step(int(env.shared_run.accept(EVEN[:1])[0]))
    env.reset()
    with pytest.raises(Exhausted):
        env.shared_run.accept(EVEN[:1])
