import numpy as np
import pytest

from understudy.contracts.vocabulary import Vocabulary, enter_all, find_all, slots_for, words


def numbered(rows):
    """Codes by first appearance, by a dictionary."""
    codes = {}
    return np.array([codes.setdefault(tuple(row), len(codes)) for row in rows.tolist()])


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64, bool]
)
@pytest.mark.parametrize("width", [1, 2, 3, 8])
@pytest.mark.parametrize("block", [7, 1 << 19])
def test_codes_are_those_of_a_dictionary(monkeypatch, dtype, width, block):
    monkeypatch.setattr("understudy.logs.blocks.BLOCK", block)
    rows = np.random.default_rng(0).integers(0, 4, size=(500, width)).astype(dtype)
    vocabulary = Vocabulary(rows[:100], rows[100:])
    assert np.array_equal(vocabulary.codes(rows), numbered(rows))
    assert len(vocabulary) == 1 + numbered(rows).max()
    assert np.array_equal(vocabulary.codes(vocabulary.rows), np.arange(len(vocabulary)))


def test_later_arrays_go_on_counting():
    vocabulary = Vocabulary(np.array([5, 7, 5]), np.array([7, 9, 5, 9]))
    assert vocabulary.rows.tolist() == [5, 7, 9]
    assert vocabulary.codes(np.array([9, 8, 5])).tolist() == [2, -1, 0]


def test_scalars_arrays_and_images_alike():
    rng = np.random.default_rng(1)
    for shape in ((), (3,), (4, 5, 3)):
        rows = rng.random((50, *shape))
        assert Vocabulary(rows).codes(rows[::-1]).tolist() == list(range(50))[::-1]


def test_minus_zero_is_zero_and_nan_is_nobody():
    vocabulary = Vocabulary(np.array([0.0, np.nan, -0.0, 1.0, np.nan]))
    assert len(vocabulary) == 2
    assert vocabulary.codes(np.array([-0.0, np.nan, 1.0, np.inf])).tolist() == [0, -1, 1, -1]


def test_one_bit_makes_another_row():
    one = np.array([1.0])
    assert Vocabulary(one).codes(np.nextafter(one, 2)).tolist() == [-1]


def test_other_widths_of_a_dtype_are_compared_by_value():
    floats = Vocabulary(np.array([0.5, 0.1], dtype=np.float32))
    assert floats.codes(np.array([0.5, 0.1, 1e300])).tolist() == [0, -1, -1]
    bytes_ = Vocabulary(np.array([[3, 1]], dtype=np.int8))
    assert bytes_.codes(np.array([[3, 1], [3 + 256, 1]])).tolist() == [0, -1]


def test_rows_that_hash_alike_are_told_apart():
    rows = words(np.arange(100))
    crowded = slots_for(len(rows))
    assert len(enter_all(rows, crowded)) == 100
    tight = np.full(128, -1)  # nearly full: most rows are not in the slot they hash to
    enter_all(rows, tight)
    assert np.array_equal(find_all(rows, rows, tight), np.arange(100))


def test_no_rows_and_rows_of_nothing():
    assert Vocabulary(np.empty((0, 3))).codes(np.zeros((2, 3))).tolist() == [-1, -1]
    assert Vocabulary(np.empty((4, 0))).codes(np.empty((2, 0))).tolist() == [0, 0]
