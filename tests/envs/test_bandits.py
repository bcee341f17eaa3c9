"""Bandits whose truth is known: their rewards, what is best, recording them, drift, and real runs."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from scipy.stats import chisquare, kstest

import understudy as us
from understudy.envs import BernoulliBandit, LinearBandit
from understudy.envs.bandits import even_contexts
from understudy.errors import SettingError
from understudy.learners import UCB1, FixedPolicy, LinUCB, Uniform
from understudy.simulators.real import RealEnv, RealTables

MEANS = (0.1, 0.6, 0.35)


@pytest.mark.parametrize("env", [BernoulliBandit(MEANS), LinearBandit(3, 2), LinearBandit(3, 2, drift=0.01)])
def test_gymnasium_takes_them_and_an_episode_has_one_step(env):
    check_env(env, skip_render_check=True)
    observation, _ = env.reset(seed=1)
    following, _, terminated, truncated, _ = env.step(1)
    assert np.array_equal(observation, following)
    assert (terminated, truncated) == (True, False)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset()
    with pytest.raises(SettingError, match="action is 7; this environment has actions 0 to"):
        env.step(7)


def test_bernoulli_rewards_have_their_means_stepped_and_compiled():
    """Chi-square for each action, 6,000 steps by each of two ways, false alarm 1e-4; other means are told apart."""
    env = BernoulliBandit(MEANS)
    log = us.record(env, episodes=6000, seed=3)
    assert isinstance(us.real(env), RealTables)
    for action, mean in enumerate(MEANS):
        recorded = log.reward[log.action == action]
        policy = FixedPolicy(np.eye(3)[action])
        compiled = us.simulate(us.real(env), policy, 0, 2000, compiled=True).returns
        for rewards in (recorded, compiled):
            assert set(rewards) == {0.0, 1.0}
            found = np.bincount(rewards.astype(int), minlength=2)
            assert chisquare(found, len(rewards) * np.array([1 - mean, mean])).pvalue > 1e-4
            assert chisquare(found, len(rewards) * np.array([0.9 - mean, 0.1 + mean])).pvalue < 1e-4
    assert env.best_value(5) == 0.6


def test_compiled_and_plain_real_runs_are_the_same():
    one, other = (us.simulate(us.real(BernoulliBandit(MEANS)), UCB1(3), 4, 300, compiled=c) for c in (True, False))
    assert np.array_equal(one.returns, other.returns)


def test_linear_rewards_are_those_of_the_weights():
    env = LinearBandit(4, 3, seed=2, noise=0.5)
    log = us.record(env, episodes=4000, seed=1)
    expected = env.expected_rewards(log.observation)[np.arange(4000), log.action]
    assert kstest((log.reward - expected) / 0.5, "norm").pvalue > 1e-4
    assert kstest(log.reward / 0.5, "norm").pvalue < 1e-4
    assert np.linalg.norm(env.weights_at(0), axis=1) == pytest.approx(np.ones(3))
    assert kstest((log.observation.ravel() + 1) / 2, "uniform").pvalue > 1e-4
    assert env.observation_space.contains(log.observation[0])


def test_the_best_value_is_that_of_the_best_action():
    env = LinearBandit(5, 4, seed=7, noise=0.0)
    contexts = np.random.default_rng(0).uniform(-1, 1, (200_000, 5))
    best = env.expected_rewards(contexts).max(axis=1)
    assert env.best_value(100) == pytest.approx(best.mean(), abs=4 * best.std() / np.sqrt(len(best)))
    assert LinearBandit(5, 1).best_value(3) == pytest.approx(0.0, abs=1e-3)
    assert even_contexts(2).min() >= -1
    assert even_contexts(2).max() <= 1


def test_a_seed_makes_the_problem_and_another_seed_another():
    one, same, other = (LinearBandit(3, 2, seed=seed).weights_at(0) for seed in (4, 4, -4))
    assert np.array_equal(one, same)
    assert not np.allclose(one, other)


def test_weights_turn_and_time_begins_anew_with_a_seed():
    env = LinearBandit(4, 3, drift=np.pi / 100, noise=0.0)
    assert env.weights_at(100) == pytest.approx(-env.weights_at(0))
    assert (env.weights_at(0) * env.weights_at(50)).sum(axis=1) == pytest.approx(np.zeros(3), abs=1e-12)
    log = us.record(env, episodes=150, seed=0)
    assert env.time == 150
    for row in (0, 60, 149):
        expected = env.expected_rewards(log.observation[row], time=row)[log.action[row]]
        assert log.reward[row] == pytest.approx(expected)
    again = us.record(env, episodes=150, seed=0)
    assert np.array_equal(log.reward, again.reward)  # a recording begins at time 0, whatever was stepped before
    env.reset()
    assert env.time == 150


def test_each_real_run_begins_at_time_0():
    env = LinearBandit(4, 3, drift=0.01)
    us.record(env, episodes=77, seed=0)
    run = us.simulate(us.real(env), Uniform(3), 0, 50)
    assert isinstance(us.real(env), RealEnv)
    assert np.array_equal(run.returns, us.simulate(us.real(LinearBandit(4, 3, drift=0.01)), Uniform(3), 0, 50).returns)


def test_the_best_value_of_a_drift_is_a_mean_over_time():
    env, still = LinearBandit(3, 2, seed=1, drift=0.05), LinearBandit(3, 2, seed=1)
    assert env.best_value(1) == pytest.approx(still.best_value(1))
    moments = [env.expected_rewards(even_contexts(3), time).max(axis=1).mean() for time in range(200)]
    assert env.best_value(200) == pytest.approx(np.mean(moments), rel=0.02)


class DriftingLogger:
    """Prefers action 0 at first and action 1 later on; it counts how often it was asked."""

    def __init__(self, n):
        self.n, self.asked = n, 0

    def __call__(self, observation):
        self.asked += 1
        share = 0.8 - 0.6 * self.asked / self.n
        return [share, 1 - share]


def test_recording_keeps_the_propensities_of_a_logger_that_drifts_or_looks_at_the_context():
    for env in (BernoulliBandit([0.3, 0.4]), LinearBandit(2, 2)):
        log = us.record(env, DriftingLogger(400), episodes=400, seed=1)
        assert log.propensity[:, 0] == pytest.approx(0.8 - 0.6 * np.arange(1, 401) / 400)
        assert log.n_episodes == len(log) == 400
        assert log.action[:100].mean() < log.action[300:].mean()
    greedy = us.record(env, lambda x: 0.05 + 0.9 * np.eye(2)[env.expected_rewards(x).argmax()], episodes=500, seed=2)
    assert set(greedy.propensity.ravel().round(3)) == {0.05, 0.95}
    assert greedy.reward.mean() > 0.8 * env.best_value(1)


def test_results_folders_tell_them_apart_and_go_on(tmp_path):
    probes = lambda env: {"regret": us.probes.regret(env)}  # noqa: E731

    def run(env, runs, **options):
        return us.experiment(
            us.real(env), lambda seed: LinUCB(2, 2, seed=seed), runs=runs, max_steps=20, probes=probes(env), every=10,
            out=tmp_path / "out", progress=False, backend="serial",
        )  # fmt: skip

    env = LinearBandit(2, 2, seed=1)
    assert len(run(env, 1)) == 1
    assert len(run(env, 2)) == 2  # best values that were computed meanwhile do not count
    with pytest.raises(us.ResultsError):
        run(LinearBandit(2, 2, seed=2), 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: BernoulliBandit([]), lambda: BernoulliBandit([0.2, 1.5]), lambda: LinearBandit(0, 2),
        lambda: LinearBandit(2, 2, noise=-1), lambda: LinearBandit(1, 2, drift=0.1),
    ],
)  # fmt: skip
def test_settings_that_cannot_be(make):
    with pytest.raises(SettingError):
        make()
