import json

import numpy as np
import pytest

from understudy.contracts import Encoder
from understudy.encoders import Boxes
from understudy.errors import EncoderError, LogError, SettingError
from understudy.logs import Log


def log_of(observation, next_observation=None):
    following, ones = (
        observation if next_observation is None else next_observation,
        np.ones(len(observation), dtype=int),
    )
    return Log.from_columns(
        observation=observation, action=ones, reward=ones, next_observation=following, terminated=ones.astype(bool)
    )


def test_fixed_edges_need_no_fit():
    boxes = Boxes(edges=[[0.2, 0.4, 0.6, 0.8]] * 2)
    assert boxes.fitted
    assert boxes.n_states == 25
    points = np.array([[0.1, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.9], [0.2, 0.0], [-5.0, 5.0]])
    assert boxes.encode(points).tolist() == [0, 4, 20, 24, 1, 20]


def test_scalars_take_one_list():
    assert Boxes(edges=[0, 10]).encode([-3, 0, 5, 10, 99]).tolist() == [0, 1, 1, 2, 2]


def test_quantile_edges_hold_equally_many():
    observations = np.random.default_rng(0).exponential(size=(1000, 2))
    states = Boxes(bins=5).fit(log_of(observations)).encode(observations)
    assert set(np.bincount(states % 5)) == set(np.bincount(states // 5)) == {200}


def test_uniform_edges_are_equally_wide():
    boxes = Boxes(bins=4, spacing="uniform").fit(log_of([0.0, 0.1, 0.2, 8.0]))
    assert boxes.edges[0].tolist() == [2.0, 4.0, 6.0]


def test_dimensions_may_have_bins_of_their_own():
    boxes = Boxes(bins=[2, 1, 3]).fit(log_of(np.random.default_rng(1).random((99, 3))))
    assert [len(cuts) for cuts in boxes.edges] == [1, 0, 2]
    assert boxes.n_states == 6


def test_repeated_values_leave_no_empty_boxes():
    observations = np.repeat([0, 1, 2], [90, 5, 5])
    states = Boxes(bins=10).fit(log_of(observations)).encode(observations)
    assert np.unique(states).tolist() == list(range(states.max() + 1))


@pytest.mark.parametrize("spacing", ["quantile", "uniform"])
def test_a_constant_dimension_is_one_box(spacing):
    boxes = Boxes(bins=5, spacing=spacing).fit(log_of([2.0, 2.0]))
    assert boxes.n_states == 1
    assert boxes.encode([2.0, 3.0]).tolist() == [0, 0]


def test_nan_has_no_state_and_infinity_is_outermost():
    boxes = Boxes(bins=2).fit(log_of([0.0, 1.0, 2.0, 3.0, np.inf]))
    assert boxes.encode([np.nan, -np.inf, np.inf]).tolist() == [-1, 0, 1]
    assert Boxes(edges=[[0.5], [0.5]]).encode([[0.0, np.nan]]).tolist() == [-1]


def test_arrays_are_flattened():
    boxes = Boxes(edges=[[0.5]] * 4)
    assert boxes.encode(np.array([[[0, 1], [0, 1]]])).tolist() == [2 + 8]


def test_observations_of_another_form_are_refused():
    fitted = Boxes(bins=2).fit(log_of([[0.1, 0.2], [0.3, 0.4]]))
    for observations in ([0.1], [[1, 2]], [[0.1, 0.2, 0.3]]):
        with pytest.raises(EncoderError, match="fitted on"):
            fitted.encode(observations)
    with pytest.raises(EncoderError, match="edges for 2 dimensions, and observations have 1"):
        Boxes(edges=[[0.5], [0.5]]).encode([0.1])
    with pytest.raises(EncoderError, match="edges for 1 dimensions, and observations have 2"):
        Boxes(edges=[0.5]).fit(log_of([[0.1, 0.2]]))


def test_boxes_without_edges_ask_for_fit():
    with pytest.raises(EncoderError, match=r"fit\(log\) first"):
        Boxes(bins=5).encode([0.5])


def test_too_many_boxes_are_refused():
    with pytest.raises(SettingError, match=r"over 2\*\*31"):
        Boxes(bins=10).fit(log_of(np.zeros((2, 10))))
    with pytest.raises(SettingError, match=r"over 2\*\*31"):
        Boxes(edges=[[0.0]] * 32)


def test_a_dimension_without_numbers_is_refused():
    with pytest.raises(LogError, match="no finite value"):
        Boxes(bins=2).fit(log_of([np.inf, -np.inf]))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"bins": 5, "edges": [0.5]},
        {"bins": 0},
        {"bins": 2.5},
        {"bins": []},
        {"bins": 5, "spacing": "log"},
        {"edges": [0.5, 0.5]},
        {"edges": [[0.5, 0.1]]},
        {"edges": [np.nan]},
        {"edges": [[[0.5]]]},
    ],
)
def test_settings_that_make_no_boxes_are_refused(settings):
    with pytest.raises(SettingError):
        Boxes(**settings)


def test_bins_for_other_dimensions_are_refused():
    with pytest.raises(SettingError, match="2 bins were given for observations of 3 dimensions"):
        Boxes(bins=[2, 2]).fit(log_of(np.zeros((2, 3))))


def test_it_tells_what_it_is():
    fitted = Boxes(bins=[2, np.int64(2)], spacing="uniform").fit(log_of([[0.0, 0.0], [1.0, 4.0]]))
    assert isinstance(fitted, Encoder)
    assert [fitted.describe_state(state) for state in range(4)] == [
        "x0 < 0.5, x1 < 2",
        "0.5 <= x0, x1 < 2",
        "x0 < 0.5, 2 <= x1",
        "0.5 <= x0, 2 <= x1",
    ]
    assert Boxes(edges=[1, 2]).describe_state(1) == "1 <= x < 2"
    assert json.loads(json.dumps(fitted.settings)) == fitted.settings
    assert (repr(fitted), repr(Boxes(bins=5))) == (
        "Boxes(bins=[2, 2], spacing='uniform', 4 boxes)",
        "Boxes(bins=5, spacing='quantile')",
    )
    with pytest.raises(SettingError, match="no box 4"):
        fitted.describe_state(4)
