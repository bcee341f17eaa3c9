import numpy as np
import pytest

from understudy.logs.recurring import keys_of, recurring


def test_observations_are_ordered_by_their_rows_and_rare_ones_are_left_out():
    observation = np.repeat([4, 9, 2], [30, 50, 5])
    found = recurring(observation)
    assert found.rows.tolist() == [50, 30]
    assert observation[found.first_row].tolist() == [9, 4]
    assert np.bincount(found.code).tolist() == [50, 30, 5]
    assert found.share == 80 / 85
    assert recurring(observation, most=1).size == 1


def test_nothing_recurs_among_numbers_that_are_all_different():
    found = recurring(np.random.default_rng(0).normal(size=(500, 2)))
    assert found.size == 0
    assert found.share == 0
    assert (found.code == 0).all()  # the code of no group


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.float32, np.float64, bool])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2)])
def test_keys_are_equal_where_rows_are(dtype, shape):
    rows = np.random.default_rng(0).integers(0, 2, size=(300, *shape)).astype(dtype)
    _, keys = np.unique(keys_of(rows), return_inverse=True)
    _, truth = np.unique(rows.reshape(300, -1), axis=0, return_inverse=True)
    assert len(np.unique(keys)) == truth.max() + 1
    assert len(np.unique(keys * 1000 + truth.ravel())) == truth.max() + 1


def test_the_order_of_entries_matters():
    assert len(np.unique(keys_of(np.array([[1, 2], [2, 1], [3, 0], [0, 3]])))) == 4
