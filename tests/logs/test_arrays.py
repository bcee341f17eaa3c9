from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from understudy.errors import LogError
from understudy.logs.arrays import (
    as_array,
    as_floats,
    common_dtype,
    exact_floats,
    is_missing,
    one_value_per_row,
    short_repr,
)


@pytest.mark.parametrize(
    "values",
    [[1, "1"], [True, "True"], ["a", "a\0"], [b"a", b"a\0"], [2**53 + 1, 0.5], [2**63, 1], [2**63, -1], [2**64, 1]],
)
def test_numpy_changes_no_value_of_a_list(values):
    assert as_array("column", values).tolist() == values


@pytest.mark.parametrize(
    ("values", "dtype"),
    [([True, False], bool), ([1, 2], np.int64), ([1, 2**63], np.uint64), ([0.5, 2.0**60], np.float64)],
)
def test_objects_of_one_kind_are_of_that_kind(values, dtype):
    array = as_array("column", np.array(values, object))
    assert array.dtype == dtype
    assert array.tolist() == values


def test_numpy_s_strings_of_any_length_are_text():
    pytest.importorskip("numpy", "2.0")
    assert as_array("column", np.array(["a", "bc"], np.dtypes.StringDType())).tolist() == ["a", "bc"]


def test_rows_that_are_lists_are_stacked_without_loss():
    for rows in ([[2**53 + 1, 1], [0.5, 2]], [[2**53 + 1, 0.5], [1, 2]]):
        column = np.empty(2, object)
        column[:] = rows
        assert as_array("observation", column).tolist() == rows
        with pytest.raises(LogError, match="observation is 9007199254740993 in row 0, which float64 would round"):
            exact_floats("observation", as_array("observation", column))
    mixed = [np.array([2**53 + 1]), np.array([2.0**60])]
    assert as_array("observation", mixed).tolist() == [[2**53 + 1], [2.0**60]]
    assert as_array("observation", [np.array([2.0**60], np.float32)] * 2).dtype == np.float32


class Stubborn:
    def __array__(self, *_, **__):
        raise RuntimeError("call detach() first")


def deep(levels):
    nested = 1
    for _ in range(levels):
        nested = [nested]
    return nested


def test_what_has_no_array_is_refused():
    with pytest.raises(LogError, match=r"reward cannot be made an array \(call detach\(\) first\)"):
        as_array("reward", Stubborn())
    with pytest.raises(LogError, match="observation"):
        one_value_per_row("observation", [deep(100), deep(100)])


@pytest.mark.parametrize("digits", [400, 5000])
def test_numbers_that_no_float_holds_are_refused_by_row(digits):
    number = 10**digits
    for values in ([0, number], [0.5, -number], [[0], [number]]):
        with pytest.raises(LogError, match=r"reward is .* in row 1, more than a float can be"):
            as_floats("reward", as_array("reward", values))


def test_text_that_spells_numbers_is_named_as_text():
    with pytest.raises(LogError, match=r"reward is '1e400' in row 1, text that spells a number"):
        as_floats("reward", as_array("reward", ["1", "1e400"]))


@pytest.mark.parametrize(
    "values",
    [[Decimal("0.1"), Decimal("0.2")], [2**64, None], [Fraction(1, 2), 1], [Decimal("NaN"), 0.1], [10**15, 0.1]],
)
def test_numbers_that_floats_tell_apart_are_taken(values):
    floats = exact_floats("observation", np.array(values, object))
    assert floats.dtype == np.float64
    assert [value != value or value for value in floats.tolist()] == [
        item is None or item != item or float(item) for item in values
    ]


@pytest.mark.parametrize(
    "values",
    [
        [2**64, 2**64 + 1],
        [0.5, 2**53 + 1],
        [Decimal("0.1"), Decimal("0.10000000000000000001")],
        [0.5, Decimal(2**63 + 1)],
        [0.5, Fraction(1, 3)],
        [0.5, np.int64(2**53 + 1)],
        [0.5, np.uint64(2**64 - 1)],
        [0.5, np.longdouble(2**53) + 1],
    ],
)
def test_numbers_that_floats_would_merge_are_refused_by_row(values):
    with pytest.raises(LogError, match=r"observation is .* in row 1, which float64 would round"):
        exact_floats("observation", np.array(values, object))


def columns(first, second):
    return common_dtype({"first": np.array(*first), "second": np.array(*second)})


@pytest.mark.parametrize(
    ("one", "other", "dtype"),
    [
        (([2**53 + 1],), ([5], np.uint64), np.int64),
        (([5],), ([2**64 - 1], np.uint64), np.uint64),
        (([2**53],), ([0.5],), np.float64),
        (([2**60],), ([0.5],), np.float64),
        (([5], np.int16), ([0.5], np.float32), np.float32),
        (([-1],), ([2**63], np.uint64), np.float64),
    ],
)
def test_columns_are_joined_in_a_dtype_that_holds_them_exactly(one, other, dtype):
    first, second = columns(one, other)
    assert first.dtype == second.dtype == dtype
    assert int(first[0]) == one[0][0]
    assert second[0] == other[0][0]


@pytest.mark.parametrize("other", [([0.5],), ([1.0], np.float32), ([-1],)])
@pytest.mark.parametrize("value", [2**53 + 1, 2**63 - 1, 2**64 - 1])
def test_columns_that_no_dtype_holds_are_refused_by_row(value, other):
    one = ([value], np.uint64)
    if other == ([-1],) and value < 2**63:
        assert columns(one, other)[0].tolist() == [value]
        return
    with pytest.raises(LogError, match=rf"first is {value} in row 0, which float64 would round"):
        columns(one, other)


@pytest.mark.parametrize("item", [None, np.nan, pd.NA, pd.NaT, "", " \t", Decimal("NaN"), Decimal("sNaN")])
def test_values_that_are_missing_are_known(item):
    assert is_missing(item)


@pytest.mark.parametrize("item", [0, False, "0", b"", 0.0, "nan"])
def test_values_that_are_there_are_not_missing(item):
    assert not is_missing(item)


def test_messages_stay_short():
    for value in (10**5000, 10**400, "x" * 10_000, Decimal("1" * 5000), b"x" * 10_000):
        assert len(short_repr(value)) < 100
