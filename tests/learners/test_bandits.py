"""Epsilon-greedy, UCB1 and Thompson sampling: known facts, laws of what they choose, and what they refuse."""

import numpy as np
import pytest
from scipy.stats import beta, chisquare, norm

import understudy as us
from tests.learners.references import PlainMeans
from understudy.contracts import Learner, Step
from understudy.errors import SettingError
from understudy.learners import UCB1, EpsilonGreedy, Exp3, LinearThompson, LinUCB, Thompson
from understudy.testing import check_learner

LOG = us.record(us.envs.BernoulliBandit([0.2, 0.7, 0.5]), episodes=1500, seed=4)
MAKERS = {
    "epsilon-greedy": lambda seed: EpsilonGreedy(3, seed=seed),
    "ucb1": lambda seed: UCB1(3, n_observations=1, seed=seed),
    "bernoulli": lambda seed: Thompson(3, seed=seed),
    "gaussian": lambda seed: Thompson(3, reward="gaussian", seed=seed),
}


def step(action, reward, observation=0):
    return Step(observation, action, reward, observation, True, False)


@pytest.mark.parametrize("name", MAKERS)
def test_they_keep_the_promises_of_learners(name):
    assert isinstance(MAKERS[name](0), Learner)
    assert any("compiled form" in rule for rule in check_learner(MAKERS[name], LOG).rules)


def test_ucb1_tries_each_action_once_and_then_takes_the_largest_bound():
    learner, plain, rng = UCB1(5, exploration=0.7, seed=2), PlainMeans(5), np.random.default_rng(0)
    taken = []
    for _ in range(400):
        policy = learner.policy(0)
        assert sorted(policy) == [0, 0, 0, 0, 1]
        taken.append(int(policy.argmax()))
        bounds = plain.upper_bounds(0.7)
        assert bounds[taken[-1]] == pytest.approx(bounds.max()) or np.isinf(bounds[taken[-1]])
        reward = float(rng.random() < 0.2 * taken[-1])
        learner.learn(step(taken[-1], reward))
        plain.learn(taken[-1], reward)
    assert sorted(taken[:5]) == [0, 1, 2, 3, 4]


def test_which_action_ucb1_tries_first_is_drawn():
    first = [int(UCB1(3, seed=seed).policy(0).argmax()) for seed in range(900)]
    assert chisquare(np.bincount(first)).pvalue > 1e-4


def choices_of(learner, n):
    """The actions of n steps in which nothing new is learned of actions 0 and 1: the posteriors stay as they are."""
    taken = []
    for _ in range(n):
        taken.append(int(learner.policy(0).argmax()))
        learner.learn(step(0, 0.0, observation=1))
    return np.bincount(taken, minlength=2)


def taught(reward, **options):
    learner = Thompson(2, reward=reward, n_observations=2, seed=8, **options)
    for action, earned in [(0, 1), (0, 0), (0, 1), (1, 1), (1, 0), (1, 0), (1, 0)]:
        learner.learn(step(action, float(earned)))
    return learner


def test_bernoulli_thompson_takes_an_action_as_often_as_it_is_the_best():
    """Chi-square over 4,000 steps, false alarm 1e-4; a learner that forgets the prior is told apart."""
    x = np.linspace(0, 1, 20_001)

    def chance(one, other):  # that a Beta of `one` is above a Beta of `other`
        return np.trapezoid(beta.pdf(x, *one) * beta.cdf(x, *other), x)

    found = choices_of(taught("bernoulli"), 4000)
    exact = chance((1 + 2, 1 + 1), (1 + 1, 1 + 3))
    assert chisquare(found, [4000 * exact, 4000 * (1 - exact)]).pvalue > 1e-4
    flat = chance((2, 1.0001), (1.0001, 3))  # without the prior
    assert chisquare(found, [4000 * flat, 4000 * (1 - flat)]).pvalue < 1e-4


def test_gaussian_thompson_takes_an_action_as_often_as_it_is_the_best():
    prior, noise, counts, means = (0.3, 0.3), 0.6, np.array([3, 4]), np.array([2 / 3, 1 / 4])
    precision = 1 / prior[1] ** 2 + counts / noise**2
    center = (prior[0] / prior[1] ** 2 + counts * means / noise**2) / precision
    exact = norm.cdf((center[0] - center[1]) / np.sqrt((1 / precision).sum()))
    found = choices_of(taught("gaussian", prior=prior, noise=noise), 4000)
    assert chisquare(found, [4000 * exact, 4000 * (1 - exact)]).pvalue > 1e-4
    wrong = norm.cdf((means[0] - means[1]) / (noise * np.sqrt((1 / counts).sum())))  # without the prior
    assert chisquare(found, [4000 * wrong, 4000 * (1 - wrong)]).pvalue < 1e-4


@pytest.mark.parametrize("reward", ["bernoulli", "gaussian"])
def test_a_draw_is_fixed_until_something_is_learned_and_then_drawn_afresh(reward):
    learner = Thompson(4, reward=reward, n_observations=2, seed=3)
    seen = set()
    for _ in range(40):
        policy = learner.policy(0)
        assert np.array_equal(policy, learner.policy(0))
        seen.add(int(policy.argmax()))
        learner.learn(step(0, 0.0, observation=1))
    assert seen == {0, 1, 2, 3}


def test_draws_of_two_seeds_differ_and_ties_do_not_use_them():
    one, other = (choices_of(Thompson(2, n_observations=2, seed=seed), 50) for seed in (1, 2))
    assert not np.array_equal(one, other)


def test_rewards_of_a_range_are_scaled():
    plain, scaled = Thompson(2, seed=1), Thompson(2, reward_range=(-10, 30), seed=1)
    for action, reward in [(0, 1.0), (1, 0.25), (1, 0.5)]:
        plain.learn(step(action, reward))
        scaled.learn(step(action, -10 + 40 * reward))
    assert np.allclose(plain.means, scaled.means)
    assert scaled.value(0) == pytest.approx(30)


def test_a_log_with_other_rewards_is_refused_before_the_run():
    log = us.Log.from_columns(
        observation=[0, 0, 0], action=[0, 1, 0], reward=[0, 1, 37.5], propensity=np.full((3, 2), 0.5), ends="every-row"
    )
    with pytest.raises(SettingError, match=r"reward is 37.5 in row 2, and Thompson takes rewards from 0 to 1"):
        us.simulate(us.psrs(log), Thompson(2), 0)
    assert len(us.simulate(us.psrs(log), Thompson(2, reward_range=(0, 40)), 0)) > 0
    assert len(us.simulate(us.psrs(log), Thompson(2, reward="gaussian"), 0)) > 0
    with pytest.raises(SettingError, match="a reward is 5, and Thompson"):
        Thompson(2).learn(step(0, 5.0))


REFUSED = [
    lambda: EpsilonGreedy(3, epsilon=1.5),
    lambda: EpsilonGreedy(3, alpha=-0.1),
    lambda: UCB1(3, exploration=-1.0),
    lambda: UCB1(3, exploration=np.inf),
    lambda: Thompson(3, reward="poisson"),
    lambda: Thompson(3, prior=(0, 1)),
    lambda: Thompson(3, reward="gaussian", prior=(0, 0)),
    lambda: Thompson(3, reward="gaussian", noise=0),
    lambda: Thompson(3, reward="gaussian", reward_range=(0, 2)),
]


@pytest.mark.parametrize("make", REFUSED)
def test_settings_that_cannot_be(make):
    with pytest.raises(SettingError):
        make()


def test_a_python_schedule_out_of_range_is_refused_when_it_is_met():
    learner = EpsilonGreedy(2, epsilon=lambda n: 0.5 + n)
    learner.policy(0)
    learner.learn(step(0, 0.0))
    with pytest.raises(SettingError, match=r"epsilon is 1\.5 after 1 steps"):
        learner.policy(0)


def test_they_find_the_best_arm_of_a_real_bandit():
    """Each earns .62 or more of .7 over 3,000 steps; the uniform policy earns .45. Standard error of 10 runs: .003."""
    env = us.envs.BernoulliBandit([0.2, 0.7, 0.45])
    for name, make in MAKERS.items():
        runs = us.experiment(us.real(env), make, runs=10, max_steps=3000, progress=False, backend="serial")
        assert np.mean([run.returns.mean() for run in runs]) > 0.62, name


NUMBERS = (1e-310, 1e-300, 1e-160, 1e-50, 1e-10, 1.0, 1e10, 1e50, 1e160, 1e300, np.finfo(float).max)
SETTINGS = {
    "noise": lambda x: Thompson(3, reward="gaussian", noise=x),
    "prior of a normal": lambda x: Thompson(3, reward="gaussian", prior=(-x, x)),
    "prior of a beta": lambda x: Thompson(3, prior=(x, x)),
    "reward_range": lambda x: Thompson(3, reward_range=(-x, 1.0 + x)),
    "exploration": lambda x: UCB1(3, exploration=x),
    "initial": lambda x: EpsilonGreedy(3, initial=-x),
    "epsilon": lambda x: EpsilonGreedy(3, epsilon=x, alpha=x),
    "epsilon of exp3": lambda x: Exp3(3, epsilon=x),
    "range of exp3": lambda x: Exp3(3, reward_range=(-x, 1.0 + x)),
    "ridge": lambda x: LinUCB(1, 3, ridge=x),
    "ridge of Thompson": lambda x: LinearThompson(1, 3, ridge=x),
    "exploration of LinUCB": lambda x: LinUCB(1, 3, exploration=x),
    "scale": lambda x: LinUCB(1, 3, scale=[x], center=[-x]),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_number_is_refused_or_the_learner_works_with_it(name):
    """Also with the numbers that are squared, divided by or multiplied: none becomes zero, infinite or not a number."""
    taken = 0
    for number in NUMBERS:
        try:
            learner = SETTINGS[name](number)
        except SettingError:
            continue
        taken += 1
        for action in (0, 1, 2, 0, 0):
            policy = learner.policy([0.5])
            assert np.isfinite(policy).all()
            assert policy.sum() == pytest.approx(1.0)
            learner.learn(Step([0.5], action, 1.0, [0.5], True, False))
        assert all(np.isfinite(values).all() for values in learner.learned_state.values())
    assert taken >= 3


def test_exp3_learns_nothing_from_an_action_that_could_not_be_taken():
    learner = Exp3(2, epsilon=0.0)
    learner.learn_late(Step(0, 1, 1.0, 0, True, False), np.array([1.0, 0.0]))
    assert learner.policy(0).tolist() == [0.5, 0.5]
