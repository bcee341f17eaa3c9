"""Actions that a log cannot hold: slates, which are several at once, and numbers on a line."""

from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.logs.arrays import first_true, short_repr

MANY = 20
"""From so many different numbers on, actions that are not integers are taken to be continuous."""

SLATES = (
    "and a row of a log takes one action; where positions on a page are judged by themselves, write a row for each "
    "position, with the position as a part of the observation; where few combinations occur, give each a label"
)
CONTINUOUS = (
    "and the actions of a log are few; bin them (np.digitize), and log the number of the bin with the probability of "
    "the whole bin"
)


def refuse_slates(name: str, values: Any) -> None:
    """Raise `LogError` for actions of which each is a list, a set, or several numbers or texts.

    >>> refuse_slates("action", [["shoes", "hats"], ["hats", "belts"]])
    Traceback (most recent call last):
    ...
    understudy.errors.LogError: action is ['shoes', 'hats'] in row 0, which is several at once (a slate), and a row of a log takes one action; where positions on a page are judged by themselves, write a row for each position, with the position as a part of the observation; where few combinations occur, give each a label
    """  # noqa: E501
    if not isinstance(values, list | tuple | np.ndarray) or np.ndim(values[:1]) == 0 or not len(values):
        return
    first = values[0].tolist() if isinstance(values[0], np.ndarray) else values[0]
    if isinstance(first, set | frozenset) or (isinstance(first, list | tuple) and len(first) > 1):
        raise LogError(f"{name} is {short_repr(first)} in row 0, which is several at once (a slate), {SLATES}")


def refuse_slate_column(name: str, column: Any) -> None:
    """Raise `LogError` for an Arrow column whose values are lists of several actions."""
    import pyarrow.compute as pc

    row = 0
    for chunk in column.iterchunks() if str(column.type).startswith(("list", "large_list", "fixed_size_list")) else ():
        several = pc.fill_null(pc.greater(pc.list_value_length(chunk), 1), False).to_numpy(zero_copy_only=False)
        if several.any():
            at = first_true(several)
            shown = short_repr(chunk[at].as_py())
            raise LogError(f"{name} is {shown} in row {row + at}, which is several at once (a slate), {SLATES}")
        row += len(chunk)


def refuse_continuous(name: str, array: np.ndarray) -> None:
    """Raise `LogError` for actions that are vectors, or numbers on a line: not whole, and many different ones.

    >>> refuse_continuous("action", np.array([0.0, 3.0]))
    """
    if array.dtype.kind != "f":
        refuse_slates(name, array)
        return
    by_row = array.reshape(len(array), -1)
    with np.errstate(invalid="ignore"):
        broken = np.isfinite(by_row).all(axis=1) & (by_row != np.floor(by_row)).any(axis=1)
    if by_row.shape[1] > 1 or (broken.any() and len(np.unique(by_row)) >= MANY):
        row = first_true(broken)
        shown = short_repr(array[row].tolist())
        raise LogError(f"{name} is {shown} in row {row}, which is a number on a line (continuous), {CONTINUOUS}")
