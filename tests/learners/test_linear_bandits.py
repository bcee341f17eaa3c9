"""LinUCB and linear Thompson sampling: against NumPy, compiled against plain, and in a bandit whose truth is known."""

import numpy as np
import pytest
from scipy.stats import chisquare, norm

import understudy as us
from tests.learners.references import PlainLinear
from understudy.contracts import ReadsObservations, Step
from understudy.contracts.offering import offers
from understudy.errors import SettingError
from understudy.learners import Linear, LinearThompson, LinUCB
from understudy.runs.loop import can_compile
from understudy.testing import check_learner

KINDS = [LinUCB, LinearThompson]
ENV = us.envs.LinearBandit(3, 4, seed=5)
ONE_STATE = us.encoders.Function(lambda observations: np.zeros(len(observations), int))
LOG = us.record(ENV, episodes=600, seed=1)
GRID = us.record(us.envs.ContinuousGrid(3), episodes=60, seed=0)


def step(x, action, reward):
    return Step(np.array(x), action, reward, np.array(x), True, False)


@pytest.mark.parametrize("kind", KINDS)
def test_they_keep_the_promises_of_learners(kind):
    assert offers(kind(3, 4), ReadsObservations)
    rules = check_learner(lambda seed: kind(3, 4, seed=seed), LOG, max_steps=100).rules
    assert any("compiled form" in rule for rule in rules)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("intercept", [True, False])
def test_models_and_widths_are_those_of_numpy(kind, intercept):
    rng = np.random.default_rng(4)
    learner, plain = kind(3, 2, ridge=0.5, intercept=intercept, seed=1), PlainLinear(3 + intercept, 2, 0.5)
    for _ in range(300):
        x = rng.normal(size=3)
        seen = np.append(x, 1.0) if intercept else x
        assert learner.predictions(x) == pytest.approx(plain.theta @ seen, abs=1e-9)
        assert learner.value(x) == pytest.approx((plain.theta @ seen).max(), abs=1e-9)
        if kind is LinUCB:
            bounds = plain.theta @ seen + plain.widths(seen)
            assert bounds[learner.policy(x).argmax()] == pytest.approx(bounds.max(), abs=1e-9)
        action, reward = int(rng.integers(2)), float(rng.normal())
        learner.learn(step(x, action, reward))
        plain.learn(seen, action, reward)
    assert learner.theta == pytest.approx(plain.theta, abs=1e-9)


def test_the_bonus_by_hand():
    """After n times x = 1 the width is 1 / sqrt(ridge + n): of two equal models the one taken less is chosen."""
    learner = LinUCB(1, 2, ridge=2.0, intercept=False, exploration=3.0)
    for _ in range(7):
        learner.learn(step([1.0], 0, 0.0))
    assert learner._arms.inverse[:, 0, 0] == pytest.approx([1 / 9, 1 / 2])
    assert learner.policy([1.0]).tolist() == [0.0, 1.0]
    learner.learn(step([1.0], 1, -1.7))  # theta -1.7 / 3; bounds 3 / 3 and 3 / sqrt(3) - .567 = 1.165
    assert learner.policy([1.0]).tolist() == [0.0, 1.0]
    learner.learn(step([1.0], 1, -1.7))  # theta -3.4 / 4; bounds 1 and 1.5 - .85
    assert learner.policy([1.0]).tolist() == [1.0, 0.0]


def test_linear_thompson_takes_an_action_as_often_as_its_drawn_weights_promise_most():
    """Chi-square over 4,000 fresh draws, false alarm 1e-4; with half of the exploration it is told apart."""
    x, theta, widths = np.array([0.6, -0.2]), None, None
    counts = np.zeros(2)
    for seed in range(4000):
        learner = LinearThompson(2, 2, exploration=0.7, intercept=False, seed=seed)
        for taught, action, reward in [([1.0, 0.0], 0, 1.0), ([0.5, 0.5], 1, 0.8), ([0.1, -0.9], 1, -0.3)]:
            learner.learn(step(taught, action, reward))
        counts[learner.policy(x).argmax()] += 1
    theta = learner.theta @ x
    widths = np.sqrt([x @ inverse @ x for inverse in learner._arms.inverse])
    for exploration, is_right in ((0.7, True), (0.35, False)):
        chance = norm.cdf((theta[0] - theta[1]) / (exploration * np.sqrt((widths**2).sum())))
        assert (chisquare(counts, [4000 * chance, 4000 * (1 - chance)]).pvalue > 1e-4) == is_right


@pytest.mark.parametrize("kind", KINDS)
def test_asking_changes_nothing_and_learning_draws_afresh(kind):
    learner, x = kind(3, 4, seed=2), np.array([0.1, 0.2, 0.3])
    taken = set()
    for _ in range(60):
        policy = learner.policy(x)
        learner.policy(-x)
        assert np.array_equal(learner.policy(x), policy)
        taken.add(int(policy.argmax()))
        learner.learn(step(np.zeros(3), 0, 0.0))
    assert len(taken) > 1


def runs_of(simulator, make, max_steps=None):
    return [us.simulate(simulator, make(), 3, max_steps, compiled=compiled) for compiled in (True, False)]


SIMULATORS = {
    "psrs": lambda log: us.psrs(log, ONE_STATE),
    "qbe": lambda log: us.qbe(log, ONE_STATE),
    "states only": lambda log: us.states_only(log, ONE_STATE),
    "any row": lambda log: us.any_row(log, ONE_STATE),
    "copies": lambda log: us.psrs(log, ONE_STATE).repeated(3),
    "half": lambda log: us.psrs(log, ONE_STATE).select(np.arange(1, log.n_episodes, 2)),
    "model": lambda log: us.model(log, ONE_STATE, emission="row"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SIMULATORS)
def test_compiled_and_plain_runs_are_the_same(kind, name):
    compiled, plain = runs_of(SIMULATORS[name](LOG), lambda: kind(3, 4, seed=7), 300)
    assert len(compiled) > 50
    assert np.array_equal(compiled.rows, plain.rows)
    assert np.array_equal(compiled.returns, plain.returns)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_numbers_of_any_kind_are_read_as_they_are(dtype):
    rng = np.random.default_rng(0)
    x = (4 * rng.normal(size=(300, 2, 2))).astype(dtype)  # observations of any shape are read as their numbers
    log = us.Log.from_columns(
        observation=x, action=rng.integers(2, size=300), reward=rng.normal(size=300),
        propensity=np.full((300, 2), 0.5), ends="every-row",
    )  # fmt: skip
    learner = LinUCB(4, 2)
    assert np.shares_memory(learner.arrays_on(log).observation, log.observation)
    compiled, plain = runs_of(us.psrs(log, ONE_STATE), lambda: LinUCB(4, 2, seed=7))
    assert np.array_equal(compiled.rows, plain.rows)


def test_episodes_of_several_steps():
    compiled, plain = runs_of(us.psrs(GRID, us.encoders.Boxes(bins=3)), lambda: LinUCB(2, 5, seed=1))
    assert len(compiled) > 100
    assert np.array_equal(compiled.rows, plain.rows)


def test_where_observations_are_drawn_anew_the_loop_is_plain():
    assert can_compile(us.model(GRID, us.encoders.Boxes(bins=3), emission="row"), LinUCB(2, 5))
    assert not can_compile(us.model(GRID, us.encoders.Boxes(bins=3)), LinUCB(2, 5))
    assert not can_compile(us.real(ENV), LinUCB(3, 4))


def test_schedules():
    ours, own = (LinUCB(3, 4, exploration=law, seed=1) for law in (Linear(2, 0, 100), lambda n: 2 - min(n, 100) / 50))
    assert not can_compile(us.psrs(LOG, ONE_STATE), own)
    one, other = us.simulate(us.psrs(LOG, ONE_STATE), ours, 2), us.simulate(us.psrs(LOG, ONE_STATE), own, 2)
    assert np.array_equal(one.rows, other.rows)
    with pytest.raises(SettingError, match=r"exploration is -1\.0 after 0 steps, not in \[0, 1e\+50\]"):
        LinUCB(3, 4, exploration=lambda n: -1.0).policy(np.zeros(3))


@pytest.mark.parametrize("options", [{"ridge": 0}, {"exploration": -1}, {"exploration": np.inf}])
def test_settings_that_cannot_be(options):
    with pytest.raises(SettingError):
        LinUCB(3, 4, **options)


def test_another_number_of_features_is_refused():
    for act in (lambda: LinUCB(5, 4).policy(np.zeros(3)), lambda: us.simulate(us.psrs(LOG, ONE_STATE), LinUCB(5, 4))):
        with pytest.raises(
            SettingError, match="an observation has 3 numbers, and LinUCB was made for 5; give it n_fea"
        ):
            act()
    with pytest.raises(SettingError, match="do not fit"):
        LinUCB(100_000, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_they_earn_nearly_what_the_best_action_earns(kind):
    """LinearBandit(5, 4): within .02 of the best action's mean over steps 1,000 to 3,000 of 4 real runs, which is their
    standard error of .004 four times; a learner that ignores the context is far below."""
    env = us.envs.LinearBandit(5, 4, seed=0)
    best = env.best_value(3000)

    def earned(make):
        runs = us.experiment(us.real(env), make, runs=4, max_steps=3000, progress=False, backend="serial")
        return np.mean([run.returns[1000:].mean() for run in runs])

    assert abs(best - earned(lambda seed: kind(5, 4, exploration=0.2, seed=seed))) < 0.02
    assert best - earned(lambda seed: us.learners.UCB1(4, seed=seed)) > 0.4


@pytest.mark.parametrize("kind", KINDS)
def test_scaled_features_are_those_of_a_log_that_was_scaled_before(kind):
    """The compiled loop included: observations of a log are divided as they are read."""
    center, scale = np.array([2.0, -1.0, 0.5]), np.array([30.0, 0.1, 7.0])
    raw = us.Log.from_columns(
        observation=LOG.observation * scale + center, action=LOG.action, reward=LOG.reward, propensity=LOG.propensity,
        ends="every-row",
    )  # fmt: skip
    before = us.Log.from_columns(
        observation=(raw.observation - center) / scale, action=LOG.action, reward=LOG.reward,
        propensity=LOG.propensity, ends="every-row",
    )  # fmt: skip
    for compiled in (True, False):
        scaled = us.simulate(us.replay(raw), kind(3, 4, center=center, scale=scale), 3, compiled=compiled)
        plain = us.simulate(us.replay(before), kind(3, 4), 3, compiled=compiled)
        assert scaled.rows.tolist() == plain.rows.tolist()
    unscaled = us.simulate(us.replay(raw), kind(3, 4), 3)
    assert unscaled.rows.tolist() != plain.rows.tolist()


@pytest.mark.parametrize(
    ("scaling", "words"),
    [({"scale": [1.0, 0.0]}, "above 0"), ({"center": [1.0]}, "each of the 2"), ({"center": ["a", "b"]}, "finite")],
)
def test_scaling_that_cannot_be_used_is_refused(scaling, words):
    with pytest.raises(SettingError, match=words):
        LinUCB(2, 2, **scaling)


@pytest.mark.parametrize("kind", KINDS)
def test_policies_at_many_observations_are_those_at_each(kind):
    learner = kind(3, 4, center=[0.1, 0.2, 0.3], scale=[2.0, 1.0, 3.0], seed=6)
    us.simulate(us.replay(LOG), learner, 2)
    many = learner.policies(LOG.observation)
    assert many.tolist() == [learner.policy(one).tolist() for one in LOG.observation]
    assert len(np.unique(many.argmax(axis=1))) > 1
    with pytest.raises(SettingError, match="n_features=2"):
        learner.policies(LOG.observation[:, :2])
