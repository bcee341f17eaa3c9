import numpy as np
import pytest

from understudy.envs import Grid, record
from understudy.evaluation.outcome_models import ModelRows, can_be_modeled, model_of
from understudy.logs import Log


def rows_of(log, policy):
    at_rows = np.tile(policy, (len(log), 1))
    return ModelRows.of(log, np.arange(len(log)), at_rows, at_rows)


def test_a_table_of_one_step_is_the_mean_reward_with_a_little_of_the_actions_mean():
    log = Log.from_columns(
        observation=[0, 0, 1], action=[0, 0, 1], reward=[1.0, 0.0, 1.0], n_actions=2, ends="every-row"
    )
    values = model_of(log, rows_of(log, [0.5, 0.5]), 1.0)(np.array([0, 1]))
    assert values == pytest.approx(np.array([[(1 + 0.05) / 2.1, 1.0], [0.5, 1.0]]))


def test_a_table_of_several_steps_evaluates_the_policy():
    env = Grid(3, slip=0.2)
    log = record(env, episodes=3000, seed=0)
    policy = np.array([0.1, 0.3, 0.3, 0.2, 0.1])
    q = model_of(log, rows_of(log, policy), 0.8)(np.arange(9))
    true = env.values(np.tile(policy, (9, 1)), 0.8)
    logged = np.isin(np.arange(9), log.observation)
    assert (q @ policy)[logged] == pytest.approx(true[logged], abs=0.02)


def test_a_linear_model_recovers_weights_and_needs_no_row_of_every_action():
    rng = np.random.default_rng(0)
    x, action = rng.normal(5, 3, size=(4000, 2)), rng.integers(0, 2, 4000)
    reward = np.where(action == 0, x[:, 0], 1 - x[:, 1])
    log = Log.from_columns(observation=x, action=action, reward=reward, n_actions=3, ends="every-row")
    values = model_of(log, rows_of(log, np.ones(3) / 3), 1.0)(np.array([[1.0, 2.0]]))
    assert values[0, :2] == pytest.approx([1.0, -1.0], abs=0.02)
    assert values[0, 2] == pytest.approx(reward.mean())


def test_vectors_and_several_steps_have_no_model():
    columns = {"action": [0, 0], "reward": [0, 0], "observation": [[0.5], [0.6]]}
    assert can_be_modeled(Log.from_columns(**columns, ends="every-row"))
    assert not can_be_modeled(Log.from_columns(**columns, terminated=[0, 1]))
    assert can_be_modeled(Log.from_columns(**columns | {"observation": [0, 1]}, terminated=[0, 1]))
