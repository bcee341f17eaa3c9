"""When each row was decided, and when its outcome was known: time stamps as seconds."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import LogError
from understudy.logs.arrays import as_floats, first_true, no_value
from understudy.logs.arrow_columns import to_numpy, values_to_arrow
from understudy.logs.blocks import found_rows, one_later
from understudy.logs.once import once_for_each_log
from understudy.logs.spellings import DATE, NUMBER, numbers_in, times_in
from understudy.logs.texts import Texts, is_text, plain_array, refuse_nulls

if TYPE_CHECKING:
    from understudy.logs.log import Log

TIMES = ("time", "arrival")
"""The columns of a log that hold times; most logs have none."""


def times(name: str, values: Any) -> np.ndarray:
    """Return a column of times as a user gives it, as float64 seconds; see `seconds`.

    >>> times("time", ["1970-01-01 00:00:10", "1970-01-01 00:01:00"])
    array([10., 60.])
    """
    return seconds(name, values_to_arrow(name, values))


def seconds(title: str, column: Any) -> np.ndarray:
    """Return an Arrow column as float64 seconds: numbers as they are, dates and time stamps since 1970 in UTC.

    Those without a time zone are taken to be UTC. Raise `LogError` for the first row without a value, and for what is
    neither a number nor a date. Only an `arrival` may be infinite: the outcome never became known.
    """
    import pyarrow as pa

    array = plain_array(column)
    if is_text(array.type):
        texts = Texts(title, array)
        if texts.matching(NUMBER).all():
            return texts.spread(numbers_in(texts)).astype(np.float64)
        texts.refuse(~texts.matching(DATE), "give dates with times, such as 2026-01-31 18:30:00, or seconds")
        array = times_in(texts).take(pa.array(texts.codes))
    if pa.types.is_date(array.type) or pa.types.is_timestamp(array.type):
        refuse_nulls(title, array)
        zone = array.type.tz if pa.types.is_timestamp(array.type) else None
        ticks = array.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())
        return ticks.to_numpy(zero_copy_only=False) / 1e6
    if pa.types.is_temporal(array.type):
        raise LogError(f"{title} holds {array.type}, which is not a point in time; give dates with times, or seconds")
    found = as_floats(title, to_numpy(title, array))
    if found.ndim > 1:
        raise LogError(f"{title} has shape {found.shape}; give one time a row")
    if np.isnan(found).any():
        raise no_value(title, first_true(np.isnan(found)))
    return found


def check_times(columns: Mapping[str, np.ndarray], starts: np.ndarray) -> None:
    """Raise `LogError` unless rows are in the order of their times, and no outcome is known before its decision.

    Times must not fall within an episode, nor from the first row of an episode to the first row of the next. Episodes
    may overlap. `starts` has the first row of each episode, then the number of rows.
    """
    if "time" not in columns:
        if "arrival" in columns:
            raise LogError(
                "there is an arrival column, and none of when each row was decided; name it with time=", "time"
            )
        return
    time = columns["time"]
    named = columns.get("source_row", range(len(time)))  # rows as in the file
    if not np.isfinite(time).all():
        row = named[first_true(~np.isfinite(time))]
        raise LogError(f"time is infinite in row {row}; give every row its time", "time")
    row = falling_row(time, starts)
    if row is not None:
        before = _before(row, starts)
        raise LogError(
            f"time in row {named[row]} is {time[before] - time[row]:g} seconds before that of row {named[before]}, "
            "and rows must be in the order of their times; sort them with order_by=, or leave time= out",
            "time",
        )
    early = columns["arrival"] < time if "arrival" in columns else np.zeros(1, bool)
    if early.any():
        row = first_true(early)
        raise LogError(
            f"arrival in row {named[row]} is {time[row] - columns['arrival'][row]:g} seconds before its time, and an "
            "outcome cannot be known before its decision; check which column is which, and their time zones",
            "time",
        )


def falling_row(time: np.ndarray, starts: np.ndarray) -> int | None:
    """Return the first row whose time is before that of the row before it, or of the episode before it; None if none.

    >>> falling_row(np.array([0.0, 9.0, 5.0, 4.0]), np.array([0, 2, 4]))
    3
    """

    def within(rows: slice) -> np.ndarray:
        """Return a mask of rows whose next one is earlier, and of the same episode."""
        falls = time[one_later(rows)] < time[rows]
        first, end = np.searchsorted(starts, [rows.start + 1, rows.stop + 1])
        falls[starts[first:end] - rows.start - 1] = False
        return falls

    inside = found_rows(within, len(time) - 1)
    between = found_rows(lambda part: time[starts[one_later(part)]] < time[starts[part]], len(starts) - 2)
    found = [row + 1 for row in inside.first] + [int(starts[episode + 1]) for episode in between.first]
    return min(found, default=None)


@once_for_each_log
def first_falling_row(log: "Log") -> int | None:
    """Return `falling_row` of a log that has times."""
    return falling_row(log.columns["time"], log.starts)


def _before(row: int, starts: np.ndarray) -> int:
    """Return the row that a row must not be earlier than."""
    firsts = starts[:-1]
    at = int(np.searchsorted(firsts, row))
    return int(firsts[at - 1]) if at < len(firsts) and firsts[at] == row else row - 1
