"""Values are those of the best actions that were tried, without the luck of few rows."""

import numpy as np
import pytest

from tests.likeness.problems import square, square_tables, walked
from understudy.likeness.held_out import States
from understudy.likeness.values import MOST_PRIOR_ROWS, PlaceModel, places_of_log, range_of, values_at
from understudy.logs import Log


def solved(chance, reward, over, discount, policy=None):
    """The true values: under the best actions, or under a policy."""
    value = np.zeros(len(chance))
    for _ in range(4000):
        q = (chance * (reward + discount * (1 - over) * value)).sum(axis=2)
        value = q.max(axis=1) if policy is None else (policy * q).sum(axis=1)
    return value


def model_of(log, states, rows=None):
    places = places_of_log(log, *states, seed=0)
    return places, PlaceModel(log, places, np.arange(len(log)) if rows is None else rows)


def states_of_codes(log):
    return States(log.observation, log.next_observation, log.spec.n_observations)


@pytest.fixture(scope="module")
def walk():
    tables = square_tables(5)
    return tables, walked(*tables, 4000, 0, 100)


def test_values_of_a_well_known_problem_are_the_true_ones(walk):
    (chance, reward, over, _), log = walk
    _, model = model_of(log, states_of_codes(log))
    found, truth = model.best_values(0.95), solved(chance, reward, over, 0.95)
    known = np.isfinite(found)
    assert known.sum() == 24  # nobody leaves from the goal
    assert np.abs(found - truth)[known].max() < 0.06 * np.ptp(truth[known])
    uniform = solved(chance, reward, over, 0.95, np.full((25, 4), 0.25))
    assert np.abs(model.logged_values(None, 0.95) - uniform)[known].max() < 0.06 * np.ptp(uniform[known])


def test_values_of_a_reward_of_ones_count_steps(walk):
    _, log = walk
    _, model = model_of(log, states_of_codes(log))
    found = model.logged_values(np.ones(25), 0.5)
    assert found[0] == pytest.approx(2.0, abs=0.01)  # far from the end: 1 + 1/2 + 1/4 + ...


def test_luck_makes_no_best_action_and_sure_outcomes_are_kept():
    """Forty actions that pay 0 or 1 alike; the largest of their means over five rows is about .9, and the truth .5."""
    rng = np.random.default_rng(0)
    n = 40 * 5 * 10
    columns = {"observation": np.tile(np.arange(10), 200), "action": np.repeat(np.arange(40), 50)}
    noisy = Log.from_columns(**columns, reward=rng.integers(2, size=n), ends="every-row")
    _, model = model_of(noisy, states_of_codes(noisy))
    assert np.abs(model.best_values(0.9) - 0.5).max() < 0.2
    assert model._prior_rows(np.zeros(10), 0.9) == MOST_PRIOR_ROWS
    sure = Log.from_columns(**columns, reward=columns["action"].astype(float), ends="every-row")
    _, model = model_of(sure, states_of_codes(sure))
    assert model.best_values(0.9) == pytest.approx(np.full(10, 39.0))


def test_actions_that_were_not_tried_are_not_taken():
    log = Log.from_columns(
        observation=[0, 0, 1, 1], action=[0, 1, 0, 0], reward=[0.0, 5.0, 1.0, 1.0], ends="every-row", n_actions=3
    )
    _, model = model_of(log, States(log.observation, log.next_observation, 3))
    found = model.best_values(0.9)
    assert found[1] == pytest.approx(1.0)
    assert np.isnan(found[2])  # a state without rows


def test_where_observations_never_repeat_values_lie_between_landmarks():
    rng = np.random.default_rng(1)
    x = rng.random((5000, 1))
    log = Log.from_columns(observation=x, action=np.zeros(5000, int), reward=np.sin(6 * x[:, 0]), ends="every-row")
    states = States(np.arange(5000), np.arange(5000), 5000)
    places, model = model_of(log, states)
    assert places.here.shape[1] < 1000
    assert np.asarray(places.here.sum(axis=1)) == pytest.approx(1.0)
    found = values_at(places.here, model.best_values(0.9))
    assert np.abs(found - np.sin(6 * x[:, 0])).max() < 0.1


def test_an_observation_without_a_known_place_has_no_value():
    log = square(30, 0, side=5)
    state = np.where(np.arange(len(log)) % 2 == 0, 0, 1)
    places, model = model_of(log, States(state, np.full(len(log), -1), 3), rows=np.flatnonzero(state == 0))
    value = model.best_values(0.9)
    assert np.isnan(values_at(places.next, value)).all()
    assert np.isnan(values_at(places.here, value)[state == 1]).all()
    assert np.isfinite(values_at(places.here, value)[state == 0]).all()


def test_the_range_is_between_quantiles():
    assert range_of(np.append(np.linspace(0, 1, 1001), [np.nan])) == pytest.approx(0.9)
    assert range_of(np.full(3, np.nan)) == 0.0
