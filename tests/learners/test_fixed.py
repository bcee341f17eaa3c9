"""Fixed policies, and their Monte-Carlo evaluation against the exact answer."""

import numpy as np
import pytest

from understudy.contracts import Learner, Step
from understudy.encoders import Boxes
from understudy.envs import Grid
from understudy.errors import ContractError, PolicyError, SettingError
from understudy.learners import FixedPolicy, MonteCarlo, QLearning, Uniform
from understudy.simulators import real


def step(reward, terminated=False, truncated=False):
    return Step(0, 0, reward, 0, terminated, truncated)


@pytest.mark.parametrize(
    "learner", [Uniform(2), FixedPolicy([0.5, 0.5]), MonteCarlo(Uniform(2))], ids=lambda learner: type(learner).__name__
)
def test_they_are_learners_that_do_not_change(learner):
    assert isinstance(learner, Learner)
    before = learner.policy(0).copy()
    learner.learn(step(5.0, True))
    assert np.array_equal(learner.policy(0), before)


def test_a_table_has_a_policy_for_each_observation_and_a_vector_one_for_all():
    table = FixedPolicy([[0.5, 0.5], [1.0, 0.0]])
    assert table.policy(1).tolist() == [1.0, 0.0]
    assert FixedPolicy([0.25, 0.75]).policy("anything").tolist() == [0.25, 0.75]
    for outside in (2, -1):
        with pytest.raises(SettingError, match="outside the learner's table of 2"):
            table.policy(outside)
    with pytest.raises(SettingError, match="encoder="):
        table.policy(0.5)


def test_a_function_is_asked_at_each_step_and_known_to_python_only():
    learner = FixedPolicy(lambda x: np.array([x, 1 - x]))
    assert learner.policy(0.25).tolist() == [0.25, 0.75]
    assert learner.arrays() is None
    assert MonteCarlo(learner).arrays() is None
    assert FixedPolicy([0.5, 0.5]).arrays() is not None


def test_an_encoder_lets_a_table_be_used_on_floats():
    learner = FixedPolicy([[1.0, 0.0], [0.0, 1.0]], encoder=Boxes(edges=[[0.5]]))
    assert [learner.policy(np.array([x])).argmax() for x in (0.1, 0.9)] == [0, 1]


BAD = {
    "too much": [0.6, 0.6],
    "too little": [[0.5, 0.5], [0.5, 0.4]],
    "negative": [1.5, -0.5],
    "NaN": [[0.5, np.nan]],
    "infinite": [np.inf, 0.0],
    "nothing": [],
    "no rows": np.empty((0, 2)),
    "a cube": np.full((2, 2, 2), 0.5),
    "a wrong cube": np.full((1, 2, 3), 0.3),
    "a number": 0.5,
}


@pytest.mark.parametrize("fault", BAD)
def test_a_table_whose_rows_are_not_distributions_is_refused(fault):
    with pytest.raises(PolicyError, match="policy"):
        FixedPolicy(BAD[fault])


def test_the_message_names_the_row():
    with pytest.raises(PolicyError, match=r"row 1 of the policy, \[0\.5 0\.4\]"):
        FixedPolicy([[0.5, 0.5], [0.5, 0.4]])


def test_the_users_table_is_not_written_to_nor_followed():
    table = np.array([[0.5, 0.5], [1.0, 0.0]])
    learner = FixedPolicy(table)
    table[1] = [0.0, 1.0]
    assert learner.policy(1).tolist() == [1.0, 0.0]


def test_monte_carlo_by_hand():
    evaluation = MonteCarlo(Uniform(2), gamma=0.5)
    assert np.isnan(evaluation.estimate)
    for each in (step(1.0), step(2.0, terminated=True), step(4.0, terminated=True), step(8.0)):
        evaluation.learn(each)
    assert (evaluation.estimate, evaluation.n_episodes) == (3.0, 2)  # returns 2 and 4; the last is not over
    assert evaluation.standard_error == pytest.approx(np.std([2, 4], ddof=1) / np.sqrt(2))


def test_truncated_episodes_count_with_their_return_so_far_and_are_counted():
    evaluation = MonteCarlo(Uniform(2), gamma=0.5)
    for each in (step(1.0), step(2.0, truncated=True), step(4.0, terminated=True)):
        evaluation.learn(each)
    assert (evaluation.estimate, evaluation.n_episodes, evaluation.n_truncated) == (3.0, 2, 1)


def evaluated(env, behavior, gamma, seed, steps=60_000, **options):
    evaluation, rehearsal, over = MonteCarlo(behavior, gamma=gamma), real(env, **options).start(seed), True
    for _ in range(steps):
        if over:
            observation = rehearsal.begin()
        each = rehearsal.step(evaluation.policy(observation))
        evaluation.learn(each)
        observation, over = each.next_observation, each.terminated or each.truncated
    return evaluation


def test_monte_carlo_reaches_the_exact_value_on_the_slip_grid():
    # 5 standard errors: false alarm 6e-7; the value without slips is told apart
    policy = np.tile([0.05, 0.35, 0.35, 0.15, 0.1], (25, 1))
    evaluation = evaluated(Grid(slip=0.2), FixedPolicy(policy), 0.95, seed=3)
    exact, without_slips = (Grid(slip=slip).values(policy, 0.95)[0] for slip in (0.2, 0.0))
    assert evaluation.n_truncated == 0
    assert abs(evaluation.estimate - exact) < 5 * evaluation.standard_error
    assert abs(evaluation.estimate - without_slips) > 10 * evaluation.standard_error


def test_under_a_time_limit_truncated_episodes_are_counted():
    evaluation = evaluated(Grid(slip=0.2), Uniform(5), 0.95, seed=3, steps=5000, max_episode_steps=20)
    assert 0 < evaluation.n_truncated < evaluation.n_episodes
    assert evaluation.n_episodes > 240


@pytest.mark.parametrize("behavior", [QLearning(2, 2), None, [0.5, 0.5]], ids=repr)
def test_monte_carlo_takes_only_a_learner_that_never_changes(behavior):
    with pytest.raises(ContractError, match="FixedPolicy"):
        MonteCarlo(behavior)


@pytest.mark.parametrize("n", [0, -1])
def test_uniform_over_nothing_is_refused(n):
    with pytest.raises(SettingError, match="action"):
        Uniform(n)


@pytest.mark.parametrize("gamma", [np.nan, -0.1, 1.1, "0.9", True, np.inf])
def test_a_discount_out_of_range_is_refused(gamma):
    with pytest.raises(SettingError, match="gamma is"):
        MonteCarlo(Uniform(2), gamma=gamma)
