"""Observations are compared in units of each column's spread, or as given; labels are equal or not."""

import json
import math
import pickle

import numpy as np
import pytest

from understudy.contracts import HasSettings, Likeness, Log, SuggestsRadii
from understudy.contracts.offering import offers
from understudy.errors import SettingError
from understudy.likeness import observations
from understudy.logs import read


def log_of(observation, **columns):
    n = len(observation)
    columns = {"action": np.zeros(n, dtype=int), "reward": np.zeros(n), "next_observation": observation} | columns
    return Log.from_columns(observation=observation, **columns, ends="every-row")


def like(likeness, log, radius, state=None):
    """The states alike to each state; by default every row is a state."""
    state = np.arange(len(log)) if state is None else np.asarray(state)
    n_states = int(state.max()) + 1
    first, members = likeness.neighbors(log, state, state, n_states, radius)
    return [members[first[z] : first[z + 1]].tolist() for z in range(n_states)]


def test_it_keeps_its_contract():
    for protocol in (Likeness, SuggestsRadii, HasSettings):
        assert offers(observations(), protocol)
    assert observations(["x"], scale=0.5).settings["scale"] == 0.5
    settings = observations([0], scale={0: 2}, periods={1: 3}).settings
    assert json.loads(json.dumps(settings)) == settings  # what a results folder holds is what it is compared with
    assert repr(observations(["x"], periods={"x": 24})) == "observations(columns=('x',), periods={'x': 24.0})"


def test_columns_count_in_units_of_their_own_spread():
    spread = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1000.0], [1.0, 1000.0]])
    log = log_of(spread)
    assert like(observations(), log, 2.1) == [[1, 2], [0, 3], [0, 3], [1, 2]]  # both columns have spread 1/2
    assert like(observations(scale=1), log, 2.1) == [[1], [0], [3], [2]]
    assert like(observations(scale={1: 1000}), log, 1.5) == [[2], [3], [0], [1]]


def test_units_are_those_of_the_log_that_it_was_first_used_with_also_in_another_process():
    likeness = observations()
    log = log_of(np.array([[0.0], [1.0], [2.0], [3.0]]))
    whole = like(likeness, log, 1.0)
    assert whole == [[1], [0, 2], [1, 3], [2]]
    half = log.select([0, 1])
    for same in (likeness, pickle.loads(pickle.dumps(likeness))):
        assert like(same, half, 1.0) == [[1], [0]]
    assert like(observations(), half, 1.0) == [[], []]  # there, the two are two standard deviations apart
    assert likeness.settings["spreads"] == {"0": pytest.approx(1.118, abs=1e-3)}


def test_columns_left_out_do_not_count():
    log = log_of(np.array([[0.0, 0.0], [0.0, 9.0], [5.0, 0.0]]))
    assert like(observations([0], scale=1), log, 1.0) == [[1], [0], []]


def test_columns_that_go_round_meet_at_their_ends():
    hours = np.array([[0.5], [23.5], [12.0]])
    assert like(observations(scale=1), log_of(hours), 1.5) == [[], [], []]
    assert like(observations(scale=1, periods={0: 24}), log_of(hours), 1.5) == [[1], [0], []]
    angles = np.array([[math.pi - 0.01], [-math.pi + 0.01]])
    assert like(observations(scale=1, periods={0: 2 * math.pi}), log_of(angles), 0.05) == [[1], [0]]


def labeled_log():
    columns = {"city": ["a", "b", "a", "a"], "x": [0.0, 0.1, 0.2, 3.0], "act": [0] * 4, "r": [0.0] * 4}
    return read(columns, observation=["city", "x"], action="act", reward="r", ends="every-row")


def test_labels_must_be_equal_unless_they_have_a_scale():
    log = labeled_log()
    names = {"x": 1.0}
    assert like(observations(scale=names), log, 0.5) == [[2], [], [0], []]
    assert like(observations(scale=1.0), log, 0.5) == [[2], [], [0], []]  # one unit for all is none for labels
    assert like(observations(scale=names | {"city": 4.0}), log, 0.5) == [[1, 2], [0, 2], [0, 1], []]
    assert like(observations(scale=names | {"city": 1.0}), log, 0.5) == [[2], [], [0], []]
    assert like(observations(["x"], scale=names), log, 0.5) == [[1, 2], [0, 2], [0, 1], []]


def test_single_integers_are_codes_unless_they_have_a_scale():
    log = log_of(np.array([0, 1, 2, 7]))
    assert like(observations(), log, 100.0, [0, 1, 2, 3]) == [[], [], [], []]
    assert not len(observations().radii(log, np.arange(4), np.arange(4), 4))
    assert like(observations(scale=1), log, 1.0, [0, 1, 2, 3]) == [[1], [0, 2], [1], []]


def test_a_state_of_several_observations_is_their_mean_and_states_without_any_have_no_neighbors():
    log = log_of(np.array([[0.0], [1.0], [0.6], [9.0]]))
    assert like(observations(scale=1), log, 0.2, [0, 0, 2, 4]) == [[2], [], [0], [], []]
    assert like(observations(scale=1), log, 0.2, [-1, -1, 2, 4]) == [[], [], [], [], []]


def test_a_state_seen_only_as_a_next_state_counts():
    log = log_of(np.array([[0.0], [5.0]]), next_observation=np.array([[0.1], [5.0]]))
    first, members = observations(scale=1).neighbors(log, np.array([0, 1]), np.array([2, 1]), 3, 0.5)
    assert first.tolist() == [0, 1, 1, 2]
    assert members.tolist() == [2, 0]


def test_missing_numbers_are_alike_to_nothing():
    log = log_of(np.array([[0.0], [np.nan], [0.1]]))
    assert like(observations(scale=1), log, 1.0) == [[2], [], [0]]
    assert like(observations(), log, 100.0) == [[2], [], [0]]


def test_a_selection_of_the_log_has_the_neighbors_that_are_left():
    rng = np.random.default_rng(0)
    log = log_of(rng.random((50, 2)))
    whole = like(observations(scale=1), log, 0.2)
    rows = np.arange(0, 50, 2)
    half = log.select(rows)
    first, members = observations(scale=1).neighbors(half, rows, rows, 50, 0.2)
    for z in range(50):
        expected = [other for other in whole[z] if other % 2 == 0] if z % 2 == 0 else []
        assert members[first[z] : first[z + 1]].tolist() == expected


def test_radii_of_a_grid_are_the_distances_between_its_cells():
    cells = np.stack(np.meshgrid(np.arange(12), np.arange(12)), axis=-1).reshape(-1, 2) / 12
    log = log_of(np.tile(cells, (3, 1)))
    state = np.tile(np.arange(144), 3)
    found = observations(scale=1).radii(log, state, state, 144)
    assert found[0] == pytest.approx(1 / 12, rel=1e-5)
    assert found[1] == pytest.approx(math.sqrt(2) / 12, rel=1e-5)
    assert (np.diff(found) > 0).all()


def test_radii_where_rows_never_repeat_have_many_rows_within():
    log = log_of(np.random.default_rng(0).random((2000, 2)))
    found = observations(scale=1).radii(log, np.arange(2000), np.arange(2000), 2000)
    within = [np.median(list(map(len, like(observations(scale=1), log, radius)))) for radius in found]
    assert within == pytest.approx([4, 16, 64, 256], rel=0.05, abs=1)


def test_mistakes_are_named():
    log = log_of(np.array([[0.0, 1.0]]))
    with pytest.raises(SettingError, match=r"no column 'x'; give some of places 0 to 1"):
        like(observations(["x"]), log, 1.0)
    with pytest.raises(SettingError, match=r"no column 'y'; give some of city, x"):
        like(observations(scale={"y": 1}), labeled_log(), 1.0)
    with pytest.raises(SettingError, match="radius is 0"):
        like(observations(), log, 0)
    with pytest.raises(SettingError, match="scale is -1"):
        observations(scale=-1)
    with pytest.raises(SettingError, match="period of 'x'"):
        observations(periods={"x": 0})
