from dataclasses import replace

import numpy as np
import pytest

from understudy.envs import Grid, record
from understudy.logs import Log, concatenate
from understudy.trust.self_tests import (
    GLANCE,
    SelfTest,
    _comparable,
    _looked,
    drift_test,
    shapes_test,
    sufficiency_test,
)
from understudy.trust.within_states import MORE_ROWS, MOST_ROWS, Predictions, StatedLog, p_value


@pytest.fixture(scope="module")
def log():
    return record(Grid(4, slip=0.2), episodes=150, seed=0)


def stated(log, encode=lambda observations: observations):
    return StatedLog(log, encode(log.observation), encode(log.next_observation))


def test_shapes_finds_what_observations_hide(log):
    """Four cells that look alike: no encoder is to be blamed, and within a state all observations are one."""
    observation, following = (
        np.where(np.isin(c, [1, 7, 8, 14]), 1, c) for c in (log.observation, log.next_observation)
    )
    alike = replace(log, observation=observation, next_observation=following)
    assert shapes_test(stated(alike), 0.0125, merges=False, seed=0).fires
    true = shapes_test(stated(log), 0.0125, merges=False, seed=0)
    assert not true.fires
    assert true.looked_at.startswith("74 episodes")


def _merged(cells):
    return np.where(np.isin(cells, [1, 11]), 16, cells)


def test_shapes_uses_each_half_and_needs_rows(log):
    assert (
        "too few of the states"
        in shapes_test(stated(log, lambda cells: np.arange(len(cells))), 0.0125, merges=True, seed=0).looked_at
    )


def test_a_test_that_was_not_made_does_not_fire():
    assert not SelfTest("shapes", "no reason").fires
    assert SelfTest("shapes", "all", 3.0, 0.01, "this", 0.01).fires


@pytest.mark.parametrize("level", [0.0125, 0.0025])
def test_a_test_can_fire_at_any_level_that_selfcheck_gives_it(log, level):
    one_state = stated(log, lambda cells: cells * 0)
    assert shapes_test(one_state, level, merges=True, seed=0).fires
    assert sufficiency_test(one_state, level, merges=True, seed=0)[0].fires
    drifting = concatenate([record(Grid(3), episodes=60, seed=0), record(Grid(3, slip=0.5), episodes=60, seed=1)])
    assert drift_test(stated(drifting), level, 0).fires


def test_the_state_that_shows_it_best_is_named(log):
    found, _ = sufficiency_test(stated(log, _merged), 0.0125, merges=True, seed=0)
    assert "most clearly in observation=1 (and 1 like it))" in found.found
    assert found.fires


def _predictions(statistic):
    return [Predictions(np.array([0]), np.asarray(statistic, float).reshape(1, 2, -1), 100)]


def _noise(rng):
    return _predictions(rng.normal(size=(2, 160)))


CLEAR, DULL = (_predictions(np.tile(np.append(first, np.arange(159)), (2, 1))) for first in (999, 0))


@pytest.mark.parametrize(
    ("looks", "n_looks"),
    [
        ([DULL], 1),
        ([CLEAR, DULL], 2),
        ([CLEAR, CLEAR, DULL], 3),
        ([CLEAR, CLEAR, CLEAR], 3),
    ],
)
def test_a_closer_look_takes_the_place_of_one_that_is_near_the_level(looks, n_looks):
    asked = []

    def look(most_rows, permutations):
        asked.append((most_rows, permutations))
        return looks[len(asked) - 1]

    found, p = _looked(look, 0.0125)
    assert asked == [(MOST_ROWS, GLANCE), (MOST_ROWS, 159), (MORE_ROWS, 159)][:n_looks]
    assert found is looks[-1]
    assert (p <= 0.0125) == (looks[-1] is CLEAR)


def test_nothing_to_look_at_has_no_p_value():
    nothing = [Predictions(np.array([], int), np.zeros((0, 2, 160)), 0)]
    assert _looked(lambda rows, permutations: nothing, 0.0125) == (nothing, None)


def test_a_closer_look_is_no_second_chance_to_fire():
    """4,000 pairs of looks at noise, level .05: more than 244 are one in a thousand; either look would fire in 390."""
    rng, level = np.random.default_rng(0), 0.05
    p_values = np.array([_looked(lambda rows, permutations: _noise(rng), level)[1] for _ in range(4000)])
    assert (p_values <= level).sum() <= 244
    assert (p_values <= 0.5).sum() <= 2000 + 98  # it is a p-value at any level
    either = [min(p_value(*_noise(rng)), p_value(*_noise(rng))) for _ in range(4000)]
    assert (np.array(either) <= level).sum() > 244


def test_episodes_without_an_end_of_their_own():
    columns = {"action": np.zeros(100, int), "reward": np.zeros(100), "observation": np.zeros(100, int)}
    every_tenth = np.arange(100) % 10 == 9
    whole = Log.from_columns(**columns, terminated=every_tenth)
    assert _comparable(whole)[0].tolist() == list(range(10))
    assert _comparable(whole)[1] == 10
    limited = record(Grid(3), episodes=50, seed=0, max_episode_steps=4)  # a limit that all have in common
    assert len(_comparable(limited)[0]) == 50
    assert _comparable(limited)[1] == 4
    ragged = every_tenth.copy()
    ragged[3] = True
    cut = Log.from_columns(**columns, next_observation=columns["observation"], truncated=ragged)
    assert len(_comparable(cut)[0]) == 11
    assert _comparable(cut)[1] == 4
    unfinished = record(Grid(3), steps=1500, seed=0)
    assert unfinished.unfinished[-1]
    assert _comparable(unfinished)[0].tolist() == list(range(unfinished.n_episodes - 1))
