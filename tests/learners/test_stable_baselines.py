"""Stable-Baselines3, unmodified, on a log."""

import json
import sys

import numpy as np
import pytest
import torch
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, EvalCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv
from torch.distributions import Categorical

import understudy as us
from understudy.contracts.streams import LEARNER, spawn
from understudy.errors import ResultsError, SettingError
from understudy.learners.stable_baselines import SEEDS
from understudy.runs.describing import learner_settings, plain
from understudy.runs.env import GymEnv

GRID = us.envs.Grid(slip=0.2, max_episode_steps=60)
SMALL = {"policy_kwargs": {"net_arch": [8]}}
SETTINGS = {
    "PPO": (PPO, {"n_steps": 64, "batch_size": 64, "n_epochs": 2, "learning_rate": 3e-3}),
    "A2C": (A2C, {"n_steps": 8}),
    "DQN": (DQN, {"learning_starts": 150, "exploration_fraction": 0.5, "train_freq": 8, "buffer_size": 5000}),
}
ORIGINAL = Categorical.sample


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    n = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n)


@pytest.fixture(scope="module")
def log():
    return us.record(GRID, episodes=400, seed=0)


def make(name, total_timesteps, **options):
    algorithm, settings = SETTINGS[name]
    return us.learners.sb3(algorithm, "MlpPolicy", total_timesteps=total_timesteps, **settings, **SMALL, **options)


class Notes(BaseCallback):
    """Everything the model knows of each step, at the moment it has taken it."""

    kept: list

    def _on_training_start(self):
        Notes.kept = []

    def _on_step(self):
        told, policy = self.locals, self.model.policy
        seen = self.model._last_obs.copy()
        note = {"observation": seen, "action": np.ravel(told["actions"]), "row": [x["row"] for x in told["infos"]]}
        if "log_probs" in told:
            probs = policy.get_distribution(policy.obs_to_tensor(seen)[0]).distribution.probs.detach().numpy()
            note |= {"log_prob": told["log_probs"].numpy().copy(), "probs": probs.copy()}
        Notes.kept.append(note)
        return True


def notes(key):
    return np.concatenate([note[key] for note in Notes.kept])


@pytest.mark.parametrize(
    ("simulator", "name", "n_envs", "steps"),
    [
        ("psrs", "PPO", 1, 2500), ("psrs", "PPO", 3, 1000), ("qbe", "PPO", 1, 500), ("qbe", "PPO", 3, 500),
        ("psrs", "A2C", 1, 500), ("qbe", "A2C", 3, 500),
        ("psrs", "DQN", 1, 600), ("qbe", "DQN", 1, 600), ("psrs", "DQN", 3, 600),
    ],
)  # fmt: skip
class TestEveryStep:
    def test_has_one_action_in_the_learner_and_in_the_row_served(self, log, simulator, name, steps, n_envs):
        learner = make(name, steps, n_envs=n_envs, callback=Notes())(0)
        run = us.simulate(getattr(us, simulator)(log), learner, seed=1)
        rows = notes("row")
        np.testing.assert_array_equal(rows, run.rows)
        assert len(np.unique(rows)) == len(rows) > 300
        np.testing.assert_array_equal(log.action[rows], notes("action"))
        np.testing.assert_array_equal(log.observation[rows], notes("observation"))
        if name != "DQN":
            chosen = notes("probs")[np.arange(len(rows)), notes("action")]
            np.testing.assert_allclose(notes("log_prob"), np.log(chosen), atol=1e-5)


@pytest.mark.parametrize("n_envs", [1, 3])
def test_what_is_in_the_rollout_buffer_is_what_was_served(log, n_envs):
    learner = make("PPO", 128 * n_envs, n_envs=n_envs)(0)
    run = us.simulate(us.psrs(log), learner, seed=1)
    buffer = learner.model.rollout_buffer
    rows = run.rows[-64 * n_envs :].reshape(64, n_envs)
    np.testing.assert_array_equal(buffer.actions.reshape(n_envs, 64).T, log.action[rows])
    np.testing.assert_array_equal(buffer.observations.reshape(n_envs, 64).T, log.observation[rows])


def test_what_is_in_the_replay_buffer_is_what_was_served(log):
    learner = make("DQN", 600)(0)
    run = us.simulate(us.psrs(log), learner, seed=1)
    buffer, n = learner.model.replay_buffer, len(run)
    for ours, column in (("observations", "observation"), ("actions", "action"), ("next_observations",) * 2):
        logged = getattr(log, column.removesuffix("s"))[run.rows]
        np.testing.assert_array_equal(getattr(buffer, ours)[:n].ravel(), logged)
    np.testing.assert_array_equal(buffer.dones[:n, 0].astype(bool) & ~buffer.timeouts[:n, 0].astype(bool),
                                  log.terminated[run.rows])  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_the_end_of_the_log_ends_learning_with_the_run_kept(log, name):
    probes = {"policy": lambda learner: learner.policies(np.arange(25))}
    short = log.select(np.arange(8))
    run = us.simulate(us.psrs(short), make(name, 100_000)(0), seed=0, probes=probes, every=10)
    assert run.stopped.cause in ("queue empty", "no opening", "unsupported")
    assert len(run) > 5
    assert run.final["policy"].shape == (25, 5)


def test_a_callback_that_samples_or_evaluates_takes_no_row(log):
    class Evaluating(BaseCallback):
        def _on_step(self):
            if self.n_calls % 50 == 0:
                self.model.predict(self.model._last_obs, deterministic=False)
                evaluate_policy(self.model, Monitor(GRID), n_eval_episodes=1, deterministic=False)
            return True

    eval_callback = EvalCallback(Monitor(GRID), n_eval_episodes=1, eval_freq=100, deterministic=False, verbose=0)
    for callback in (Evaluating(), eval_callback):
        learner = make("PPO", 300, callback=[callback, Notes()])(0)
        run = us.simulate(us.psrs(log), learner, seed=1)
        np.testing.assert_array_equal(notes("row"), run.rows)
        np.testing.assert_array_equal(log.action[run.rows], notes("action"))


def test_nothing_is_hooked_in_a_true_environment():
    class Untouched(BaseCallback):
        def _on_step(self):
            assert Categorical.sample is ORIGINAL
            assert not self.model.policy._forward_pre_hooks
            return True

    learner = make("PPO", 128, callback=Untouched())(0)
    assert len(us.simulate(us.real(GRID), learner, seed=3)) == 128

    env = DummyVecEnv([lambda: Monitor(GymEnv(us.real(GRID), seed=3, one_run=True))])
    algorithm, settings = SETTINGS["PPO"]
    by_itself = algorithm("MlpPolicy", env, seed=spawn(0, LEARNER) % SEEDS, device="cpu", **settings, **SMALL)
    by_itself.learn(128)
    for ours, theirs in zip(learner.model.policy.parameters(), by_itself.policy.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_nothing_stays_hooked(log):
    learner = make("PPO", 100)(0)
    us.simulate(us.psrs(log), learner)
    assert Categorical.sample is ORIGINAL
    assert not learner.model.policy._forward_pre_hooks
    assert not learner.model.policy._forward_hooks


def test_a_model_is_saved_as_if_it_had_never_seen_a_log(log, tmp_path):
    for name in ("PPO", "DQN"):
        learner = make(name, 200)(0)
        us.simulate(us.psrs(log), learner)
        learner.model.save(tmp_path / name)
        again = SETTINGS[name][0].load(tmp_path / name, device="cpu")
        action, _ = again.predict(np.array([0]), deterministic=True)
        assert action == learner.model.predict(np.array([0]), deterministic=True)[0]


@pytest.mark.parametrize("name", ["PPO", "DQN"])
def test_schedules_depend_on_the_planned_deployment(log, name):
    """However short the log: a run of 300 steps of 3,000 has a tenth of the schedule behind it."""
    rates = []

    class Rates(BaseCallback):
        def _on_step(self):
            rates.append(self.model._current_progress_remaining)
            return True

    us.simulate(us.psrs(log), make(name, 3000, callback=Rates())(0), max_steps=300)
    assert rates[-1] == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("backend", ["threads", pytest.param("processes", marks=pytest.mark.slow)])
def test_a_run_depends_on_its_seed_alone(log, backend):
    options = {"runs": 3, "seed": 5, "probes": {"worth": lambda learner: learner.values(np.arange(25))}, "every": 64}
    some, others = (
        us.experiment(us.psrs(log), make("PPO", 128), **options, workers=2, backend=one) for one in ("serial", backend)
    )
    for one, other in zip(some, others, strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_allclose(one.curves["worth"], other.curves["worth"], rtol=1e-4, atol=1e-6)
    assert len({tuple(run.rows) for run in some}) == 3


@pytest.mark.parametrize("name", SETTINGS)
class TestWhatProbesAsk:
    @pytest.fixture
    def learner(self, log, name):
        learner = make(name, 200)(0)
        us.simulate(us.psrs(log), learner, seed=0)
        return learner

    def test_policies_are_those_that_act(self, learner, name):
        policies = learner.policies(np.arange(25))
        assert policies.shape == (25, 5)
        np.testing.assert_allclose(policies.sum(axis=1), 1, atol=1e-12)
        np.testing.assert_allclose(learner.policy(3), policies[3], atol=1e-6)
        greedy, _ = learner.model.policy.predict(np.arange(25), deterministic=True)
        np.testing.assert_array_equal(policies.argmax(axis=1), greedy)
        if name == "DQN":
            epsilon = learner.model.exploration_rate
            np.testing.assert_allclose(policies.max(axis=1), 1 - epsilon + epsilon / 5)

    def test_values(self, learner, name):
        assert us.probes.start_value(GRID)(learner) == pytest.approx(learner.value(0), abs=1e-6)

    def test_asking_changes_nothing(self, learner, name):
        learner.model.policy.set_training_mode(True)
        learner.policies(np.arange(25))
        learner.values(np.arange(25))
        assert learner.model.policy.training


@pytest.mark.parametrize("name", ["PPO", "DQN"])
@pytest.mark.parametrize(("shape", "dtype"), [((6, 6, 1), np.uint8), ((2,), np.float64), ((), np.float32)])
def test_observations_of_any_form(name, shape, dtype):
    rng, n = np.random.default_rng(0), 2000
    observation = (200 * rng.random((n + 1, *shape))).astype(dtype)
    log = us.Log.from_columns(
        observation=observation[:-1], action=rng.integers(0, 3, n), reward=rng.random(n),
        next_observation=observation[1:], terminated=np.arange(n) % 10 == 9, propensity=np.full((n, 3), 1 / 3),
    )  # fmt: skip
    stateless = us.encoders.Function(lambda observations: np.zeros(len(observations), int))
    learner = make(name, 200, callback=Notes())(0)
    run = us.simulate(us.psrs(log, stateless), learner)
    np.testing.assert_array_equal(log.action[run.rows], notes("action"))
    assert learner.policies(observation[:7]).shape == (7, 3)
    assert learner.values(observation[:7]).shape == (7,)


class TestSettings:
    def test_are_plain_and_the_same_for_every_seed(self):
        callback = CallbackList([EvalCallback(Monitor(GRID), eval_freq=7), Notes()])
        factory = make("PPO", 100, callback=callback, clip_range=lambda left: 0.1 * left)
        one, other = (learner_settings(factory(seed)) for seed in (0, 1))
        assert one == other
        assert "eval_freq" in json.dumps(one)
        assert one["algorithm"] == "stable_baselines3.ppo.ppo.PPO"
        assert one["policy_kwargs"] == {"net_arch": [8]}

    @pytest.mark.parametrize(
        "other",
        [
            {"gamma": 0.5}, {"n_envs": 2}, {"clip_range": lambda left: 0.3 * left}, {"callback": Notes()},
            {"policy_kwargs": {"net_arch": [4]}},
        ],
    )  # fmt: skip
    def test_tell_experiments_apart(self, other):
        plain_one = learner_settings(us.learners.sb3(PPO, total_timesteps=100, clip_range=lambda left: 0.1 * left)(0))
        settings = {"clip_range": lambda left: 0.1 * left} | other
        assert learner_settings(us.learners.sb3(PPO, total_timesteps=100, **settings)(0)) != plain_one

    def test_of_runs_in_a_folder_are_found_again(self, log, tmp_path):
        for _ in range(2):
            us.experiment(us.psrs(log), make("A2C", 50), runs=1, out=tmp_path / "results")
        with pytest.raises(ResultsError, match="holds runs of another experiment: learner total_timesteps is 50"):
            us.experiment(us.psrs(log), make("A2C", 60), runs=1, out=tmp_path / "results")
        assert plain(us.load(tmp_path / "results").about.learner)["n_envs"] == 1


class TestBadInput:
    @pytest.mark.parametrize("algorithm", [SAC, TD3])
    def test_continuous_actions(self, algorithm):
        with pytest.raises(SettingError, match=f"{algorithm.__name__} takes continuous actions.*use PPO, A2C or DQN"):
            us.learners.sb3(algorithm, total_timesteps=10)

    @pytest.mark.parametrize("total", [None, 0, -5, 1.5, True])
    def test_total_timesteps_that_are_not_a_number(self, total):
        with pytest.raises(us.SettingError, match=r"total_timesteps=.* from 1; give one, the planned deployment"):
            us.learners.sb3(PPO, "MlpPolicy", total_timesteps=total)

    def test_n_envs_that_is_not_a_number(self):
        with pytest.raises(us.SettingError, match="n_envs=0 is not a whole number"):
            us.learners.sb3(PPO, total_timesteps=10, n_envs=0)

    @pytest.mark.parametrize("algorithm", ["PPO", us.learners.QLearning, PPO.__init__])
    def test_something_else_than_an_algorithm(self, algorithm):
        with pytest.raises(us.ContractError, match="is not an algorithm of Stable-Baselines3; give the class"):
            us.learners.sb3(algorithm, total_timesteps=10)

    @pytest.mark.parametrize("name", ["env", "seed"])
    def test_what_each_run_gives(self, name):
        with pytest.raises(SettingError, match=f"{name}= is given by each run"):
            us.learners.sb3(PPO, total_timesteps=10, **{name: 1})

    def test_a_model_before_it_is_handed_an_env(self):
        with pytest.raises(us.UsageError, match="simulate first"):
            _ = make("PPO", 10)(0).model

    def test_an_observation_space_of_another_log(self, log):
        from gymnasium.spaces import Discrete

        with pytest.raises(SettingError, match="does not hold the log's observations"):
            us.simulate(us.psrs(log.select([0])), make("PPO", 10, observation_space=Discrete(1))(0))

    def test_a_missing_extra_says_how_to_install_it(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "stable_baselines3", None)
        with pytest.raises(ModuleNotFoundError, match=r'sb3 needs stable_baselines3: pip install "torch>=2.2" "stable'):
            _ = us.learners.sb3


class TestAModelOfYourOwn:
    """Without the factory: an env for anything that acts, and the same with its sampling accepted."""

    @pytest.mark.parametrize("name", SETTINGS)
    def test_learns_in_a_gym_env_until_the_log_has_no_answer(self, log, name):
        algorithm, settings = SETTINGS[name]
        with us.gym_env(us.psrs(log.select(np.arange(60))), seed=0) as env:
            model = algorithm("MlpPolicy", env, seed=3, device="cpu", **settings, **SMALL)
            model.learn(10**9, callback=Notes())
        run = env.run()
        assert run.seed == 3  # the model seeds its env
        assert run.stopped.cause != "learner ended"
        np.testing.assert_array_equal(log.action[notes("row")], notes("action"))
        assert len(run) - len(notes("row")) in (0, 1)

    def test_accepts_rows_where_it_samples(self, log):
        algorithm, settings = SETTINGS["PPO"]
        env = us.gym_env(us.psrs(log), max_steps=200)
        with env, us.learners.accepting(env):
            algorithm("MlpPolicy", env, seed=3, device="cpu", **settings, **SMALL).learn(10**9, callback=Notes())
        chosen = notes("probs")[np.arange(200), notes("action")]
        np.testing.assert_allclose(notes("log_prob"), np.log(chosen), atol=1e-5)
        np.testing.assert_array_equal(log.action[env.run().rows], notes("action"))
        assert env.run().stopped.counts["rows taken"] < 2 * 200  # sure of its action, it would take five a step
