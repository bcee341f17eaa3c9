"""Q-learning and Expected SARSA: updates by hand, exploration, ties, and what a table is indexed by."""

import numpy as np
import pytest
from scipy.stats import chisquare

from understudy.contracts import Learner, Step
from understudy.encoders import Boxes, Function
from understudy.errors import SettingError
from understudy.learners import ExpectedSarsa, Exponential, Harmonic, Linear, QLearning

KINDS = [QLearning, ExpectedSarsa]


def step(observation, action, reward, next_observation, terminated=False, truncated=False):
    return Step(observation, action, reward, next_observation, terminated, truncated)


def taught(kind, *steps, **options):
    learner = kind(4, 2, **({"epsilon": 0.5, "alpha": 0.5, "gamma": 0.9} | options))
    for each in steps:
        learner.learn(each)
    return learner


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_a_learner(kind):
    assert isinstance(kind(4, 2), Learner)


def test_q_learning_by_hand():
    learner = taught(QLearning, step(1, 0, 2.0, 3), step(1, 1, 4.0, 3), step(0, 1, 1.0, 1))
    expected = np.zeros((4, 2))
    expected[1] = [1.0, 2.0]
    expected[0, 1] = 0.5 * (1.0 + 0.9 * 2.0)
    assert learner.q == pytest.approx(expected)
    learner.learn(step(0, 1, 0.0, 0))
    assert learner.q[0, 1] == pytest.approx(0.5 * 1.4 + 0.5 * 0.9 * 1.4)
    assert learner.value(1) == 2.0


def test_expected_sarsa_by_hand():
    learner = taught(ExpectedSarsa, step(1, 0, 2.0, 3), step(1, 1, 4.0, 3), step(0, 1, 1.0, 1))
    followed = 0.5 * 2.0 + 0.5 * (1.0 + 2.0) / 2  # greedy half of the time, any action the other half
    assert learner.q[0, 1] == pytest.approx(0.5 * (1.0 + 0.9 * followed))


def test_with_epsilon_zero_the_two_are_the_same():
    steps = [step(t % 4, t % 2, t * 0.7 % 1.3, (t * 3) % 4) for t in range(50)]
    one, other = (taught(kind, *steps, epsilon=0.0) for kind in KINDS)
    assert one.q == pytest.approx(other.q)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_bootstrapped_through_a_terminal(kind):
    learner = taught(kind, step(2, 0, 1.0, 1, terminated=True), initial=10.0)
    assert learner.q[2, 0] == 0.5 * 10 + 0.5 * 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_step_bootstraps(kind):
    learner = taught(kind, step(2, 0, 1.0, 1, truncated=True), initial=10.0)
    assert learner.q[2, 0] == 0.5 * 10 + 0.5 * (1.0 + 0.9 * 10)


@pytest.mark.parametrize("kind", KINDS)
def test_the_observation_after_a_terminal_may_be_outside_the_table(kind):
    assert taught(kind, step(2, 0, 1.0, 99, terminated=True)).q[2, 0] == 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_epsilon_means_explore(kind):
    learner = kind(3, 5, epsilon=0.9, alpha=1.0)
    learner.learn(step(1, 3, 1.0, 2, terminated=True))
    assert learner.policy(1) == pytest.approx([0.18, 0.18, 0.18, 0.28, 0.18])
    assert learner.policy(1).sum() == pytest.approx(1.0, abs=1e-15)
    assert kind(3, 5, epsilon=0.0, seed=1).policy(0).max() == 1.0
    assert kind(3, 5, epsilon=1.0).policy(0) == pytest.approx([0.2] * 5)


@pytest.mark.parametrize("kind", KINDS)
def test_ties_are_broken_evenly_and_afresh_at_every_step(kind):
    # chi-square with 2 degrees of freedom, 3,000 steps: false alarm 1e-6; always the first one is told apart
    learner = kind(2, 4, epsilon=0.0, alpha=1.0, seed=5)
    learner.learn(step(0, 1, -1.0, 0, terminated=True))  # actions 0, 2 and 3 tie
    choices = []
    for _ in range(3000):
        choices.append(int(learner.policy(0).argmax()))
        learner.learn(step(1, 0, 0.0, 1, terminated=True))
    counts = np.bincount(choices, minlength=4)
    assert counts[1] == 0
    assert chisquare(counts[[0, 2, 3]]).pvalue > 1e-6
    assert chisquare([3000, 0, 0]).pvalue < 1e-12
    pairs = np.bincount(3 * np.searchsorted([0, 2, 3], choices[:-1]) + np.searchsorted([0, 2, 3], choices[1:]))
    assert chisquare(pairs).pvalue > 1e-6  # and independent from step to step


def test_ties_come_from_the_learners_own_stream():
    def choices(seed):
        learner = QLearning(2, 4, epsilon=0.0, seed=seed)
        made = []
        for _ in range(30):
            made.append(int(learner.policy(0).argmax()))
            learner.learn(step(1, 0, 0.0, 1, terminated=True))
        return made

    assert choices(1) == choices(1) != choices(2)


@pytest.mark.parametrize("kind", KINDS)
def test_asking_changes_nothing(kind):
    learner = kind(5, 3, epsilon=0.3, seed=2)
    for t in range(20):
        first = [learner.policy(x) for x in range(5)]
        again = [learner.policy(x) for x in reversed(range(5))][::-1]
        assert np.array_equal(first, again)
        learner.learn(step(t % 5, t % 3, 0.0, 0))


def test_a_policy_that_was_handed_out_does_not_change():
    learner = QLearning(2, 2, epsilon=0.5, alpha=1.0, seed=0)
    policy = learner.policy(0)
    kept = policy.copy()
    learner.learn(step(0, int(policy.argmin()), 5.0, 1, terminated=True))
    assert np.array_equal(policy, kept)
    assert not np.array_equal(learner.policy(0), kept)


SCHEDULES = [0.4, Linear(0.9, 0.1, steps=20), Exponential(0.9, rate=0.9, end=0.2), Harmonic(0.9, pace=10)]


def repeated(schedule):
    """The same numbers from a callable of one's own."""
    return (lambda n: schedule(n)) if callable(schedule) else (lambda n: schedule)


def learn_alike(*learners):
    """Whether learners of one seed have the same policies and values throughout."""
    for t in range(40):
        for x in range(4):
            if not all(np.array_equal(learner.policy(x), learners[0].policy(x)) for learner in learners):
                return False
        for learner in learners:
            learner.learn(step(t % 4, t * 7 % 3 % 2, np.cos(t), (t * 5) % 4, t % 9 == 8))
    return all(np.array_equal(learner.q, learners[0].q) for learner in learners)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_callable_gives_the_numbers_of_the_schedule_it_repeats_but_is_known_to_python_only(kind, schedule):
    built_in = kind(4, 2, epsilon=schedule, alpha=schedule, seed=3)
    own = kind(4, 2, epsilon=repeated(schedule), alpha=repeated(schedule), seed=3)
    assert built_in.arrays() is not None
    assert own.arrays() is None
    assert learn_alike(built_in, own)
    assert not learn_alike(kind(4, 2, epsilon=schedule, seed=3), kind(4, 2, epsilon=0.35, seed=3))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_built_in_schedule_beside_a_callable_gives_its_own_numbers(kind, schedule):
    assert learn_alike(
        kind(4, 2, epsilon=schedule, alpha=0.4, seed=3), kind(4, 2, epsilon=schedule, alpha=lambda n: 0.4, seed=3)
    )
    assert learn_alike(
        kind(4, 2, epsilon=0.4, alpha=schedule, seed=3), kind(4, 2, epsilon=lambda n: 0.4, alpha=schedule, seed=3)
    )


def test_a_schedule_counts_steps_learned():
    learner = QLearning(2, 2, epsilon=Linear(1.0, 0.0, steps=4), seed=0)
    seen = []
    for _ in range(6):
        learner.policy(0)
        seen.append(learner.policy(0).min() * 2)
        learner.learn(step(0, 0, 0.0, 0, terminated=True))
    assert seen == pytest.approx([1.0, 0.75, 0.5, 0.25, 0.0, 0.0])


def test_an_encoder_lets_it_run_on_floats():
    learner = QLearning(2, 2, alpha=1.0, encoder=Boxes(edges=[[0.5]]))
    learner.learn(step(np.array([0.2]), 1, 3.0, np.array([0.9]), terminated=True))
    assert learner.q.tolist() == [[0.0, 3.0], [0.0, 0.0]]
    assert learner.policy(np.array([0.3])).argmax() == 1
    assert learner.value(np.array([0.4])) == 3.0


def test_a_table_that_does_not_hold_the_observation_says_so():
    learner = QLearning(3, 2)
    for observation in (3, -1, np.int64(7)):
        with pytest.raises(SettingError, match=f"{observation} is outside the learner's table of 3.*n_observations"):
            learner.policy(observation)
    with pytest.raises(SettingError, match="n_observations"):
        learner.learn(step(0, 0, 0.0, 3))
    with pytest.raises(SettingError, match="encoder="):
        learner.policy(0.5)
    with pytest.raises(SettingError, match="encoder="):
        learner.policy(np.zeros(2))
    with pytest.raises(SettingError, match="outside"):
        QLearning(3, 2, encoder=Function(lambda x: np.full(len(x), -1))).policy(0)
    assert learner.q.tolist() == [[0.0, 0.0]] * 3


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": 1.1}, {"epsilon": -0.1}, {"epsilon": np.nan}, {"alpha": 1.5}, {"alpha": -1}, {"gamma": 1.01},
        {"gamma": -0.5}, {"gamma": np.nan},
        {"epsilon": Linear(2.0, 0.1, steps=10)}, {"epsilon": Linear(0.5, -0.1, steps=10)},
        {"epsilon": Exponential(1.5, rate=0.9)}, {"epsilon": Exponential(0.5, rate=1.1)}, {"alpha": Harmonic(3.0, 10)},
        {"initial": np.nan}, {"initial": np.inf}, {"initial": "0"}, {"epsilon": "0.1"}, {"epsilon": True},
        {"alpha": None}, {"gamma": "0.9"}, {"gamma": True}, {"epsilon": Linear(0.5, 0.1, steps=np.nan)},
        {"epsilon": Linear(0.5, 0.1, steps=0)}, {"alpha": Harmonic(0.5, pace=-1)}, {"seed": 1.5}, {"seed": np.nan},
    ],
    ids=str,
)  # fmt: skip
def test_settings_out_of_range_are_refused(options):
    with pytest.raises(SettingError, match="|".join(options)):
        QLearning(3, 2, **options)


def test_a_callable_that_leaves_the_range_is_refused_when_it_does():
    learner = QLearning(3, 2, epsilon=lambda n: 0.5 + n)
    learner.policy(0)
    learner.learn(step(0, 0, 0.0, 1))
    with pytest.raises(SettingError, match="epsilon"):
        learner.policy(0)


def test_a_table_of_nothing_is_refused():
    with pytest.raises(SettingError, match="at least one"):
        QLearning(0, 2)
    with pytest.raises(SettingError, match="action"):
        QLearning(2, 0)


def test_settings_tell_learners_apart_and_leave_the_seed_out():
    assert QLearning(3, 2, seed=1).settings == QLearning(3, 2, seed=2).settings
    assert QLearning(3, 2).settings != QLearning(3, 2, epsilon=0.2).settings
    assert "epsilon=0.1" in repr(QLearning(3, 2))


def test_a_table_that_does_not_fit_is_refused():
    with pytest.raises(SettingError, match="fewer states"):
        QLearning(10**12, 5)
