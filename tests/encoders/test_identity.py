import json

import numpy as np
import pytest

from understudy.contracts import Encoder
from understudy.encoders import Identity
from understudy.errors import EncoderError
from understudy.logs import Log


def log_of(observation, next_observation=None):
    following, ones = (
        observation if next_observation is None else next_observation,
        np.ones(len(observation), dtype=int),
    )
    return Log.from_columns(
        observation=observation, action=ones, reward=ones, next_observation=following, terminated=ones.astype(bool)
    )


def test_integers_are_their_own_states():
    assert Identity().encode([3, 0, 3]).tolist() == [3, 0, 3]
    encoder = Identity().fit(log_of([3, 0], [1, 7]))
    assert encoder.encode([3, 0, 7]).tolist() == [3, 0, 7]
    assert encoder.n_states == 8


def test_an_integer_beyond_the_log_has_no_state():
    encoder = Identity().fit(log_of([3, 0]))
    assert encoder.encode([4, -1, 3]).tolist() == [-1, -1, 3]


@pytest.mark.parametrize("observations", [[10**12, 5, 10**12], [-1, 5, -1], [0.5, 2.5, 0.5], [[1, 2], [3, 4], [1, 2]]])
def test_anything_else_is_numbered_by_fit(observations):
    encoder = Identity().fit(log_of(observations))
    assert encoder.encode(np.array(observations)).tolist() == [0, 1, 0]
    assert encoder.n_states == 2
    assert not Identity().fitted
    assert encoder.fitted


def test_observations_are_numbered_before_next_observations():
    encoder = Identity().fit(log_of([0.1, 0.2], [0.3, 0.1]))
    assert encoder.encode([0.1, 0.2, 0.3, 0.4]).tolist() == [0, 1, 2, -1]


@pytest.mark.parametrize("observations", [[-1], [2**31], [0.5], [[1, 2]]])
def test_what_must_be_numbered_asks_for_fit(observations):
    with pytest.raises(EncoderError, match=r"fit\(log\) first"):
        Identity().encode(observations)


@pytest.mark.parametrize("observations", [[0.5], [[1, 2]], [[0.5, 0.5, 0.5]]])
def test_another_form_than_fitted_on_is_refused(observations):
    with pytest.raises(EncoderError, match="fitted on"):
        Identity().fit(log_of([1, 2])).encode(observations)
    with pytest.raises(EncoderError, match="fitted on"):
        Identity().fit(log_of([[0.1, 0.2]])).encode(observations)


def test_fitting_again_forgets():
    encoder = Identity().fit(log_of([0.5])).fit(log_of([4]))
    assert encoder.encode([4]).tolist() == [4]
    assert encoder.n_states == 5


def test_states_are_int64_whatever_came_in():
    for dtype in (np.uint8, np.int32, np.uint64, bool):
        observations = np.array([1, 0], dtype=dtype)
        assert Identity().encode(observations).dtype == np.int64
        assert Identity().fit(log_of(observations)).encode(observations).dtype == np.int64


def test_it_tells_what_it_is():
    encoder = Identity().fit(log_of([[0.5, 1.5]]))
    assert isinstance(encoder, Encoder)
    assert (Identity().describe_state(7), encoder.describe_state(0)) == ("observation 7", "observation [0.5, 1.5]")
    assert json.loads(json.dumps(encoder.settings)) == encoder.settings
    assert "1 states" in repr(encoder)
