"""What a run needs of a row: as records in memory, or as columns that are mapped from files."""

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from understudy.contracts.compiling import MERGED, kernel

RECORD = np.dtype(
    [
        ("reward", np.float64),
        ("row", np.int32),
        ("next_state", np.int32),
        ("next_code", np.int32),  # the next observation, as the learner's tables index it
        ("vector", np.int32),  # which of the distinct propensity vectors
        ("action", np.int32),
        ("terminated", np.int32),
    ]
)
"""All that a run needs of a row, in half a cache line."""


class RecordColumns(NamedTuple):
    """What RECORD holds of each row, as columns: a log that is mapped from files is not stored again in records."""

    reward: np.ndarray  # (N,) float64
    next_state: np.ndarray  # (N,) int32
    next_code: np.ndarray  # (N,) int32; empty where a row's code is its number
    vector: np.ndarray  # (N,) int32; empty where all rows have vector 0
    action: np.ndarray  # (N,) int32
    terminated: np.ndarray  # (N,) bool


class RowFields(NamedTuple):
    """What a step needs of one row."""

    reward: float
    next_state: int
    next_code: int
    terminated: bool


def fields_of(records, row):
    """Return what a step needs of a row, whichever form the records have."""
    if isinstance(records, RecordColumns):
        return fields_of_columns(records, row)
    return fields_of_record(records, row)


def put_record(records, row, queued, position):
    """Write the record of a row into `queued`, whichever form the records have."""
    if isinstance(records, RecordColumns):
        put_columns(records, row, queued, position)
    else:
        queued[position] = records[row]


@kernel
def fields_of_record(records, row):
    """Return what a step needs of a row, from its record."""
    record = records[row]
    return RowFields(record["reward"], record["next_state"], record["next_code"], record["terminated"] != 0)


@kernel
def code_of(records, row):
    """Return the code of a row's next observation, from columns."""
    if len(records.next_code) == 0:
        return np.int32(row)
    return records.next_code[row]


@kernel
def fields_of_columns(records, row):
    """Return what a step needs of a row, from columns."""
    return RowFields(records.reward[row], records.next_state[row], code_of(records, row), records.terminated[row])


@kernel
def put_columns(records, row, queued, position):
    """Write a row of columns into `queued`, as a record."""
    queued[position]["reward"] = records.reward[row]
    queued[position]["row"] = row
    queued[position]["next_state"] = records.next_state[row]
    queued[position]["next_code"] = code_of(records, row)
    queued[position]["vector"] = records.vector[row] if len(records.vector) else np.int32(0)
    queued[position]["action"] = records.action[row]
    queued[position]["terminated"] = records.terminated[row]


@overload(fields_of, jit_options=MERGED)
def _fields_of(records, row):
    of = fields_of_columns if isinstance(records, types.BaseNamedTuple) else fields_of_record
    return lambda records, row: of(records, row)


@overload(put_record, jit_options=MERGED)
def _put_record(records, row, queued, position):
    if isinstance(records, types.BaseNamedTuple):
        return lambda records, row, queued, position: put_columns(records, row, queued, position)

    def put(records, row, queued, position):
        queued[position] = records[row]

    return put
