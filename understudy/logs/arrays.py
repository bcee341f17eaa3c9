"""Columns that users give, as NumPy arrays: no value is rounded, and no two different values become equal."""

import re
import reprlib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from understudy.errors import LogError

COMMAS = re.compile(r"[+-]?[0-9]+(,[0-9]+)+(\.[0-9]*)?")
EXACT = 2**53
"""A float64 holds every integer up to here exactly."""


def as_array(name: str, values: Any) -> np.ndarray:
    """Return a column as an array of at least one dimension; a column of lists is stacked.

    NumPy gives a list of several types one dtype, which would turn 1 into "1" and 2**53 + 1 into 2**53; such lists
    become arrays of objects. Raise `LogError` where no array can be made.
    """
    if np.ma.is_masked(values):
        raise LogError(f"{name} is masked in row {first_true(np.ma.getmaskarray(values))}; fill it in, or drop the row")
    try:
        array = np.asarray(values)
        # Whatever has a dtype - NumPy's attribute, which pandas and polars share - had one type before.
        if not hasattr(values, "dtype") and _may_differ_from_list(array):
            array = np.array(values, dtype=object)
    except ValueError:
        array = _stacked(name, values)
    except (TypeError, RuntimeError, OverflowError) as error:  # a tensor that requires grad, for example
        raise LogError(f"{name} cannot be made an array ({error}); give an array or a list") from None
    if array.ndim == 0:
        raise LogError(f"{name} is a {type(values).__name__}, not a column; give an array or a list")
    if array.dtype.kind == "T":
        array = array.astype(object)
    if array.dtype == object and array.size and np.ndim(array.flat[0]):
        array = _stacked(name, array)
    return _with_plain_dtype(array) if array.dtype == object else array


def one_value_per_row(name: str, values: Any) -> np.ndarray:
    """Return the column as an array with one value a row, (N,)."""
    array = as_array(name, values)
    if array.size != len(array):
        raise LogError(f"{name} has shape {array.shape}; give one value a row")
    return array.reshape(len(array))


def as_floats(name: str, array: np.ndarray) -> np.ndarray:
    """Return numbers as float64, rounded where they must be: for measurements, not for ids or observations."""
    if array.dtype.kind in "biuf":
        with np.errstate(over="ignore"):
            return array.astype(np.float64, copy=False)
    if array.dtype != object:
        raise LogError(f"{name} holds {content_in_words(array)}, not numbers; convert the column first")
    try:
        return np.array([_float(value) for value in array.flat]).reshape(array.shape)
    except (TypeError, ValueError, OverflowError):
        tests = (
            (lambda value: not spells_a_number(value)),
            (lambda value: value is not None and abs(float(value)) >= EXACT),
        )
        positions = (at for test in tests for at, value in enumerate(array.flat) if test(value))
        position = next(positions, 0)  # a word among numbers, a number too long for a float, or text throughout
        row, value = position * len(array) // array.size, array.flat[position]
        if is_missing(value):
            raise no_value(name, row) from None
        what = "text that spells a number" if spells_a_number(value) else "not a number"
        what = "more than a float can be" if isinstance(value, int) else what
        raise LogError(f"{name} is {short_repr(value)} in row {row}, {what}; {_advice(value)}") from None


def _advice(value: Any) -> str:
    if isinstance(value, str) and COMMAS.fullmatch(value.strip()):
        return "write numbers with a point before decimals and without other commas"
    return "convert the column first"


def exact_floats(name: str, array: np.ndarray) -> np.ndarray:
    """Return numbers as float64. Raise `LogError` for the first row whose number would become equal to another."""
    values = as_floats(name, array)
    inexact = [not _is_exact(value, item) for value, item in zip(values.flat, array.flat, strict=True)]
    refuse_inexact(name, array, np.array(inexact).reshape(array.shape))
    return values


def common_dtype(parts: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Return the arrays in one dtype that holds all their values exactly. Raise `LogError` where there is none.

    >>> [part.dtype.name for part in common_dtype({"a": np.array([1]), "b": np.array([2], np.uint64)})]
    ['int64', 'int64']
    """
    arrays = list(parts.values())
    dtype = np.result_type(*arrays)
    if dtype.kind == "f":
        if all(array.dtype.kind in "iu" for array in arrays):  # int64 and uint64, which NumPy would make float64
            lowest, highest = (min(int(a.min()) for a in arrays), max(int(a.max()) for a in arrays))
            fits = [kind for kind in (np.int64, np.uint64) if _holds(kind, lowest, highest)]
            dtype = np.dtype(fits[0]) if fits else dtype
        if dtype.kind == "f":
            for name, array in parts.items():
                refuse_inexact(name, array, _not_exact_as_float(array))
    return [array.astype(dtype, copy=False) for array in arrays]


def refuse_inexact(name: str, array: np.ndarray, inexact: np.ndarray) -> None:
    """Raise `LogError` for the first number that float64 cannot hold, so that it would become equal to another."""
    if inexact.any():
        position = first_true(inexact.reshape(-1))
        raise LogError(
            f"{name} is {short_repr(array.flat[position])} in row {position * len(array) // array.size}, which float64 "
            "would round, so that different values become one; number the distinct values 0, 1, 2, ..., or round them "
            "yourself"
        )


class NoValueError(LogError):
    """A column of a log that has no value in some row, where it needs one."""


def no_value(title: str, row: int) -> NoValueError:
    """Return the error for a row without a value."""
    return NoValueError(f"{title} has no value in row {row}; fill it in, or drop the row")


def refuse_rows(name: str, array: np.ndarray, bad: np.ndarray, advice: str) -> None:
    """Raise `LogError` for the first row in which `bad` is True; the message names the row and ends with the advice."""
    if bad.any():
        row = first_true(bad)
        raise LogError(f"{name} is {short_repr(array[row])} in row {row}; {advice}")


def is_missing(item: Any) -> bool:
    """True for None, NaN, another library's missing value, and text that is empty or only spaces."""
    if isinstance(item, str):
        return not item.strip()
    try:
        return item is None or bool(item != item)
    except (TypeError, ValueError, ArithmeticError):  # pandas.NA, an array, a signaling NaN
        return True


def codes_by_first_appearance(name: str, array: np.ndarray) -> tuple[np.ndarray, list]:
    """Return a code for each value, 0, 1, ... by first appearance, and the list of values by code."""
    table: dict = {}  # faster than sorting a million strings
    try:
        codes = [table.setdefault(item, len(table)) for item in array.tolist()]
    except TypeError:
        raise LogError(f"{name} holds values that cannot be told apart; give numbers or text") from None
    return np.array(codes, np.int64), list(table)


def first_true(mask: np.ndarray) -> int:
    """Return the first row in which the mask is True; 0 where it never is."""
    return int(np.argmax(mask))


def contains_text(array: np.ndarray) -> bool:
    """True if some values are strings."""
    return array.dtype.kind == "U" or (array.dtype == object and any(isinstance(item, str) for item in array))


def spells_a_number(value: Any) -> bool:
    """True for None, numbers, and text that spells a number.

    One word among numbers makes a whole CSV column text; this finds the word, for the message.
    """
    try:
        return value is None or float(value) is not None
    except (TypeError, ValueError, OverflowError):
        return False


def first_word(array: np.ndarray) -> str | None:
    """Return the first value of a column of words, and its row, for a message; None if a value is or spells a number.

    >>> first_word(np.array(["home", "cart"]))
    "'home' in row 0"
    >>> first_word(np.array(["0.5", "oops"]))
    """
    if not array.size or not isinstance(array.flat[0], str):
        return None
    if any(value is not None and spells_a_number(value) for value in array.flat):
        return None
    return f"{short_repr(array.flat[0])} in row 0"


def short_repr(value: Any) -> str:
    """Return a value as a message shows it, cut where it is long."""
    if isinstance(value, Decimal):
        return reprlib.repr(str(value))[1:-1]
    try:
        return reprlib.repr(value.item() if isinstance(value, np.generic) else value)
    except ValueError:  # Python does not print integers of more than 4,300 digits
        return f"a number of some {int(abs(value).bit_length() * 0.30103):,} digits"


def content_in_words(array: np.ndarray) -> str:
    """Return what an array holds, for a message: "text", "dates", or the name of the dtype."""
    return {"U": "text", "S": "bytes", "O": "objects", "M": "dates", "m": "durations"}.get(
        array.dtype.kind, str(array.dtype)
    )


def _may_differ_from_list(array: np.ndarray) -> bool:
    """True if NumPy may have changed a list: numbers into text, text by cutting off NULs, integers into floats."""
    if array.dtype == np.float64:
        return bool(array.size) and bool(np.nanmax(np.abs(array), initial=0) >= EXACT)
    return array.dtype.kind in "US"


def _stacked(name: str, rows: Iterable[Any]) -> np.ndarray:
    rows = list(rows)
    try:
        arrays = [np.asarray(row) for row in rows]
    except ValueError:
        raise LogError(f"{name} holds lists of lists that are not arrays; give all rows one shape") from None
    shape = arrays[0].shape
    for row, array in enumerate(arrays):
        if array.shape != shape:
            raise LogError(f"{name} has shape {array.shape} in row {row} and {shape} in row 0; give all rows one shape")
    stacked = np.stack(arrays)
    alike = len({array.dtype for array in arrays}) == 1 and all(hasattr(row, "dtype") for row in rows)
    if alike or not _may_differ_from_list(stacked):
        return stacked
    return np.array([np.array(row, dtype=object) for row in rows])


def _with_plain_dtype(array: np.ndarray) -> np.ndarray:
    """Return objects that are all truth values, all floats or all integers in that dtype, and others as they are."""
    kinds = set(map(type, array.flat))
    if kinds and kinds <= {bool, np.bool_}:
        return array.astype(bool)
    if kinds and kinds <= {float, np.float64}:
        return array.astype(np.float64)
    if kinds and all(issubclass(kind, int | np.integer) for kind in kinds):
        items = [int(item) for item in array.flat]
        for dtype in (np.int64, np.uint64):
            if _holds(dtype, min(items), max(items)):
                return np.array(items, dtype).reshape(array.shape)
    return array


def _holds(dtype: Any, lowest: int, highest: int) -> bool:
    limits = np.iinfo(dtype)
    return limits.min <= lowest and highest <= limits.max


def _not_exact_as_float(array: np.ndarray) -> np.ndarray:
    """Return a mask of the integers that float64 cannot hold."""
    inexact = np.zeros(array.shape, bool)
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        large = (array > EXACT) | (array < -EXACT) if array.dtype.kind == "i" else array > EXACT
        if large.any():
            inexact[large] = [int(float(item)) != item for item in array[large].tolist()]
    return inexact


def _is_exact(value: float, item: Any) -> bool:
    """True if the float64 `value` stands for `item` alone: no other number of its kind is rounded to it."""
    item = item.item() if isinstance(item, np.generic) else item
    if item is None or isinstance(item, float | bool) or np.isnan(value):
        return True
    if isinstance(item, int | Decimal) and np.isfinite(value):
        return Decimal(value if abs(value) >= EXACT else repr(float(value))) == item
    return bool(value == item)


def _float(value: Any) -> float:
    if isinstance(value, str | bytes):  # which float would parse
        raise TypeError
    return np.nan if value is None else float(value)
