"""Our learners keep every rule, and each rule catches a learner that breaks it."""

import math
from typing import NamedTuple

import gymnasium
import numpy as np
import pytest

import understudy as us
from understudy.errors import ContractError
from understudy.testing import check_learner

LOG = us.record(us.envs.Grid(slip=0.2), episodes=60, seed=0, max_episode_steps=200)
OURS = {
    "QLearning": lambda seed: us.learners.QLearning(25, 5, epsilon=0.3, seed=seed),
    "ExpectedSarsa": lambda seed: us.learners.ExpectedSarsa(25, 5, epsilon=us.learners.Linear(1, 0.1, 100), seed=seed),
    "a schedule of Python": lambda seed: us.learners.QLearning(25, 5, epsilon=lambda step: 0.3, seed=seed),
    "Uniform": lambda seed: us.learners.Uniform(5),
    "FixedPolicy": lambda seed: us.learners.FixedPolicy(np.full((25, 5), 0.2)),
    "a function": lambda seed: us.learners.FixedPolicy(lambda observation: np.full(5, 0.2)),
    "MonteCarlo": lambda seed: us.learners.MonteCarlo(us.learners.Uniform(5)),
    "PPO": lambda seed: us.learners.PPO(LOG.spec, epoch_steps=100, policy_iterations=5, value_iterations=5, seed=seed),
    "script": us.learners.script(lambda env, seed: uniform_steps(env, seed)),
}


def uniform_steps(env, seed):
    rng = np.random.default_rng(seed)
    env.reset()
    while True:
        _, _, terminated, truncated, _ = env.step(int(rng.integers(5)))
        if terminated or truncated:
            env.reset()


@pytest.mark.parametrize("make", OURS.values(), ids=OURS)
def test_our_learners_keep_the_rules(make):
    assert len(check_learner(make, LOG).rules) >= 5


def test_a_learner_of_stable_baselines_keeps_the_rules():
    from stable_baselines3 import A2C

    check_learner(us.learners.sb3(A2C, "MlpPolicy", total_timesteps=100, n_steps=16), LOG, max_steps=100)


def test_what_was_checked_prints_as_a_list_and_names_the_faster_form():
    checked = check_learner(OURS["QLearning"], LOG)
    assert repr(checked).startswith("QLearning keeps 15 rules:\n  a learner has policy(observation) and learn(step)")
    assert any("compiled form" in rule for rule in checked.rules)
    assert any("look-ahead form" in rule for rule in check_learner(OURS["PPO"], LOG).rules)


def test_a_fresh_learner_will_do_and_stays_fresh():
    learner = us.learners.QLearning(25, 5, epsilon=0.3)
    check_learner(learner)
    assert not learner.q.any()


class Plain:
    """A learner that keeps the rules; subclasses break one each."""

    n_actions = 5

    def __init__(self, seed=0):
        self.values, self.seed = np.zeros((25, 5)), seed

    def policy(self, observation):
        scores = np.exp(self.values[observation])
        return scores / scores.sum()

    def learn(self, step):
        self.values[step.observation, step.action] += 0.1 * step.reward


class NoLearn:
    def policy(self, observation):
        return np.full(5, 0.2)


class FourActions(Plain):
    n_actions = 4


class NotADistribution(Plain):
    def policy(self, observation):
        return np.full(5, 0.3)


class TooShort(Plain):
    def policy(self, observation):
        return np.full(4, 0.25)


class CountsQuestions(Plain):
    def policy(self, observation):
        self.values[observation, 0] += 0.01
        return super().policy(observation)


class DrawsInPolicy(Plain):
    def __init__(self, seed=0):
        super().__init__(seed)
        self.rng = np.random.default_rng(seed)

    def policy(self, observation):
        return self.rng.dirichlet(np.ones(5))


class GlobalRandomness(Plain):
    def learn(self, step):
        self.values[step.observation, step.action] += np.random.rand()  # noqa: NPY002 (what the rule is about)


class SharedByTheClass(Plain):
    shared = np.zeros((25, 5))

    def __init__(self, seed=0):
        super().__init__(seed)
        self.values = self.shared


class FailsWhenCutOff(Plain):
    def learn(self, step):
        assert not step.truncated


class WithValues(Plain):
    def __init__(self, seed=0):
        super().__init__(seed)
        self.table, self.values = self.values, self._values

    def policy(self, observation):
        return np.full(5, 0.2)

    def learn(self, step):
        self.table[step.observation] += 1.0

    def value(self, observation):
        return float(self.table[observation].max())

    def _values(self, observations):
        return self.table[observations].max(axis=1) + 1.0


class WrongBatch(Plain):
    def policies(self, observations):
        return np.full((len(observations), 5), 0.2)


class SeedInSettings(Plain):
    @property
    def settings(self):
        return {"seed": self.seed}


class Indescribable(Plain):
    def __init__(self, seed=0):
        super().__init__(seed)
        self.held = iter([1])


WRONG = {
    NoLearn: "has policy.observation. and learn.step., or rehearse",
    FourActions: "it has 4 and the log 5; give check_learner a log",
    NotADistribution: "probability of each of the 5 actions: it raised .*sum",
    TooShort: "probability of each of the 5 actions: it raised",
    CountsQuestions: "asking for a policy changes nothing: before it has learned, two calls .*; draw numbers and count",
    DrawsInPolicy: "asking for a policy changes nothing",
    GlobalRandomness: "a run depends on its seed alone: .*; draw from a generator that is seeded by make's seed",
    SharedByTheClass: "a run depends on its seed alone: .*keep nothing in the class",
    FailsWhenCutOff: "takes in every step: terminated, truncated or neither: it raised AssertionError",
    WithValues: "values.observations. are those that value gives one by one: the largest difference is 1",
    WrongBatch: "policies.observations. are those that policy gives one by one",
    SeedInSettings: "settings does not depend on the seed: .*; leave out the seed",
    Indescribable: "a results folder can tell the learner from others .*; give its class a property settings",
}


def test_the_learner_that_the_wrong_ones_are_made_of_keeps_the_rules():
    check_learner(lambda seed: Plain(seed), LOG)


@pytest.mark.parametrize(("kind", "rule"), WRONG.items(), ids=lambda part: getattr(part, "__name__", ""))
def test_a_broken_rule_is_named_with_what_to_do(kind, rule):
    make = (lambda seed: kind()) if kind is NoLearn else (lambda seed: kind(seed))
    with pytest.raises(ContractError, match=rule):
        check_learner(make, LOG)


def test_a_class_is_not_a_function_of_a_seed():
    with pytest.raises(ContractError, match=r"Plain is a class, .*; give lambda seed: Plain\(\.\.\., seed=seed\)"):
        check_learner(Plain)
    with pytest.raises(ContractError, match="3 is not a learner"):
        check_learner(3)


class Arrays(NamedTuple):
    values: np.ndarray
    rate: np.ndarray


def act(arrays, code, policy):
    total = 0.0
    for action in range(len(policy)):
        policy[action] = math.exp(arrays.values[code, action])
        total += policy[action]
    for action in range(len(policy)):
        policy[action] /= total


def learn(arrays, code, action, reward, next_code, terminated, truncated):
    arrays.values[code, action] += arrays.rate[0] * reward


us.learners.register_kernels(Arrays, act=act, learn=learn)


class Compiled:
    """A compiled learner of somebody else's; `rate` is what plain Python learns at."""

    codes, n_actions = us.learners.Codes(25), 5

    def __init__(self, rate=0.1):
        self._arrays, self.rate = Arrays(np.zeros((25, 5)), np.array([0.1])), rate

    def arrays(self):
        return self._arrays

    def policy(self, observation):
        policy = np.empty(5)
        act(self._arrays, observation, policy)
        return policy

    def learn(self, step):
        self._arrays.values[step.observation, step.action] += self.rate * step.reward


def test_a_compiled_learner_of_others_keeps_the_rules():
    assert any("compiled form" in rule for rule in check_learner(lambda seed: Compiled(), LOG).rules)


def test_a_compiled_form_that_learns_otherwise_is_found():
    with pytest.raises(ContractError, match=r"compiled form .* does what policy and learn do: .*; let both forms read"):
        check_learner(lambda seed: Compiled(rate=0.5), LOG)


class Catching:
    """Owns its loop, and takes the end of the log for an error of its own."""

    def __init__(self, steps=10**6):
        self.steps = steps

    def rehearse(self, env):
        env.reset()
        for _ in range(self.steps):
            env.step(env.action_space.sample())


def test_a_loop_owner_that_does_nothing_or_draws_from_no_seed_is_found():
    with pytest.raises(ContractError, match=r"rehearse.env. acts in the env it is handed.*no step was taken"):
        check_learner(lambda seed: Catching(0), LOG)
    with pytest.raises(ContractError, match=r"a run depends on its seed alone|ResetNeeded"):
        check_learner(lambda seed: Catching(), LOG)


def test_the_process_s_generators_are_left_as_they_were():
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    check_learner(OURS["Uniform"], LOG)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_observations_of_any_shape_will_do():
    log = us.record(gymnasium.make("CartPole-v1"), episodes=20, seed=0)
    check_learner(lambda seed: us.learners.Uniform(2), log)
