"""What each column of a log holds, and how what was given is brought to it."""

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

REQUIRED = ("observation", "action", "reward")
COLUMNS = (*REQUIRED, "next_observation", "terminated", "truncated", "episode", "step", "propensity")
MOST_ROWS = 2**31 - 2  # kernels name a row by an int32


class LogError(ValueError):
    """What was found in a log, where, and the next move. `rule` is what `check` files it under."""

    def __init__(self, message: str, rule: str = "columns") -> None:
        super().__init__(message)
        self.rule = rule


def common_length(columns: Mapping[str, Any]) -> int:
    """The number of rows, which all columns agree on.

    >>> common_length({"observation": [3, 4], "action": [0, 1], "reward": [0.5, 0.5]})
    2
    """
    if absent := [name for name in REQUIRED if name not in columns]:
        raise LogError(f"{', '.join(absent)} is missing; give at least {', '.join(REQUIRED)}")
    lengths = {}
    for name, values in columns.items():
        try:
            lengths[name] = len(values)
        except TypeError:
            raise LogError(f"{name} is a single {type(values).__name__}; give one value a row") from None
    if len(set(lengths.values())) > 1:
        listing = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise LogError(f"columns differ in length: {listing}; give each one value a row", "lengths")
    length = next(iter(lengths.values()))
    if length == 0:
        raise LogError("the log is empty; give at least one row", "lengths")
    if length > MOST_ROWS:
        raise LogError(f"the log has {length:,} rows, and {MOST_ROWS:,} is the most; split it by episodes", "lengths")
    return length


def observations(name: str, values: Any) -> np.ndarray:
    """Observations of one fixed shape: integers as given, flags as uint8, floats as float32 or float64."""
    array = _array(name, values)
    if array.size == 0:
        raise LogError(f"{name} has shape {array.shape}; give at least one number a row")
    if word := text_in(array):
        raise LogError(
            f"{name} holds text ({word}); turn it into numbers first, for example "
            "np.unique(observation, return_inverse=True)[1]"
        )
    if array.dtype == object:
        array = _floats(name, array)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "b":
        return array.view(np.uint8)
    if kind in "iu":
        return _native(array)
    if kind == "f":
        return _native(array) if size in (4, 8) else array.astype(np.float32 if size < 4 else np.float64)
    raise LogError(
        f"{name} holds {_kind(array)}, not numbers; turn it into codes (np.unique, return_inverse=True) or features"
    )


def text_in(array: np.ndarray) -> str | None:
    """The first word of a column of words, and where it is; None where there is none, or a number among them.

    >>> text_in(np.array(["home", "cart"]))
    "'home' in row 0"
    >>> text_in(np.array(["0.5", "oops"]))
    """
    if not array.size or not isinstance(array.flat[0], str):
        return None
    if any(value is not None and _parses(value) for value in array.flat):
        return None
    return f"{reprlib.repr(str(array.flat[0]))} in row 0"


def alike(observation: np.ndarray, next_observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both columns in one dtype, after a look at their shapes."""
    if observation.shape != next_observation.shape:
        raise LogError(
            f"an observation has shape {observation.shape[1:]} and a next_observation {next_observation.shape[1:]}; "
            "give both the same features"
        )
    dtype = np.result_type(observation, next_observation)
    return observation.astype(dtype, copy=False), next_observation.astype(dtype, copy=False)


def floats(name: str, values: Any) -> np.ndarray:
    """One float64 a row; NaN may be among them."""
    return _floats(name, _flat(name, values))


def whole(name: str, values: Any) -> np.ndarray:
    """One int32 a row; floats are taken where they are integral.

    >>> whole("action", [1.0, 2.0])
    array([1, 2], dtype=int32)
    """
    array = _flat(name, values)
    if array.dtype.kind not in "biu":
        array = _floats(name, array)
        _refuse(name, array, ~np.isfinite(array), "give every row an integer")
        _refuse(name, array, array != np.floor(array), "give every row an integer")
    limits = np.iinfo(np.int32)
    if array.dtype.kind != "b" and array.dtype.itemsize > 2:
        _refuse(name, array, (array < limits.min) | (array > limits.max), "number them from 0 up")
    return array.astype(np.int32, copy=False)


def flags(name: str, values: Any) -> np.ndarray:
    """One truth value a row, given as such or as 0 and 1."""
    array = _flat(name, values)
    if array.dtype.kind == "b":
        return array
    if array.dtype.kind not in "iu":
        array = _floats(name, array)
    _refuse(name, array, (array != 0) & (array != 1), "give true and false, or 1 and 0")
    return array.astype(bool)


def episode_ids(name: str, values: Any) -> np.ndarray:
    """One int64 a row: integers as given, any other ids as codes by first appearance.

    >>> episode_ids("episode", ["visit b", "visit b", "visit a"])
    array([0, 0, 1])
    """
    array = _flat(name, values)
    if array.dtype.kind in "bi" or (array.dtype.kind == "u" and array.dtype.itemsize < 8):
        return array.astype(np.int64, copy=False)
    items = array.tolist()
    _refuse(name, array, np.array([item is None or item != item for item in items]), "give every row its episode")
    if array.dtype.kind == "f" and np.all((array == np.floor(array)) & (np.abs(array) < 2**53)):
        return array.astype(np.int64)
    try:
        return _codes(items)[0]
    except TypeError:
        raise LogError(f"{name} holds values that cannot be told apart; give numbers or text") from None


def action_codes(
    values: Any, labels: Sequence[str] | None, name: str = "action"
) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """The code of each row's action, and the labels, if any: sorted, unless they were given.

    >>> action_codes(["right", "left"], None)
    (array([1, 0], dtype=int32), ('left', 'right'))
    """
    array = _flat(name, values)
    if labels is not None:
        labels = _checked_labels(labels)
        if array.dtype.kind in "iu" and any(label.isdecimal() for label in labels):
            array = array.astype(str)  # "10" and "20" are arms, which a CSV file reads as numbers
    if not _is_text(array):
        return whole(name, array), labels
    items = array.tolist()
    _refuse(name, array, np.array([not isinstance(item, str) for item in items]), "give every row a label")
    codes, found = _codes(items)
    if labels is None:
        labels = tuple(sorted(found))
    position = {label: code for code, label in enumerate(labels)}
    table = np.array([position.get(label, -1) for label in found], np.int32)
    codes = table[codes]
    _refuse(name, array, codes < 0, f"give actions= every label (it has {', '.join(labels)})")
    return codes, labels


def propensities(name: str, values: Any) -> np.ndarray:
    """Probabilities of every action, (N, A), or of the chosen one, (N,)."""
    array = _floats(name, _array(name, values))
    if array.ndim > 2 or array.size == 0:
        raise LogError(f"{name} has shape {array.shape}; give (rows, actions), or (rows,) for the chosen action's")
    return array


CLEAN: dict[str, Callable[[str, Any], np.ndarray]] = {
    "observation": observations,
    "reward": floats,
    "next_observation": observations,
    "terminated": flags,
    "truncated": flags,
    "episode": episode_ids,
    "step": whole,
    "propensity": propensities,
}
"""What brings each column to its dtype; actions need their labels too."""


def first(mask: np.ndarray) -> int:
    """The first row where the mask holds."""
    return int(np.argmax(mask))


def _array(name: str, values: Any) -> np.ndarray:
    """As an array of at least one dimension; a column of lists is stacked."""
    if np.ma.is_masked(values):
        raise LogError(f"{name} is masked in row {first(np.ma.getmaskarray(values))}; fill it in, or drop the row")
    try:
        array = np.asarray(values)
    except ValueError:
        array = _stacked(name, values)
    if array.ndim == 0:
        raise LogError(f"{name} is a {type(values).__name__}, not a column; give an array or a list")
    if array.dtype == object and array.size and np.ndim(array.flat[0]):
        array = _stacked(name, array)
    return array


def _stacked(name: str, rows: Iterable[Any]) -> np.ndarray:
    arrays = [np.asarray(row) for row in rows]
    shape = arrays[0].shape
    for row, array in enumerate(arrays):
        if array.shape != shape:
            raise LogError(f"{name} has shape {array.shape} in row {row} and {shape} in row 0; give all rows one shape")
    return np.stack(arrays)


def _flat(name: str, values: Any) -> np.ndarray:
    array = _array(name, values)
    if array.size != len(array):
        raise LogError(f"{name} has shape {array.shape}; give one value a row")
    return array.reshape(len(array))


def _floats(name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind in "biuf":
        return array.astype(np.float64, copy=False)
    if array.dtype != object:
        raise LogError(f"{name} holds {_kind(array)}, not numbers; convert the column first")
    try:
        return np.array([_float(value) for value in array.flat]).reshape(array.shape)
    except (TypeError, ValueError):
        place = next((at for at, value in enumerate(array.flat) if not _parses(value)), 0)
        row = place * len(array) // array.size
        raise LogError(
            f"{name} is {reprlib.repr(array.flat[place])} in row {row}, not a number; convert the column first"
        ) from None


def _float(value: Any) -> float:
    if isinstance(value, str | bytes):  # which float would parse
        raise TypeError
    return np.nan if value is None else float(value)


def _parses(value: Any) -> bool:
    """Whether it is or spells a number: one odd word makes a whole CSV column text, and is the one to name."""
    try:
        return value is None or float(value) is not None
    except (TypeError, ValueError):
        return False


def _codes(items: list) -> tuple[np.ndarray, list]:
    """Codes by first appearance, and what each stands for. A dict beats sorting a million strings."""
    table: dict = {}
    codes = [table.setdefault(item, len(table)) for item in items]
    return np.array(codes, np.int64), list(table)


def _checked_labels(labels: Sequence[str]) -> tuple[str, ...]:
    labels = () if isinstance(labels, str) or not isinstance(labels, Iterable) else tuple(labels)
    if not labels or not all(isinstance(label, str) for label in labels) or len(set(labels)) < len(labels):
        raise LogError("actions= must be a list of distinct strings, one for each action in the order of its code")
    return labels


def _refuse(name: str, array: np.ndarray, bad: np.ndarray, move: str) -> None:
    if bad.any():
        row = first(bad)
        value = array[row].item() if isinstance(array[row], np.generic) else array[row]
        raise LogError(f"{name} is {value!r} in row {row}; {move}")


def _is_text(array: np.ndarray) -> bool:
    return array.dtype.kind == "U" or (array.dtype == object and any(isinstance(item, str) for item in array))


def _kind(array: np.ndarray) -> str:
    return {"U": "text", "S": "bytes", "O": "objects", "M": "dates", "m": "durations"}.get(
        array.dtype.kind, str(array.dtype)
    )


def _native(array: np.ndarray) -> np.ndarray:
    return array.astype(array.dtype.newbyteorder("="), copy=False)
