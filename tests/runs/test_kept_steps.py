"""Steps are kept in order until the learner is due, and policies that compiled code computes serve the same rows."""

import numpy as np
import pytest

from understudy.contracts.kernels import check_kernels, kernels_of, register_kernels
from understudy.encoders import Function
from understudy.envs import ContinuousGrid
from understudy.errors import SettingError
from understudy.learners import PPO
from understudy.learners.policy_on_log import PolicyOnLog
from understudy.logs import Log
from understudy.runs import experiment, simulate
from understudy.runs.kept_steps import (
    ActingArrays,
    end_episode,
    keep_step,
    observations_at,
    room_for_steps,
    take_cut,
    take_steps,
)
from understudy.runs.look_ahead import acts_compiled, policy_on
from understudy.simulators import psrs, qbe

PLANE = ContinuousGrid(size=3, slip=0.2)
CELLS = Function(PLANE.latent)
LOG = Log.from_columns(**PLANE.rollout_cells(np.full((9, 5), 0.2), steps=4_000, seed=0))
SMALL = {"epoch_steps": 300, "policy_iterations": 5, "value_iterations": 5, "policy_rate": 0.01, "device": "cpu"}


class Compiled(PPO):
    """PPO on the CPU whose policy compiled code computes, as it does on an accelerator."""

    def policy_on(self, log):
        return self.compiled_policy(log)


class Kept(PolicyOnLog):
    """Arrays of somebody else's, with kernels of ours."""


@pytest.fixture
def kept():
    learner = Compiled(LOG.spec, seed=0, **SMALL)
    return ActingArrays(policy=learner.policy_on(LOG), **room_for_steps(3))


def test_steps_are_kept_in_order_and_handed_over_once(kept):
    keep_step(kept, 2, 1, 0.5, 7, False, False)
    keep_step(kept, len(LOG) + 1, 0, -1.0, 3, True, False)
    steps = take_steps(kept, LOG)
    np.testing.assert_array_equal(steps.observation, [LOG.next_observation[2], LOG.observation[LOG.starts[1]]])
    np.testing.assert_array_equal(steps.next_observation, LOG.next_observation[[7, 3]])
    assert (steps.action.tolist(), steps.reward.tolist()) == ([1, 0], [0.5, -1.0])
    assert (steps.terminated.tolist(), steps.truncated.tolist()) == ([False, True], [False, False])
    assert len(take_steps(kept, LOG).action) == 0


def test_a_cut_episode_ends_with_its_last_step_or_before_the_first(kept):
    end_episode(kept)
    assert take_cut(kept)
    assert not take_cut(kept)
    keep_step(kept, 2, 1, 0.5, 0, False, False)
    end_episode(kept)
    assert take_steps(kept, LOG).truncated.tolist() == [True]


def test_codes_are_next_observations_of_rows_and_then_openings():
    codes = np.array([5, len(LOG) + 2, 0])
    expected = [LOG.next_observation[5], LOG.observation[LOG.starts[2]], LOG.next_observation[0]]
    np.testing.assert_array_equal(observations_at(LOG, codes), expected)


def test_loops_of_kernels_that_are_not_ours_are_not_kept_on_disk(kept):
    assert check_kernels(kept, 5).built_in
    ours = kernels_of(kept.policy)
    Kept.__module__ = "elsewhere"
    register_kernels(Kept, act=ours.act, learn=ours.learn, has_policy=ours.has_policy)
    assert not check_kernels(kept._replace(policy=Kept(*kept.policy)), 5).built_in


@pytest.mark.parametrize("make_simulator", [
    lambda: psrs(LOG, CELLS), lambda: psrs(LOG, CELLS, reserve=True), lambda: qbe(LOG, CELLS),
    lambda: psrs(LOG, CELLS, order="rows", openings="replacement", max_episode_steps=8),
])  # fmt: skip
@pytest.mark.parametrize("abandons", [False, True])
def test_runs_are_those_that_look_ahead(make_simulator, abandons, assert_same):
    simulator, settings = make_simulator(), SMALL | {"abandons": abandons}
    learners = [kind(LOG.spec, seed=3, **settings) for kind in (PPO, Compiled)]
    assert [acts_compiled(simulator, learner) for learner in learners] == [False, True]
    runs = [simulate(simulator, learner, 3, 1_500) for learner in learners]
    assert len(runs[0]) > 300
    assert_same(*runs)
    np.testing.assert_array_equal(learners[0]._policy.weight, learners[1]._policy.weight)


@pytest.mark.parametrize("backend", ["serial", "threads"])
def test_stacked_runs_in_threads_are_those_made_alone(backend, assert_same):
    simulator = psrs(LOG, CELLS)

    def make(seed):
        return Compiled(LOG.spec, seed=seed, stack_size=3, **SMALL)

    runs = experiment(simulator, make, runs=7, max_steps=1_000, workers=2, backend=backend)
    for run in runs:
        assert_same(run, simulate(simulator, make(run.seed), run.seed, 1_000, compiled=False))


def test_an_observation_without_a_policy_is_refused_as_step_by_step():
    observation, following = LOG.observation.copy(), LOG.next_observation.copy()
    following[40:60, 1] = np.nan
    log = Log.from_columns(
        observation=observation, next_observation=following, action=LOG.action, reward=LOG.reward,
        terminated=LOG.terminated, episode=np.repeat(np.arange(LOG.n_episodes), np.diff(LOG.starts)),
        propensity=np.full((len(LOG), 5), 0.2),
    )  # fmt: skip
    simulator = psrs(log, Function(lambda points: np.zeros(len(points), np.int64)))
    with pytest.raises(SettingError, match="not finite"):
        simulate(simulator, Compiled(log.spec, seed=0, **SMALL), 0)


def test_a_subclass_that_acts_in_another_way_is_evaluated_ahead():
    class Evenly(Compiled):
        def policies(self, observations):
            return np.full((len(observations), 5), 0.2)

    assert policy_on(LOG, Compiled(LOG.spec, **SMALL)) is not None
    assert policy_on(LOG, Evenly(LOG.spec, **SMALL)) is None
