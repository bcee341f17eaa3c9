"""Observations and actions as messages show them: by the columns, values and labels of the log."""

from itertools import islice
from math import prod
from typing import Any

import numpy as np

from understudy.digits import digits
from understudy.logs.spec import Spec

MOST_SHOWN = 6
"""The most entries of an observation that are shown."""

LONGEST = 40
"""The most characters of a column's name or a label that are shown."""


def observation_words(spec: Spec, observation: Any) -> str:
    """Return an observation as its columns and values, with few digits, and only the first entries of many.

    >>> spec = Spec(2, None, (2,), np.dtype(float), None, features=("x", "speed"))
    >>> observation_words(spec, np.array([0.123456, -4.0]))
    'x=0.1235, speed=-4'
    >>> from understudy.logs.coding import Coding, ColumnCoding
    >>> coding = Coding((ColumnCoding("country", "category", ("DE", "FR")), ColumnCoding("age", "integer")))
    >>> observation_words(Spec(2, None, (2,), np.dtype(int), None, coding=coding), np.array([1, 31]))
    'country=FR, age=31'
    """
    values = np.asarray(observation)
    if spec.coding is not None:
        words = spec.coding.words(values)
        shown = [f"{_short(name)}={_short(word)}" for name, word in islice(words.items(), MOST_SHOWN)]
        return ", ".join(shown) + (f", ... ({len(words):,} columns)" if len(words) > MOST_SHOWN else "")
    shown = [
        f"{_short(name)}={_value(value)}"
        for name, value in zip(_names(spec, values.shape), values.flat[:MOST_SHOWN].tolist(), strict=True)
    ]
    return ", ".join(shown) + (f", ... ({values.size:,} numbers)" if values.size > MOST_SHOWN else "")


def action_label(spec: Spec, action: int) -> str | None:
    """Return an action's label; None if the log has no labels, or none for this action.

    >>> action_label(Spec(2, ("wait", "buy"), (), np.dtype(int), 3), 1)
    'buy'
    """
    known = spec.actions is not None and 0 <= action < len(spec.actions)
    return _short(spec.actions[action]) if known and spec.actions is not None else None


def action_words(spec: Spec, action: int) -> str:
    """Return an action as its column and label, or its number where there are no labels.

    >>> action_words(Spec(2, ("wait", "buy"), (), np.dtype(int), 3, action_column="arm"), 1)
    'arm=buy'
    >>> action_words(Spec(2, None, (), np.dtype(int), 3), 1)
    'action=1'
    """
    label = action_label(spec, action)
    return f"{action_column(spec)}={int(action) if label is None else label}"


def action_column(spec: Spec) -> str:
    """Return the name of the column of actions, shortened where it is long."""
    return _short(spec.action_column or "action")


def like_words(example: str, others: int | None = None) -> str:
    """Return a state that stands for several observations: one of them, and how many others, where that is known.

    >>> like_words("page=3, age=31", 14), like_words("page=3, age=31")
    ('page=3, age=31 (and 14 like it)', 'page=3, age=31 (and others like it)')
    """
    return f"{example} (and {'others' if others is None else f'{others:,}'} like it)"


def feature_name(spec: Spec, entry: int) -> str:
    """Return the name of one entry of an observation, numbered as in a flat array.

    >>> feature_name(Spec(2, None, (2,), np.dtype(float), None, features=("x", "speed")), 1)
    'speed'
    """
    given, shape = spec.features or ("observation",), spec.observation_shape
    if len(given) == prod(shape):
        return _short(given[entry])
    name = given[0] if len(given) == 1 else "observation"
    return _short("_".join([name, *map(str, np.unravel_index(entry, shape))]))


def is_category(spec: Spec, entry: int) -> bool:
    """True if an entry of an observation is the code of a category, of which a mean says little.

    >>> is_category(Spec(2, None, (2,), np.dtype(float), None), 1)
    False
    """
    coded = spec.coding if spec.coding is not None and spec.coding.form == "codes" else None
    return coded is not None and coded.columns[entry].kind == "category"


def is_date(spec: Spec, entry: int) -> bool:
    """True if an entry of an observation is a date, which rises over most logs because time goes by."""
    if spec.coding is None:
        return False
    return spec.coding.features[entry] in [column.name for column in spec.coding.columns if column.kind == "date"]


def value_words(spec: Spec, entry: int, value: float) -> str:
    """Return one entry of an observation as its value: the label of a category, a date, or a number with few digits.

    >>> value_words(Spec(2, None, (2,), np.dtype(float), None), 1, 0.123456)
    '0.1235'
    """
    coded = spec.coding if spec.coding is not None and spec.coding.form == "codes" else None
    return digits(value + 0.0, 4, commas=False) if coded is None else _short(coded.columns[entry].word(value))


def _names(spec: Spec, shape: tuple[int, ...]) -> list[str]:
    """Return names for an observation's first entries: of their columns, or numbered where a column holds several."""
    given = spec.features or ("observation",)
    if len(given) == prod(shape):
        return list(given[:MOST_SHOWN])
    name = given[0] if len(given) == 1 else "observation"
    return ["_".join([name, *map(str, index)]) for index in islice(np.ndindex(*shape), MOST_SHOWN)]


def _value(value: Any) -> str:
    return digits(value + 0.0, 4, commas=False) if isinstance(value, float) else str(value)  # -0.0 is 0


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}...{text[-LONGEST // 2 :]}"  # many begin alike
