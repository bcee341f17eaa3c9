import functools
import json

import numpy as np
import pytest

from understudy.contracts import Encoder
from understudy.encoders import Function
from understudy.errors import ContractError
from understudy.logs import Log


def log_of(observation, next_observation=None):
    following, ones = (
        observation if next_observation is None else next_observation,
        np.ones(len(observation), dtype=int),
    )
    return Log.from_columns(
        observation=observation, action=ones, reward=ones, next_observation=following, terminated=ones.astype(bool)
    )


def halves(observations):
    return observations // 2


def test_states_are_what_the_function_says():
    encoder = Function(halves)
    assert encoder.encode([0, 1, 5]).tolist() == [0, 0, 2]
    assert encoder.n_states is None
    assert encoder.fit(log_of([0, 1], [1, 9])).n_states == 5
    assert encoder.fitted


@pytest.mark.parametrize("returned", [[0.0, 1.0, -1.0], [0, 1, -1], np.array([0, 1, -1], dtype=np.int8)])
def test_integers_come_in_any_dress(returned):
    states = Function(lambda observations: returned).encode([1, 2, 3])
    assert states.tolist() == [0, 1, -1]
    assert states.dtype == np.int64


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        ([0, 1], r"shape \(2,\) for 3 observations"),
        (5, r"shape \(\)"),
        ([[0], [1], [2]], r"shape \(3, 1\)"),
        ([0, 0.5, 1], "returned 0.5 for observation 1"),
        ([0, 1, np.nan], "returned nan for observation 2"),
        ([0, 1, np.inf], "returned inf"),
        ([0, -2, 1], "returned -2 for observation 1"),
        (["a", "b", "c"], "dtype"),
        (None, "shape"),
    ],
)
def test_what_are_no_states_is_refused_by_name(returned, words):
    with pytest.raises(ContractError, match=words) as caught:
        Function(lambda observations: returned).encode([1, 2, 3])
    assert "<lambda>" in str(caught.value)


def test_vectorize_makes_a_batch_function_as_the_docstring_says():
    scalar = Function(np.vectorize(lambda x: int(x > 0.5), otypes=[np.int64]))
    array = Function(np.vectorize(lambda x: x.sum(), otypes=[np.int64], signature="(k)->()"))
    assert scalar.encode([0.2, 0.7]).tolist() == [0, 1]
    assert array.encode([[1, 2], [3, 4]]).tolist() == [3, 7]


def test_it_tells_what_it_is():
    encoder = Function(halves)
    assert isinstance(encoder, Encoder)
    assert json.loads(json.dumps(encoder.settings)) == {"encoder": "Function", "function": f"{__name__}.halves"}
    assert repr(encoder) == f"Function({__name__}.halves)"
    assert encoder.describe_state(3) == f"{__name__}.halves = 3"
    assert Function(functools.partial(halves)).settings["function"] == "functools.partial"


def test_only_functions_are_wrapped():
    with pytest.raises(ContractError, match="function of a batch"):
        Function(3)
