"""Draws that are functions of a key: their laws, and that asking again gives the same number."""

import numpy as np
import pytest
from scipy import stats

from understudy.contracts.streams import stream_key
from understudy.learners.draws import beta_draw, gamma_draw, key_at, normal_at

KEY = np.uint64(stream_key(7))
N = 20_000
LEVEL = 1e-4  # false alarm of each Kolmogorov-Smirnov test


def key(position):
    return np.uint64(key_at(KEY, position))  # Python gets an integer, which is too large for a signed one


def drawn(draw, *parameters):
    return np.array([draw(key(position), *parameters) for position in range(N)])


def test_the_normal_law():
    found = np.array([normal_at(key(position), 0) for position in range(N)])
    assert stats.kstest(found, "norm").pvalue > LEVEL
    assert stats.kstest(1.1 * found, "norm").pvalue < LEVEL  # the test sees a deviation of a tenth
    assert abs(np.corrcoef(found[1:], found[:-1])[0, 1]) < 4 / np.sqrt(N)


@pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 3.7, 400.0])
def test_the_gamma_law(shape):
    assert stats.kstest(drawn(gamma_draw, shape), "gamma", args=(shape,)).pvalue > LEVEL


@pytest.mark.parametrize(("successes", "failures"), [(1.0, 1.0), (0.5, 0.5), (3.0, 8.0), (900.0, 100.0)])
def test_the_beta_law(successes, failures):
    found = drawn(beta_draw, successes, failures)
    assert stats.kstest(found, "beta", args=(successes, failures)).pvalue > LEVEL
    assert stats.kstest(found, "beta", args=(successes * 1.3, failures)).pvalue < LEVEL  # a wrong law is told apart


def test_two_gammas_of_one_key_would_not_be_a_beta():
    """The wrong variant: successes and failures drawn from the same stream move together."""
    one, other = drawn(gamma_draw, 3.0), drawn(gamma_draw, 8.0)
    wrong = one / (one + other)
    assert stats.kstest(wrong, "beta", args=(3.0, 8.0)).pvalue < LEVEL


def test_a_key_gives_one_number_and_positions_give_different_ones():
    assert beta_draw(KEY, 2.0, 3.0) == beta_draw(KEY, 2.0, 3.0)
    assert len({int(key_at(KEY, position)) for position in range(1000)}) == 1000


def test_parameters_close_to_zero_give_a_number_from_0_to_1():
    found = np.array([beta_draw(key(position), 1e-4, 1e-4) for position in range(300)])
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert found.max() <= 1
