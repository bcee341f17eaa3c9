"""Columns that lack values, named together: who mends one of them at a time reads the file once for each."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from understudy.logs.arrays import NoValueError
from understudy.logs.blocks import SHOWN
from understudy.logs.findings import counted
from understudy.logs.selection import Selection
from understudy.logs.texts import is_text, plain_array

NEEDED = ("observation", "action", "episode", "step", "time")
"""Columns of a log that have a value in every row. A reward without one is a finding of `check`."""

MOST = 12
"""Columns that are named."""


def all_missing(table: Any, selections: Mapping[str, Selection], first: NoValueError) -> NoValueError:
    """Return the error for all columns of a table that lack values, given that for the first of them."""
    found = {}
    for selection in selections.values():
        for name in selection.names if selection.role in NEEDED else ():
            rows = np.flatnonzero(_empty(table.column(name)))
            if len(rows):
                found[selection.title(name)] = rows
    if sum(map(len, found.values())) < 2:
        return first
    places = [f"{title} in {_in_words(rows)}" for title, rows in found.items()]
    where = ", ".join(places[:MOST]) + f", and {counted(len(places) - MOST, 'more column')}" * (len(places) > MOST)
    return NoValueError(f"values are missing: {where} (rows are counted from 0); fill them in, or drop the rows")


def _in_words(rows: np.ndarray) -> str:
    if len(rows) == 1:
        return f"row {rows[0]}"
    some = ", ".join(map(str, rows[:SHOWN]))
    return f"{counted(len(rows), 'row')} ({some}{', ...' if len(rows) > SHOWN else ''})"


def _empty(column: Any) -> np.ndarray:
    """Return a mask of the rows whose value is null, NaN, or a text of nothing but spaces."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = plain_array(column)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    empty = array.is_null(nan_is_null=True)
    if is_text(array.type):
        with suppress(pa.ArrowInvalid):  # text that is not UTF-8, which is refused once no value is missing
            empty = pc.or_(empty, pc.fill_null(pc.equal(pc.utf8_trim_whitespace(array), ""), True))
    return empty.to_numpy(zero_copy_only=False)
