"""How bounds are found from propensities."""

from itertools import pairwise

import numpy as np
import pytest

from understudy.errors import LogError, SettingError
from understudy.logs import Log
from understudy.simulators.bounds import bound_for, ceilings, inverse_of_chosen, is_uniform


def logged(propensity, lengths=None):
    n = len(propensity)
    ends = {"ends": "every-row"}
    if lengths is not None:
        last = np.cumsum(lengths) - 1
        ends = {"terminated": np.isin(np.arange(n), last)}
    return Log.from_columns(
        observation=np.zeros(n), action=np.arange(n) % 2, reward=np.zeros(n), propensity=propensity, n_actions=2, **ends
    )


FULL = [[0.9, 0.1], [0.5, 0.5], [0.25, 0.75], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("propensity", "given", "quantile", "value", "source"),
    [
        ([0.5] * 4, None, None, 2, "uniform propensities"),
        ([[0.5, 0.5]] * 4, None, None, 2, "uniform propensities"),
        ([0.5 + 1e-9] * 4, None, None, 2, "uniform propensities"),
        (FULL, None, None, 10, "the smallest propensity of any action"),
        ([0.9, 0.5, 0.2, 0.5], None, None, 5, "the smallest propensity of chosen actions, for which the log alone"),
        ([[1.0, 0.0], [0.6, 0.4], [1.0, 0.0], [0.6, 0.4]], None, None, 2.5, "the smallest propensity of any action"),
        (FULL, 7.5, None, 7.5, "the number given"),
        (FULL, "running", None, 2, "the largest before"),
        (FULL, "quantile", None, 4, "the 0.99 quantile"),
        (FULL, "quantile", 0.5, 2, "the 0.5 quantile"),
    ],
)
def test_a_bound_is_found_or_given(propensity, given, quantile, value, source):
    bound = bound_for(logged(propensity), given, quantile)
    assert bound.value == pytest.approx(value)
    assert bound.source.startswith(source)
    assert bound.is_running == (given == "running")


def test_the_bound_of_episodes_is_that_of_the_longest():
    assert bound_for(logged([0.5] * 4, [1, 3]), None, None).value == 8
    assert bound_for(logged([0.5, 0.2, 0.5, 0.5], [1, 3]), None, None).value == pytest.approx(125)
    assert bound_for(logged([0.5, 0.2, 0.5, 0.5], [1, 3]), "running", None).value == 8
    with pytest.raises(LogError, match="larger than any number, so that none would be accepted; use psrs or qbe"):
        bound_for(logged([0.4] * 1100, [100, 1000]), None, None)


@pytest.mark.parametrize(
    ("given", "quantile", "message"),
    [
        (0.5, None, "bound is 0.5; give bound=, a number from 1"),
        (float("inf"), None, "bound is inf"),
        ("largest", None, "bound='largest' is not one of 'running', 'quantile'"),
        (3.0, 0.9, "quantile=0.9 is for bound='quantile', and bound is 3.0"),
        ("quantile", 1.5, "quantile is 1.5; give quantile=, a number from 0 to 1"),
    ],
)
def test_what_is_no_bound_is_refused(given, quantile, message):
    with pytest.raises(SettingError, match=message):
        bound_for(logged(FULL), given, quantile)


def test_propensities_of_the_chosen_action():
    assert (1 / inverse_of_chosen(logged(FULL))).round(12).tolist() == [0.9, 0.5, 0.25, 0.5]
    assert (1 / inverse_of_chosen(logged([0.9, 0.5, 0.2, 0.5]))).round(12).tolist() == [0.9, 0.5, 0.2, 0.5]
    assert is_uniform(logged([0.5 - 1e-8] * 4))
    assert inverse_of_chosen(logged([0.5 - 1e-8] * 4)).tolist() == [2] * 4
    assert not is_uniform(logged([0.5, 0.5, 0.51, 0.5]))


def test_ceilings_are_products_to_the_end_of_the_episode():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 6, 20)
    starts, inverse = np.append(0, np.cumsum(lengths)), rng.uniform(1, 5, lengths.sum())
    later, whole = ceilings(inverse, starts)
    for episode, (first, end) in enumerate(pairwise(starts)):
        assert whole[episode] == pytest.approx(inverse[first:end].prod())
        for row in range(first, end):
            assert later[row] == pytest.approx(inverse[row + 1 : end].prod())
