"""Rules about the values of any column, and the helper that finds rows by their values."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from understudy.logs.findings import Finding, finding_in_rows

if TYPE_CHECKING:
    from understudy.logs.log import Log

BLOCK = 1 << 22  # entries tested together, so that a log of images needs no second copy


def missing(log: "Log") -> Iterator[Finding]:
    """Find NaN and infinite values."""
    seen: dict[str, np.ndarray] = {}
    for name in ("reward", "observation", "next_observation", "propensity"):
        column = getattr(log, name)
        if column is None or column.dtype.kind != "f":
            continue
        rows = seen[name] = rows_where(lambda block: ~np.isfinite(block), column)
        if name in log.derived:  # it was taken from an observation that is in the findings already
            rows = rows[~np.isin(rows, seen["observation"]) & ~np.isin(rows + 1, seen["observation"])]
        if len(rows):
            advice = "fill them in" if name != "propensity" else "fill them in, or leave propensity out and use qbe"
            yield finding_in_rows(
                "error", "missing", rows, f"{name} is NaN or infinite {{where}}; {advice}, or drop the episodes"
            )


def notes(log: "Log") -> Iterator[Finding]:
    """Find what was derived or dropped when the log was made."""
    for note in log.notes:
        rule, _, sentence = note.partition(": ")
        yield Finding("note", rule, (), 1, sentence)


def rows_where(test: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
    """Return the rows in which the test is True for some entry; it is called with blocks of the arrays."""
    n = len(arrays[0])
    height = max(1, BLOCK // max(1, arrays[0][:1].size))
    found_rows = []
    for at in range(0, n, height):
        mask = test(*(array[at : at + height] for array in arrays))
        if mask.any():
            found_rows.append(at + np.flatnonzero(mask.reshape(len(mask), -1).any(axis=1)))
    return np.concatenate(found_rows) if found_rows else np.empty(0, np.int64)
