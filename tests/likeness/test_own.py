"""A distance of one's own: batches in, distances out, and what is wrong with them is named."""

import numpy as np
import pytest

from understudy.contracts import HasSettings, Likeness, Log, SuggestsRadii
from understudy.contracts.offering import offers
from understudy.errors import ContractError, SettingError
from understudy.likeness import function, own
from understudy.runs.describing.description import describe


def gap(some, others):
    return np.abs(some[:, None] - others[None]).astype(float)


def log_of(numbers, following=None):
    n = len(numbers)
    following = numbers if following is None else following
    return Log.from_columns(
        observation=numbers, next_observation=following, action=[0] * n, reward=[0.0] * n, ends="every-row"
    )


def like(f, log, radius, state, next_state=None):
    state = np.array(state)
    following = state if next_state is None else np.array(next_state)
    first, members = function(f).neighbors(log, state, following, 1 + max(state.max(), following.max()), radius)
    return [members[first[z] : first[z + 1]].tolist() for z in range(len(first) - 1)]


def test_states_within_the_distance_are_alike():
    log = log_of([0, 1, 2, 9])
    assert like(gap, log, 1.0, [0, 1, 2, 3]) == [[1], [0, 2], [1], []]
    assert function(gap).radii(log, np.arange(4), np.arange(4), 4)[0] == pytest.approx(1.0, rel=1e-5)
    for protocol in (Likeness, SuggestsRadii, HasSettings):
        assert offers(function(gap), protocol)
    assert repr(function(gap)) == "function(gap)"


def test_the_first_observation_of_a_state_counts_be_it_a_next_one():
    log = log_of([0, 5, 0], following=[5, 6, 5])
    assert like(gap, log, 1.0, [0, 1, 0], [1, 2, 1]) == [[], [2], [1]]
    assert like(gap, log, 1.0, [-1, 1, -1], [1, 2, 1]) == [[], [2], [1]]


def test_infinite_is_never_alike():
    assert like(lambda a, b: np.where(gap(a, b) > 0, np.inf, 0.0), log_of([0, 1]), 1e9, [0, 1]) == [[], []]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda a, b: np.zeros(len(a)), "returned shape"),
        (lambda a, b: -gap(a, b), "NaN or a negative number"),
        (lambda a, b: np.full((len(a), len(b)), np.nan), "NaN or a negative number"),
        (lambda a, b: np.maximum(a[:, None] - b[None], 0), "not the same both ways"),
    ],
)
def test_what_is_not_a_distance_is_named(wrong, message):
    with pytest.raises(ContractError, match=message):
        like(wrong, log_of([0, 1, 2]), 1.0, [0, 1, 2])


def test_what_is_not_a_function_and_too_many_states_are_refused(monkeypatch):
    with pytest.raises(ContractError, match="takes a function"):
        function(3)
    monkeypatch.setattr(own, "MOST_STATES", 2)
    with pytest.raises(SettingError, match="3 states"):
        like(gap, log_of([0, 1, 2]), 1.0, [0, 1, 2])


def test_a_function_may_write_on_what_it_is_given():
    def scribbles(some, others):
        found = gap(some, others)
        some[:] = 7
        return found

    log = log_of([0, 1])
    like(scribbles, log, 1.0, [0, 1])
    assert log.observation.tolist() == [0, 1]


def test_results_folders_see_the_code_of_the_function():
    assert describe(function(gap).settings).digest == describe(function(gap).settings).digest
    assert describe(function(gap).settings).digest != describe(function(lambda a, b: 2 * gap(a, b)).settings).digest
