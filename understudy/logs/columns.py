"""The columns of a log: what each holds, and how given values are brought to its dtype."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from understudy.errors import LogError, SettingError
from understudy.logs import labels as labeling
from understudy.logs.action_kinds import refuse_continuous, refuse_slates
from understudy.logs.arrays import (
    as_array,
    as_floats,
    codes_by_first_appearance,
    common_dtype,
    contains_text,
    content_in_words,
    exact_floats,
    first_true,
    first_word,
    is_missing,
    one_value_per_row,
    refuse_rows,
    short_repr,
)
from understudy.logs.episodes import ranks_by_first_appearance
from understudy.logs.texts import CodedTexts
from understudy.logs.times import times

REQUIRED = ("observation", "action", "reward")
COLUMNS = (*REQUIRED, "next_observation", "terminated", "truncated", "episode", "step", "propensity")
MOST_ROWS = 2**31 - 2  # kernels name a row by an int32
MOST_ACTIONS = 2**20  # a policy is a vector of so many probabilities, made at every step
FLAG_WORDS = labeling.TRUTH | {"no": 0, "No": 0, "NO": 0, "yes": 1, "Yes": 1, "YES": 1, "0": 0, "1": 1}
TRUTH_VALUES = ("false", "true")  # labels of actions that were logged as truth values


def common_length(columns: Mapping[str, Any]) -> int:
    """Return the number of rows. Raise `LogError` where columns differ in length, or one of `REQUIRED` is missing.

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
    """Return observations of one shape: integers as given, truth values as uint8, floats as float32 or float64.

    Different observations stay different: raise `LogError` where these dtypes would make two of them equal.
    """
    array = as_array(name, values)
    if array.size == 0:
        raise LogError(f"{name} has shape {array.shape}; give at least one number a row")
    if word := first_word(array):
        raise LogError(
            f"{name} holds lists of text ({word}); give each of their entries a column, or turn it into numbers first"
        )
    if array.dtype == object or (array.dtype.kind == "f" and array.dtype.itemsize > 8):
        array = exact_floats(name, array)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "b":
        return array.view(np.uint8)
    if kind in "iu" or (kind == "f" and size in (4, 8)):
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    if kind == "f":
        return array.astype(np.float32)
    raise LogError(
        f"{name} holds {content_in_words(array)}, not numbers; turn it into codes (np.unique, return_inverse=True) or "
        "features"
    )


def same_kind(observation: np.ndarray, next_observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both columns in one dtype. Raise `LogError` where they differ in shape."""
    if observation.shape != next_observation.shape:
        raise LogError(
            f"an observation has shape {observation.shape[1:]} and a next_observation {next_observation.shape[1:]}; "
            "give both the same features"
        )
    one, other = common_dtype({"observation": observation, "next_observation": next_observation})
    return one, other


def floats(name: str, values: Any) -> np.ndarray:
    """Return one float64 a row; NaN may be among them."""
    return as_floats(name, one_value_per_row(name, values))


def integers(name: str, values: Any, advice: str = "give every row an integer") -> np.ndarray:
    """Return one int32 a row; floats are accepted where they are whole.

    >>> integers("action", [1.0, 2.0])
    array([1, 2], dtype=int32)
    """
    array = one_value_per_row(name, values)
    if array.dtype.kind not in "biu":
        array = as_floats(name, array)
        refuse_rows(name, array, ~np.isfinite(array), advice)
        refuse_rows(name, array, array != np.floor(array), advice)
    limits, instead = np.iinfo(np.int32), ", or give the values as labels with actions=" * name.startswith("action")
    if array.dtype.kind != "b" and array.dtype.itemsize > 2:
        refuse_rows(name, array, (array < limits.min) | (array > limits.max), "number them from 0 up" + instead)
    return array.astype(np.int32, copy=False)


def steps(name: str, values: Any) -> np.ndarray:
    """Return the number of each step within its episode."""
    array = one_value_per_row(name, values)
    if array.dtype.kind in "mM":
        raise LogError(
            f"{name} holds {content_in_words(array)}, and step counts the steps of an episode; sort the rows by it "
            "with order_by=, and leave step out"
        )
    return integers(name, array)


def flags(name: str, values: Any) -> np.ndarray:
    """Return one truth value a row; 0 and 1, yes and no, and these as text are accepted as well.

    >>> flags("terminated", ["no", "yes"])
    array([False,  True])
    """
    advice = "give true and false, or 1 and 0"
    if isinstance(values, CodedTexts):
        found = np.array([FLAG_WORDS.get(text, 2) for text in values.distinct.to_pylist()])
        values.refuse(name, found == 2, advice)
        return (found == 1)[values.codes]
    array = one_value_per_row(name, values)
    if array.dtype.kind == "b":
        return array
    if contains_text(array):
        words = [FLAG_WORDS.get(item, 2) if isinstance(item, str) else 2 for item in array.tolist()]
        refuse_rows(name, array, np.array(words) == 2, advice)
        array = np.array(words)
    if array.dtype.kind not in "iu":
        array = as_floats(name, array)
    refuse_rows(name, array, (array != 0) & (array != 1), advice)
    return array.astype(bool)


def episode_ids(name: str, values: Any) -> np.ndarray:
    """Return one int64 a row: integers as given, any other ids as codes by first appearance.

    Different ids stay different. Floats so large that they cannot tell neighboring integers apart are refused, since
    ids may have become equal before they came here.

    >>> episode_ids("episode", ["visit b", "visit b", "visit a"])
    array([0, 0, 1])
    """
    array = one_value_per_row(name, values)
    ids = integer_ids(name, array)
    return id_codes(name, array) if ids is None else ids


def integer_ids(name: str, array: np.ndarray | CodedTexts) -> np.ndarray | None:
    """Return ids that are integers as int64; None if some are not, or are too large. Raise `LogError` for NaN."""
    if isinstance(array, CodedTexts):
        return None
    kind = array.dtype.kind
    if kind in "bi" or (kind == "u" and int(array.max()) < 2**63):
        return array.astype(np.int64, copy=False)
    if kind != "f":
        return None
    refuse_rows(name, array, np.isnan(array), NO_EPISODE)
    limit = 2.0 ** (np.finfo(array.dtype).nmant + 1)
    refuse_rows(
        name,
        array,
        np.abs(array) >= limit,
        f"floats of {limit:.0f} and more cannot tell neighboring integers apart, so give integers or text",
    )
    return array.astype(np.int64) if np.all(array == np.floor(array)) else None


def id_codes(name: str, array: np.ndarray | CodedTexts) -> np.ndarray:
    """Return a code for each id, 0, 1, ... by first appearance. Raise `LogError` where an id is missing."""
    if isinstance(array, CodedTexts):
        array.refuse(name, array.missing(), NO_EPISODE)
        return array.codes.astype(np.int64)
    if array.dtype.kind in "mM":
        refuse_rows(name, array, np.isnat(array), NO_EPISODE)
        array = array.astype(np.int64)
    if array.dtype.kind in "iuf":
        return ranks_by_first_appearance(array)
    codes, ids = codes_by_first_appearance(name, array)
    _refuse_items(name, ids, codes, [is_missing(item) for item in ids], NO_EPISODE)
    return codes


NO_EPISODE = "give every row its episode"


def action_codes(
    values: Any, labels: Sequence[str] | None, name: str = "action"
) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Return the code of each row's action, and the labels, if any.

    Labels that are given are in the order of their codes. A text is matched with the label that is equal to it, or
    else with the one that spells the same number; a truth value or number with the one that spells it ("true",
    "True", "1" and "1.0" are all 1). Two texts never share a label. Integers beside labels that are all words are
    codes already. Without labels, text is sorted, as numbers where all of it spells numbers; truth values are the
    codes 0 and 1, labeled "false" and "true"; integers are codes, without labels.

    >>> action_codes(["right", "left"], None)
    (array([1, 0], dtype=int32), ('left', 'right'))
    >>> action_codes([True, False], ["true", "false"])
    (array([0, 1], dtype=int32), ('true', 'false'))
    """
    given = None if labels is None else labeling.checked_labels(labels)
    if isinstance(values, CodedTexts):
        return _text_codes(values.codes, values.distinct.to_pylist(), given, name)
    refuse_slates(name, values)
    array = one_value_per_row(name, values)
    if contains_text(array):
        return _text_codes(*codes_by_first_appearance(name, array), given, name)
    truth = array.dtype.kind == "b"
    if given is None and truth:
        return array.astype(np.int32), TRUTH_VALUES
    if (
        given is not None
        and array.dtype.kind in "biufO"
        and (truth or any(labeling.spelled_value(label) is not None for label in given))
    ):
        return labeling.codes_by_label(array, given, name), given
    refuse_continuous(name, array)
    return integers(name, array, "give every row an integer, or give the values as labels with actions="), given


def propensities(name: str, values: Any) -> np.ndarray:
    """Return the probabilities of all actions, (N, A), or of the chosen one, (N,)."""
    return propensity_array(name, as_floats(name, as_array(name, values)))


def propensity_array(name: str, array: np.ndarray) -> np.ndarray:
    """Return the array. Raise `LogError` unless its shape is (N, A) or (N,)."""
    if array.ndim > 2 or array.size == 0:
        raise LogError(f"{name} has shape {array.shape}; give (rows, actions), or (rows,) for the chosen action's")
    return array


def count_actions(
    codes: np.ndarray, labels: tuple[str, ...] | None, n_actions: int | None, propensity: np.ndarray | None
) -> int:
    """Return the number of actions, which `propensity`, `n_actions` and `labels` must agree on where they are given.

    >>> count_actions(np.array([0, 2]), None, None, None), count_actions(np.array([0, 2]), None, 7, None)
    (3, 7)
    """
    given = n_actions is not None
    if given and (isinstance(n_actions, bool) or not isinstance(n_actions, int | np.integer) or n_actions < 1):
        raise SettingError(f"n_actions={n_actions!r} must be a positive integer")
    sources = {
        "propensity has a column for": propensity.shape[1] if propensity is not None and propensity.ndim == 2 else None,
        "n_actions says": n_actions,
        "there are labels for": len(labels) if labels is not None else None,
    }
    known = {source: number for source, number in sources.items() if number is not None}
    if len(set(known.values())) > 1:
        numbers = ", ".join(f"{source} {number}" for source, number in known.items())
        raise LogError(f"the number of actions is unclear: {numbers}; make them agree (actions= takes all labels)")
    number = int(next(iter(known.values()), max(int(codes.max()) + 1, 1)))
    if number > MOST_ACTIONS:
        raise LogError(
            f"there would be {short_repr(number)} actions, and {MOST_ACTIONS:,} is the most; number them from 0 up "
            "without gaps, or give the values as labels with actions="
        )
    return number


CLEAN: dict[str, Callable[[str, Any], np.ndarray]] = {
    "observation": observations,
    "reward": floats,
    "next_observation": observations,
    "terminated": flags,
    "truncated": flags,
    "episode": episode_ids,
    "step": steps,
    "propensity": propensities,
    "time": times,
    "arrival": times,
}
"""The function that brings each column to its dtype; for actions see `action_codes`, which needs the labels too."""


def _text_codes(
    codes: np.ndarray, found: list[Any], labels: tuple[str, ...] | None, name: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the position of each row's text among the labels, and the labels; `found` has the text of each code."""
    no_labels = [not isinstance(item, str) or is_missing(item) for item in found]
    _refuse_items(name, found, codes, no_labels, "give every row a label")
    labels = labels or labeling.sorted_labels(found, name)
    positions = labeling.positions_of(found, labels)
    _refuse_items(name, found, codes, [at is None for at in positions], labeling.advice_on_labels(labels))
    taken: dict[int, int] = {}
    again = [taken.setdefault(at, code) != code for code, at in enumerate(positions) if at is not None]
    _refuse_items(name, found, codes, again, "another text of the column has the same label, so write both alike")
    return np.array(positions, np.int32)[codes], labels


def _refuse_items(name: str, found: list[Any], codes: np.ndarray, bad: list[bool], advice: str) -> None:
    """Raise `LogError` for the first row whose value is bad; `found` and `bad` have an entry for each code."""
    if any(bad):
        row = first_true(np.array(bad)[codes])
        raise LogError(f"{name} is {short_repr(found[codes[row]])} in row {row}; {advice}")
