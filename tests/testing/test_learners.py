"""Our learners keep every rule, and each rule catches a learner that breaks it."""

import threading

import gymnasium
import numpy as np
import pytest

import understudy as us
from understudy.errors import ContractError, SettingError
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
    assert repr(checked).startswith("QLearning keeps 18 rules:\n  a learner has policy(observation) and learn(step)")
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


class ActionsInWords(Plain):
    n_actions = "5"


class FiveArguments(Plain):
    def learn(self, observation, action, reward, next_observation, done):
        pass


class FailsInPolicy(Plain):
    def policy(self, observation):
        return {}["x"]


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


class LearnedInSettings(Plain):
    @property
    def settings(self):
        return {"total": float(self.values.sum())}


class SeedInSettings(Plain):
    @property
    def settings(self):
        return {"seed": self.seed}


class Indescribable(Plain):
    def __init__(self, seed=0):
        super().__init__(seed)
        self.held = iter([1])


WRONG = {
    NoLearn: "has policy.observation. and learn.step., or rehearse.env.: it has no learn.step.; write the two methods",
    FourActions: "it has 4 and the log 5; give check_learner a log",
    ActionsInWords: "it has '5' and the log 5",
    FiveArguments: r"learn is called with one Step: it takes other arguments; write def learn\(self, step\)",
    NotADistribution: "probability of each of the 5 actions: .* sums to 1.5, not 1; divide it by its sum$",
    TooShort: "probability of each of the 5 actions: .* has shape .4,., and there are 5 actions",
    FailsInPolicy: "5 actions: it raised KeyError: 'x'; return an array .*; or give check_learner a log",
    CountsQuestions: "asking for a policy changes nothing: before it has learned, two calls .*; draw numbers and count",
    DrawsInPolicy: "asking for a policy changes nothing",
    GlobalRandomness: "a run depends on its seed alone: .*; draw from a generator that is seeded by make's seed",
    SharedByTheClass: "a run depends on its seed alone: .*keep nothing in the class",
    FailsWhenCutOff: "takes in every step: terminated, truncated or neither: it raised AssertionError",
    LearnedInSettings: "settings does not change while a learner learns: .*; leave out all that is learned",
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


class NeedsSizes(Plain):
    def __init__(self, n_observations, n_actions, seed=0):
        super().__init__(seed)


def test_a_class_that_can_be_called_with_a_seed_makes_learners():
    assert check_learner(Plain, LOG).part == "Plain"
    with pytest.raises(ContractError, match=r"with a seed alone; give lambda seed: NeedsSizes\(\.\.\., seed=seed\)"):
        check_learner(NeedsSizes)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (3, "^3 is not a learner: it has no policy.observation. and no learn.step."),
        (NoLearn(), "is not a learner: it has no learn.step.; give a learner, or a function"),
        (lambda: Plain(), "^make is called with a seed: give lambda seed: "),
        (lambda seed: None, r"^make\(0\) returned None"),
        (lambda seed: Plain, r"^make\(0\) returned the class Plain"),
    ],
)
def test_what_makes_no_learner_is_named(make, said):
    with pytest.raises(ContractError, match=said):
        check_learner(make, LOG)


def test_a_log_is_read_first():
    with pytest.raises(SettingError, match=r"log is a str; read it with us\.read"):
        check_learner(Plain, "x.parquet")


class LeavesEarly(Plain):
    """Ends an episode after three steps."""

    abandons_episode, n_steps = False, 0

    def learn(self, step):
        super().learn(step)
        self.n_steps = 0 if step.terminated or step.truncated or self.n_steps == 2 else self.n_steps + 1
        self.abandons_episode = self.n_steps == 0


def test_a_learner_may_abandon_episodes():
    assert any("changes nothing" in rule for rule in check_learner(LeavesEarly, LOG).rules)


def test_an_encoder_of_a_learner_is_fitted_as_in_a_run():
    points = us.record(us.envs.ContinuousGrid(3), episodes=40, seed=0, max_episode_steps=200)
    make = lambda seed: us.learners.QLearning(6, 5, encoder=us.encoders.KMeans(6), seed=seed)  # noqa: E731
    assert any("can be fitted on the log" in rule for rule in check_learner(make, points).rules)
    with pytest.raises(ContractError, match=r"can be fitted on the log: .*; give check_learner a log that the learner"):
        check_learner(lambda seed: us.learners.QLearning(6, 5, encoder=Unfit(), seed=seed), points)


class Unfit:
    def fit(self, log):
        raise KeyError("column")

    def encode(self, observations):
        return np.zeros(len(observations), int)


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


def test_a_learner_that_cannot_be_copied_is_refused_in_words():
    learner = Plain()
    learner.lock = threading.Lock()
    with pytest.raises(
        ContractError, match=r"^Plain cannot be copied \(.*\); give a function that makes it: lambda seed"
    ):
        check_learner(learner, LOG)


def test_a_factory_that_fails_is_refused_in_words():
    with pytest.raises(ContractError, match=r"^make\(0\) raised KeyError: 0; let it return a learner$"):
        check_learner(lambda seed: {}[seed], LOG)


class OffByOne(us.learners.LinUCB):
    """Its plain form sees another observation than its kernels do."""

    def policy(self, observation):
        return super().policy(np.asarray(observation) + 1.0)

    def policies(self, observations):
        return super().policies(np.asarray(observations) + 1.0)

    def arrays_on(self, log):
        return super().arrays_on(log)


class Overriding(us.learners.LinUCB):
    def policy(self, observation):
        return np.full(self.n_actions, 1 / self.n_actions)

    def policies(self, observations):
        return np.full((len(observations), self.n_actions), 1 / self.n_actions)


def test_learners_of_vectors_are_checked_on_runs_of_many_steps():
    log = us.record(us.envs.LinearBandit(3, 4, seed=1), episodes=400, seed=0)
    with pytest.raises(ContractError, match=r"the compiled form .* does what policy and learn do: "):
        check_learner(lambda seed: OffByOne(3, 4, seed=seed), log)
    unused = check_learner(lambda seed: Overriding(3, 4, seed=seed), log, max_steps=50).not_used
    assert any(form.startswith("the compiled form on vectors, since arrays_on is defined in") for form in unused)
