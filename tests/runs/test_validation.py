"""Validation episodes answer for the learner's policy, and nobody else notices them."""

import gymnasium
import numpy as np
import pytest

from understudy.encoders import Function
from understudy.envs import ContinuousGrid, Grid, NoisyGrid
from understudy.errors import SettingError
from understudy.learners import PPO, FixedPolicy, QLearning, Uniform
from understudy.logs import Log
from understudy.runs import experiment, probes, simulate
from understudy.runs.describing import plain
from understudy.runs.probes import Progress
from understudy.runs.validation import validation_episodes
from understudy.simulators import psrs, real

GRID, PLANE = Grid(3, slip=0.1), ContinuousGrid(3)
FORMS = {"at once": lambda env: env, "in copies": gymnasium.Wrapper}


def drifting():
    """A policy for each cell, none of them even, that gets to the goal."""
    policy = 0.05 + 0.75 * np.random.default_rng(1).dirichlet(np.ones(5), size=9)
    return policy / policy.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("form", FORMS)
def test_mean_returns_are_the_exact_value_and_those_of_another_policy_are_not(form):
    # 1,500 episodes: four standard errors, so a right answer fails once in 15,000 times.
    env, policy = FORMS[form](GRID), drifting()
    returns, _ = validation_episodes(env, FixedPolicy(policy), 1_500, 0.95, 10_000, seed=0)
    error = returns.std() / np.sqrt(len(returns))
    assert abs(returns.mean() - GRID.values(policy, 0.95)[0]) < 4 * error
    assert abs(returns.mean() - GRID.values(np.full((9, 5), 0.2), 0.95)[0]) > 4 * error
    assert abs(returns.mean() - GRID.values(policy, 0.97)[0]) > 4 * error


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("env", [GRID, PLANE, NoisyGrid(2, size=3)])
def test_observations_are_those_of_the_environment(env, form):
    class Watching(Uniform):
        def policies(self, observations):
            seen.append(observations.copy())
            return np.full((len(observations), 5), 0.2)

    seen = []
    _, lengths = validation_episodes(FORMS[form](env), Watching(5), 200, 1.0, 10_000, seed=0)
    seen = np.concatenate(seen)
    assert all(env.observation_space.contains(one) for one in (seen if seen.ndim > 1 else seen.tolist()))
    assert set(env.latent(seen).tolist()) == set(range(8))  # nothing is asked of the goal
    assert len(seen) == lengths.sum()


def test_episodes_are_cut_at_the_limit():
    stay = FixedPolicy(np.eye(5)[0])
    returns, lengths = validation_episodes(Grid(3), stay, 5, 1.0, 20, seed=0)
    assert lengths.tolist() == [20] * 5
    np.testing.assert_allclose(returns, -2.0)


def read(measured, learner, seed, steps):
    progress = Progress(learner, steps, np.empty(0), 0, np.empty(0), seed)
    return [probe.measure(progress) for probe in measured.values()]


def test_the_same_learner_gets_the_same_answer_and_another_run_or_step_another():
    measured = probes.validation(PLANE, max_episode_steps=200)
    learner = PPO(PLANE, seed=0)
    first = read(measured, learner, 1, 100)
    read(measured, learner, 2, 300)
    assert read(measured, learner, 1, 100) == first
    assert read(measured, learner, 1, 200) != first
    assert read(measured, learner, 2, 100) != first


def test_episodes_are_played_once_for_both_probes(monkeypatch):
    played = []
    monkeypatch.setattr(probes, "validation_episodes", lambda *given: played.append(given) or (np.ones(3), np.ones(3)))
    read(probes.validation(PLANE, max_episode_steps=200), PPO(PLANE), 0, 0)
    assert len(played) == 1


@pytest.mark.parametrize("name", ["simulated", "real"])
def test_validation_changes_nothing_else_about_a_run(name):
    log = Log.from_columns(**PLANE.rollout_cells(np.full((9, 5), 0.2), steps=2_000, seed=0))
    env = ContinuousGrid(3)
    simulator = psrs(log, Function(PLANE.latent)) if name == "simulated" else real(env)

    def make(seed):
        return PPO(log.spec, seed=seed, epoch_steps=100, policy_iterations=3, value_iterations=3)

    with_it, without = (
        simulate(simulator, make(1), 1, 300, probes=measured, every=100)
        for measured in (probes.validation(env, max_episode_steps=100) | {"w": weight}, {"w": weight})
    )
    np.testing.assert_array_equal(with_it.rows, without.rows)
    np.testing.assert_array_equal(with_it.returns, without.returns)
    np.testing.assert_array_equal(with_it.curves["w"], without.curves["w"])
    stacked = experiment(simulator, make, runs=3, max_steps=300, workers=1, every=100,
                         probes=probes.validation(env, max_episode_steps=100))  # fmt: skip
    for run in stacked:
        alone = simulate(simulator, make(run.seed), run.seed, 300, compiled=False, every=100,
                         probes=probes.validation(env, max_episode_steps=100))  # fmt: skip
        np.testing.assert_array_equal(run.curves["validation return"], alone.curves["validation return"])


def weight(learner):
    return learner._value.weight[0, :10].numpy()


def test_learners_without_a_batch_of_policies_are_validated_too():
    measured = probes.validation(GRID, max_episode_steps=50, episodes=3)
    run = simulate(real(GRID), QLearning(9, 5, epsilon=0.5), 0, 200, probes=measured, every=100)
    assert run.curves["validation length"].shape == (2,)


def test_what_probes_are_does_not_change_as_they_are_used():
    measured = probes.validation(PLANE, max_episode_steps=50)
    before = plain(measured)
    read(measured, PPO(PLANE), 0, 0)
    assert plain(measured) == before
    assert plain(probes.validation(PLANE, max_episode_steps=50)) == before
    assert plain(probes.validation(PLANE, max_episode_steps=50, gamma=0.5)) != before
    assert plain(probes.validation(ContinuousGrid(4), max_episode_steps=50)) != before


def test_an_environment_without_a_time_limit_is_refused_and_its_own_is_heeded():
    with pytest.raises(SettingError, match="max_episode_steps="):
        probes.validation(PLANE)
    with pytest.raises(SettingError, match="episodes=0"):
        probes.validation(PLANE, episodes=0, max_episode_steps=5)
    for env in (ContinuousGrid(3, max_episode_steps=7), gymnasium.wrappers.TimeLimit(PLANE, 7)):
        assert read(probes.validation(env, max_episode_steps=50), FixedPolicy(np.eye(5)[0]), 0, 0)[1] == 7
