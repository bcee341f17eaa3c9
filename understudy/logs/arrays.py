"""What was given as a column, as an array: nothing rounded and nothing merged on the way."""

import re
import reprlib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from understudy.errors import LogError

COMMAS = re.compile(r"[+-]?[0-9]+(,[0-9]+)+(\.[0-9]*)?")
EXACT = 2**53
"""Up to here a float64 holds every integer."""


def as_array(name: str, values: Any) -> np.ndarray:
    """As an array of at least one dimension; a column of lists is stacked.

    NumPy makes one type of a list of several, and would turn 1 into "1" and 2**53 + 1 into 2**53 on the way; such
    lists stay objects.
    """
    if np.ma.is_masked(values):
        raise LogError(f"{name} is masked in row {first(np.ma.getmaskarray(values))}; fill it in, or drop the row")
    try:
        array = np.asarray(values)
        if not hasattr(values, "dtype") and _changed(array):
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
    return _tightened(array) if array.dtype == object else array


def flat(name: str, values: Any) -> np.ndarray:
    """The column as an array of one value a row."""
    array = as_array(name, values)
    if array.size != len(array):
        raise LogError(f"{name} has shape {array.shape}; give one value a row")
    return array.reshape(len(array))


def rounded(name: str, array: np.ndarray) -> np.ndarray:
    """Numbers as float64, rounded where need be: for what is measured, not for what is told apart."""
    if array.dtype.kind in "biuf":
        with np.errstate(over="ignore"):
            return array.astype(np.float64, copy=False)
    if array.dtype != object:
        raise LogError(f"{name} holds {kind_of(array)}, not numbers; convert the column first")
    try:
        return np.array([_float(value) for value in array.flat]).reshape(array.shape)
    except (TypeError, ValueError, OverflowError):
        tests = (
            (lambda value: not spells_a_number(value)),
            (lambda value: value is not None and abs(float(value)) >= EXACT),
        )
        places = (at for test in tests for at, value in enumerate(array.flat) if test(value))
        place = next(places, 0)  # an odd word, a number too long for a float, or text throughout
        row, value = place * len(array) // array.size, array.flat[place]
        what = "text that spells a number" if spells_a_number(value) else "not a number"
        what = "more than a float can be" if isinstance(value, int) else what
        raise LogError(f"{name} is {shown(value)} in row {row}, {what}; {_move(value)}") from None


def _move(value: Any) -> str:
    if isinstance(value, str) and COMMAS.fullmatch(value.strip()):
        return "write numbers with a point before decimals and without other commas"
    return "convert the column first"


def told_apart(name: str, array: np.ndarray) -> np.ndarray:
    """Objects as float64, where this keeps any two different numbers different; else refused by row."""
    values = rounded(name, array)
    lost = [not _kept(value, item) for value, item in zip(values.flat, array.flat, strict=True)]
    refuse_merging(name, array, np.array(lost).reshape(array.shape))
    return values


def one_dtype(parts: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """Arrays in a dtype that holds all their values exactly; refused by row where there is none.

    >>> [part.dtype.name for part in one_dtype({"a": np.array([1]), "b": np.array([2], np.uint64)})]
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
                refuse_merging(name, array, _loses_digits(array))
    return [array.astype(dtype, copy=False) for array in arrays]


def refuse_merging(name: str, array: np.ndarray, lost: np.ndarray) -> None:
    """Refuse numbers that float64 would merge with their neighbors."""
    if lost.any():
        place = first(lost.reshape(-1))
        raise LogError(
            f"{name} is {shown(array.flat[place])} in row {place * len(array) // array.size}, which float64 would "
            "round, so that different values become one; number the distinct values 0, 1, 2, ..., or round them "
            "yourself"
        )


def refuse(name: str, array: np.ndarray, bad: np.ndarray, move: str) -> None:
    """Refuse the first value for which `bad` holds, by row, with the next move."""
    if bad.any():
        row = first(bad)
        raise LogError(f"{name} is {shown(array[row])} in row {row}; {move}")


def is_empty(item: Any) -> bool:
    """Whether it is None, NaN, another library's word for a missing value, or text of nothing but spaces."""
    if isinstance(item, str):
        return not item.strip()
    try:
        return item is None or bool(item != item)
    except (TypeError, ValueError, ArithmeticError):  # pandas.NA, an array, a signaling NaN
        return True


def codes_of(name: str, array: np.ndarray) -> tuple[np.ndarray, list]:
    """Codes by first appearance, and what each stands for. A dict beats sorting a million strings."""
    table: dict = {}
    try:
        codes = [table.setdefault(item, len(table)) for item in array.tolist()]
    except TypeError:
        raise LogError(f"{name} holds values that cannot be told apart; give numbers or text") from None
    return np.array(codes, np.int64), list(table)


def first(mask: np.ndarray) -> int:
    """The first row where the mask holds."""
    return int(np.argmax(mask))


def is_text(array: np.ndarray) -> bool:
    """Whether strings are among the values."""
    return array.dtype.kind == "U" or (array.dtype == object and any(isinstance(item, str) for item in array))


def spells_a_number(value: Any) -> bool:
    """Whether it is or spells a number: one odd word makes a whole CSV column text, and is the one to name."""
    try:
        return value is None or float(value) is not None
    except (TypeError, ValueError, OverflowError):
        return False


def shown(value: Any) -> str:
    """A value for a message, cut where it is long."""
    if isinstance(value, Decimal):
        return reprlib.repr(str(value))[1:-1]
    try:
        return reprlib.repr(value.item() if isinstance(value, np.generic) else value)
    except ValueError:  # Python does not print integers of more than 4,300 digits
        return f"a number of some {int(abs(value).bit_length() * 0.30103):,} digits"


def kind_of(array: np.ndarray) -> str:
    """What an array holds, in a word."""
    return {"U": "text", "S": "bytes", "O": "objects", "M": "dates", "m": "durations"}.get(
        array.dtype.kind, str(array.dtype)
    )


def _changed(array: np.ndarray) -> bool:
    """Whether NumPy may have made other values of a list: text of numbers, text less its last NULs, rounded floats."""
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
    return stacked if alike or not _changed(stacked) else np.array([np.array(row, dtype=object) for row in rows])


def _tightened(array: np.ndarray) -> np.ndarray:
    """Objects that are all truth values, all floats or all integers, as such."""
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


def _loses_digits(array: np.ndarray) -> np.ndarray:
    """Which integers float64 cannot hold."""
    lost = np.zeros(array.shape, bool)
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        large = (array > EXACT) | (array < -EXACT) if array.dtype.kind == "i" else array > EXACT
        if large.any():
            lost[large] = [int(float(item)) != item for item in array[large].tolist()]
    return lost


def _kept(value: float, item: Any) -> bool:
    """Whether no other number of the item's kind has this float64: the digits that tell it apart are the item's."""
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
