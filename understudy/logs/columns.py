"""What each column of a log holds, and how what was given is brought to it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.logs import labels as labeling
from understudy.logs.arrays import (
    as_array,
    codes_of,
    flat,
    is_empty,
    is_text,
    kind_of,
    one_dtype,
    refuse,
    rounded,
    shown,
    spells_a_number,
    told_apart,
)

REQUIRED = ("observation", "action", "reward")
COLUMNS = (*REQUIRED, "next_observation", "terminated", "truncated", "episode", "step", "propensity")
MOST_ROWS = 2**31 - 2  # kernels name a row by an int32
TRUTH_VALUES = ("false", "true")  # labels of actions that were logged as truth values


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
    """Observations of one fixed shape: integers as given, flags as uint8, floats as float32 or float64.

    Different observations stay different: what these dtypes would merge is refused.
    """
    array = as_array(name, values)
    if array.size == 0:
        raise LogError(f"{name} has shape {array.shape}; give at least one number a row")
    if word := text_in(array):
        raise LogError(
            f"{name} holds text ({word}); turn it into numbers first, for example "
            "np.unique(observation, return_inverse=True)[1]"
        )
    if array.dtype == object or (array.dtype.kind == "f" and array.dtype.itemsize > 8):
        array = told_apart(name, array)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "b":
        return array.view(np.uint8)
    if kind in "iu" or (kind == "f" and size in (4, 8)):
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    if kind == "f":
        return array.astype(np.float32)
    raise LogError(
        f"{name} holds {kind_of(array)}, not numbers; turn it into codes (np.unique, return_inverse=True) or features"
    )


def text_in(array: np.ndarray) -> str | None:
    """The first word of a column of words, and where it is; None where there is none, or a number among them.

    >>> text_in(np.array(["home", "cart"]))
    "'home' in row 0"
    >>> text_in(np.array(["0.5", "oops"]))
    """
    if not array.size or not isinstance(array.flat[0], str):
        return None
    if any(value is not None and spells_a_number(value) for value in array.flat):
        return None
    return f"{shown(array.flat[0])} in row 0"


def alike(observation: np.ndarray, next_observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both columns in one dtype, after a look at their shapes."""
    if observation.shape != next_observation.shape:
        raise LogError(
            f"an observation has shape {observation.shape[1:]} and a next_observation {next_observation.shape[1:]}; "
            "give both the same features"
        )
    one, other = one_dtype({"observation": observation, "next_observation": next_observation})
    return one, other


def floats(name: str, values: Any) -> np.ndarray:
    """One float64 a row; NaN may be among them."""
    return rounded(name, flat(name, values))


def whole(name: str, values: Any, move: str = "give every row an integer") -> np.ndarray:
    """One int32 a row; floats are taken where they are integral.

    >>> whole("action", [1.0, 2.0])
    array([1, 2], dtype=int32)
    """
    array = flat(name, values)
    if array.dtype.kind not in "biu":
        array = rounded(name, array)
        refuse(name, array, ~np.isfinite(array), move)
        refuse(name, array, array != np.floor(array), move)
    limits, instead = np.iinfo(np.int32), ", or give the values as labels with actions=" * name.startswith("action")
    if array.dtype.kind != "b" and array.dtype.itemsize > 2:
        refuse(name, array, (array < limits.min) | (array > limits.max), "number them from 0 up" + instead)
    return array.astype(np.int32, copy=False)


def steps(name: str, values: Any) -> np.ndarray:
    """The number of each step within its episode."""
    array = flat(name, values)
    if array.dtype.kind in "mM":
        raise LogError(
            f"{name} holds {kind_of(array)}, and step counts the steps of an episode; sort the rows by it with "
            "order_by=, and leave step out"
        )
    return whole(name, array)


def flags(name: str, values: Any) -> np.ndarray:
    """One truth value a row, given as such or as 0 and 1."""
    array = flat(name, values)
    if array.dtype.kind == "b":
        return array
    if array.dtype.kind not in "iu":
        array = rounded(name, array)
    refuse(name, array, (array != 0) & (array != 1), "give true and false, or 1 and 0")
    return array.astype(bool)


def episode_ids(name: str, values: Any) -> np.ndarray:
    """One int64 a row: integers as given, any other ids as codes by first appearance.

    Different ids stay different. Floats so large that they cannot tell neighboring integers apart are refused, since
    ids may have been merged before they came here.

    >>> episode_ids("episode", ["visit b", "visit b", "visit a"])
    array([0, 0, 1])
    """
    array, move = flat(name, values), "give every row its episode"
    kind = array.dtype.kind
    if kind in "bi" or (kind == "u" and int(array.max()) < 2**63):
        return array.astype(np.int64, copy=False)
    if kind == "f":
        refuse(name, array, np.isnan(array), move)
        limit = 2.0 ** (np.finfo(array.dtype).nmant + 1)
        refuse(
            name,
            array,
            np.abs(array) >= limit,
            f"floats of {limit:.0f} and more cannot tell neighboring integers apart, so give integers or text",
        )
        if np.all(array == np.floor(array)):
            return array.astype(np.int64)
    if kind in "mM":
        refuse(name, array, np.isnat(array), move)
        array = array.astype(np.int64)
    codes, found = codes_of(name, array)
    _refuse_items(name, array, codes, [is_empty(item) for item in found], move)
    return codes


def action_codes(
    values: Any, labels: Sequence[str] | None, name: str = "action"
) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """The code of each row's action, and the labels, if any.

    Labels that were given stand in the order of their codes. A text is matched with the label that is equal to it, or
    else with the one that spells the same number; a truth value or number with the one that spells it ("true",
    "True", "1" and "1.0" are all 1). Two texts never share a label. Integers beside labels that are all words are
    codes already. Without labels, text is sorted, as numbers where all of it spells numbers; truth values are the
    codes 0 and 1, labeled "false" and "true"; integers are codes, without labels.

    >>> action_codes(["right", "left"], None)
    (array([1, 0], dtype=int32), ('left', 'right'))
    >>> action_codes([True, False], ["true", "false"])
    (array([0, 1], dtype=int32), ('true', 'false'))
    """
    array = flat(name, values)
    given = None if labels is None else labeling.checked(labels)
    if is_text(array):
        return _text_codes(array, given, name)
    truth = array.dtype.kind == "b"
    if given is None and truth:
        return array.astype(np.int32), TRUTH_VALUES
    if (
        given is not None
        and array.dtype.kind in "biufO"
        and (truth or any(labeling.spelled(label) is not None for label in given))
    ):
        return labeling.matched(array, given, name), given
    return whole(name, array, "give every row an integer, or give the values as labels with actions="), given


def propensities(name: str, values: Any) -> np.ndarray:
    """Probabilities of every action, (N, A), or of the chosen one, (N,)."""
    array = rounded(name, as_array(name, values))
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
    "step": steps,
    "propensity": propensities,
}
"""What brings each column to its dtype; actions need their labels too."""


def _text_codes(array: np.ndarray, labels: tuple[str, ...] | None, name: str) -> tuple[np.ndarray, tuple[str, ...]]:
    codes, found = codes_of(name, array)
    no_labels = [not isinstance(item, str) or is_empty(item) for item in found]
    _refuse_items(name, array, codes, no_labels, "give every row a label")
    labels = labels or labeling.in_order(found, name)
    positions = labeling.positions_of(found, labels)
    _refuse_items(name, array, codes, [at is None for at in positions], labeling.every_label(labels))
    taken: dict[int, int] = {}
    again = [taken.setdefault(at, code) != code for code, at in enumerate(positions) if at is not None]
    _refuse_items(name, array, codes, again, "another text of the column has the same label, so write both alike")
    return np.array(positions, np.int32)[codes], labels


def _refuse_items(name: str, array: np.ndarray, codes: np.ndarray, bad: list[bool], move: str) -> None:
    """Refuse the first row whose value, by its code, is bad."""
    if any(bad):
        refuse(name, array, np.array(bad)[codes], move)
