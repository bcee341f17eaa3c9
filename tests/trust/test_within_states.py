import numpy as np
import pytest

from understudy.envs import Grid, NoisyGrid, record
from understudy.logs import Log, concatenate
from understudy.trust.within_states import StatedLog, p_value, predictions


def stated(log, encode=lambda observations: observations):
    return StatedLog(log, encode(log.observation), encode(log.next_observation))


def p_of(found, features, seed=0, only=None):
    only = found.states if only is None else np.array(only)
    return p_value(predictions(found, features(found), only, np.random.default_rng(seed), 99))


def observation(found):
    return found.observation


def history(found):
    return found.history


def time(found):
    return found.time


@pytest.mark.parametrize("features", [observation, history, time])
def test_the_level_holds_over_all_states_where_they_are_true(features):
    # 60 logs at level .1: 6 on average, and more than 16 once in ten thousand (binomial).
    env, fired = NoisyGrid(1, size=3, slip=0.2), 0
    for seed in range(60):
        fired += p_of(stated(record(env, episodes=40, seed=seed), env.latent), features, seed) <= 0.1
    assert fired <= 16


def test_observations_that_a_state_merges_are_found():
    log = record(Grid(3, slip=0.2), episodes=60, seed=0)
    found = stated(log, lambda cells: np.where(np.isin(cells, [1, 7]), 9, cells))
    assert p_of(found, observation, only=[9]) == 0.01


def test_observations_that_hide_where_they_came_from_are_found_by_the_step_before():
    log = record(Grid(3, slip=0.2), episodes=100, seed=0)
    found = stated(log, lambda cells: np.where(np.isin(cells, [1, 7]), 9, cells))
    assert p_of(found, history, only=[9]) == 0.01


def test_drift_is_found_in_outcomes_and_in_rewards():
    steady, slippery = (record(Grid(3, slip=slip), episodes=60, seed=0) for slip in (0.0, 0.3))
    assert p_of(stated(concatenate([steady, slippery])), time) == 0.01
    columns = concatenate([steady, record(Grid(3), episodes=60, seed=1)]).columns
    late = np.arange(len(columns["reward"])) > len(columns["reward"]) / 2
    falling = Log.from_columns(**columns | {"reward": columns["reward"] - 0.05 * late})
    assert p_of(stated(falling), time) == 0.01


def test_a_logger_that_changes_its_actions_is_no_drift():
    # 40 logs at level .1: 4 on average, and more than 13 once in ten thousand; drift in outcomes fires in all.
    def recorded(seed, slip):
        away = record(Grid(3, slip=0.2), lambda _: [0.1, 0.2, 0.2, 0.25, 0.25], episodes=30, seed=seed)
        straight = record(Grid(3, slip=slip), lambda _: [0.1, 0.4, 0.3, 0.1, 0.1], episodes=60, seed=1000 + seed)
        return stated(concatenate([away, straight]))

    assert sum(p_of(recorded(seed, 0.2), time, seed) <= 0.1 for seed in range(40)) <= 13
    assert sum(p_of(recorded(seed, 0.9), time, seed) <= 0.1 for seed in range(5)) == 5


def test_small_states_are_left_out():
    log = record(Grid(3), episodes=2, seed=0)
    found = predictions(stated(log), stated(log).time, stated(log).states, np.random.default_rng(0), 99)
    assert len(found.state) == found.n_rows == 0


def test_where_nothing_varies_nothing_is_predicted():
    log = record(Grid(3), episodes=60, seed=0)
    assert p_of(stated(log), time) == p_of(stated(log), history) == 1


def test_the_first_row_of_an_episode_has_no_step_before():
    log = record(Grid(3, slip=0.2), episodes=30, seed=0)
    first, *blocks = stated(log).history(np.arange(len(log)), np.random.default_rng(0))
    assert np.flatnonzero(first[:, 0]).tolist() == log.starts[:-1].tolist()
    assert not any(block[log.starts[:-1]].any() for block in blocks)
    one_hot = blocks[0][first[:, 0] == 0]
    assert (one_hot.sum(axis=1) == 1).all()
