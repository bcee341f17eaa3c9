import numpy as np
import pytest

from understudy.errors import SettingError
from understudy.logs.propensities.features import MOST_CODES, features_of


def test_few_observations_are_codes():
    seen = np.tile([[0.5, 1.0], [0.25, 2.0]], (50, 1))
    found = features_of(seen)
    assert found.matrix is None
    assert (found.code[::2] == found.code[0]).all()
    assert (found.code[1::2] == found.code[1]).all()
    assert found.code[0] != found.code[1]


def test_many_codes_are_numbers():
    found = features_of(np.arange(10 * MOST_CODES))
    assert found.code is None
    assert found.matrix.shape == (10 * MOST_CODES, 1 + 1 + 5)
    assert np.allclose(found.matrix[:, 0].std(), 1)


def test_numbers_of_few_values_are_indicators():
    rng = np.random.default_rng(0)
    seen = np.stack([rng.normal(size=500), rng.integers(3, size=500), np.ones(500)], axis=1)
    matrix = features_of(seen).matrix
    assert matrix.shape == (500, 1 + 1 + 5 + 3)  # itself, its square, its fifths; three values; a constant says nothing
    assert np.allclose(matrix[:, 2:5].sum(axis=1), 1)
    assert np.allclose(matrix[:, 5:].sum(axis=1), 1)
    assert np.allclose(matrix[:, 5:].mean(axis=0), 0.2)


def test_categories_are_seen_as_which_of_them_it_is():
    rng = np.random.default_rng(0)
    seen = np.stack([rng.normal(size=500), rng.integers(30, size=500)], axis=1)

    def one_hot(given):
        return np.column_stack([given[:, 0], given[:, 1:] == np.arange(30)])

    assert features_of(seen, one_hot).matrix.shape == (500, 1 + 1 + 5 + 2 * 30)


def test_products_are_there_for_few_numbers_only():
    rng = np.random.default_rng(0)
    assert features_of(rng.normal(size=(200, 4))).matrix.shape[1] == 4 * 7 + 6
    assert features_of(rng.normal(size=(200, 15))).matrix.shape[1] == 15 * 7
    assert features_of(rng.normal(size=(200, 40))).matrix.shape[1] == 40


def test_a_picture_is_refused():
    with pytest.raises(SettingError, match=r"784 numbers.*features="):
        features_of(np.random.default_rng(0).random((100, 28, 28)))
