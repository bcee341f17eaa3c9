import numpy as np
import pytest

from understudy import mapped
from understudy.encoders import Function
from understudy.errors import EncoderError
from understudy.logs import Log
from understudy.simulators.index import dense, states_of_log
from understudy.simulators.index_arrays import (
    as_int32,
    count_rows,
    episodes_and_openings,
    largest_number,
    queues_by_action,
    states_in_files,
    vectors_in_files,
)
from understudy.simulators.kernels.tape import BLOCK_END, END_ROW, FIRST_ROW


@pytest.fixture(autouse=True, params=[2, 1000])
def height(request, monkeypatch):
    monkeypatch.setattr(mapped, "BLOCK", request.param)


def a_log(observation, propensity=None, terminated=(0, 1, 0, 0, 1), **columns):
    return Log.from_columns(
        observation=observation, action=[0, 1, 1, 0, 1], reward=[0.0] * 5, terminated=terminated,
        next_observation=np.roll(observation, -1, axis=0), propensity=propensity, **columns,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("log", "encoder"),
    [
        (a_log(np.array([3, 1, 2, 2, 0], np.int64)), None),
        (a_log(np.array([3, 10**9, 2, 2, 0], np.int64)), None),
        (a_log(np.array([[0.5, 1], [0.5, 2], [0.5, 1], [7, 7], [0.5, 2]])), None),
        (a_log(np.array([3, 1, 2, 2, 0], np.int32)), Function(lambda observations: observations % 2)),
        (
            a_log(np.array([3, 1, 2, 2, 0], np.int32)),
            Function(lambda observations: np.where(observations > 1, 10**8, -1)),
        ),
    ],
)
def test_states_are_those_of_an_index_in_memory(log, encoder):
    found = states_in_files(log, encoder)
    numbers, state, next_state = dense(*states_of_log(log, encoder))
    assert found["state"].dtype == found["next_state"].dtype == np.int32
    assert found["state"].tolist() == state.tolist()
    assert found["next_state"].tolist() == next_state.tolist()
    assert (numbers is None) == ("encoder_numbers" not in found)
    assert numbers is None or found["encoder_numbers"].tolist() == numbers.tolist()


def test_codes_of_32_bits_are_states_themselves():
    assert states_in_files(a_log(np.array([3, 1, 2, 2, 0], np.int32)), None) == {}


def test_states_beyond_32_bits_are_refused():
    with pytest.raises(EncoderError, match="32 bits"):
        largest_number(np.array([0, 2**31]))
    assert largest_number(np.array([0, 7]), np.array([9])) == 9
    assert as_int32(np.array([0, 2**40]), np.array([1, 2]))["state"].tolist() == [0, 3]


def test_episodes_that_are_cut_off_end_a_block():
    log = a_log(np.arange(5), episode=[0, 0, 1, 2, 2], terminated=[0, 1, 0, 0, 1])
    episodes, opening = episodes_and_openings(log, np.array([5, 6, 7, 8, 9], np.int32))
    assert episodes[:, FIRST_ROW].tolist() == [0, 2, 3]
    assert episodes[:, END_ROW].tolist() == [2, 3, 5]
    assert episodes[:, BLOCK_END].tolist() == [1, 1, 3]
    assert opening["row"].tolist() == [0, 2, 3]
    assert opening["state"].tolist() == [5, 7, 8]
    assert opening["code"].tolist() == [0, 2, 3]


def test_rows_are_counted_and_queued_by_state_and_action():
    state, action = np.array([0, 1, 0, -1, 1], np.int32), np.array([0, 1, 1, 0, 1], np.int32)
    assert count_rows(state, action, 3, 2).tolist() == [[1, 1], [0, 2], [0, 0]]
    assert queues_by_action(state, action, 2).tolist() == [0, 3, 1, -1, 3]


@pytest.mark.parametrize(
    ("propensity", "expected"),
    [
        ([[0.5, 0.5]] * 5, None),
        ([[0.5, 0.5]] * 3 + [[0.0, 1.0]] * 2, [0, 0, 0, 1, 1]),
        ([[0.1 * i, 1 - 0.1 * i] for i in range(1, 6)], [0, 1, 2, 3, 4]),
    ],
)
def test_distinct_vectors_of_propensities_are_numbered(propensity, expected):
    vector, inverse = vectors_in_files(a_log(np.arange(5), np.array(propensity)), 2)
    assert (vector is None) if expected is None else vector.tolist() == expected
    with np.errstate(divide="ignore"):
        expected = 1 / np.array(propensity)
    np.testing.assert_array_equal(inverse[np.zeros(5, int) if vector is None else vector], expected)


def test_without_propensities_there_is_one_vector_of_ones():
    vector, inverse = vectors_in_files(None, 3)
    assert vector is None
    assert inverse.tolist() == [[1, 1, 1]]
