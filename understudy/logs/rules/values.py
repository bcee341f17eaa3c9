"""Rules about the values of any column."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from understudy.logs.blocks import any_entry, found_rows, width_of
from understudy.logs.costs import TAKEN_FOR_COST
from understudy.logs.ends_by_value import OTHER_WORDS
from understudy.logs.findings import Finding, finding_in_rows
from understudy.logs.next_observations import ENDS_DOUBTED, ENDS_WARNED

if TYPE_CHECKING:
    from understudy.logs.log import Log


SEVERITY_OF_NOTES = {
    TAKEN_FOR_COST: "warning", OTHER_WORDS: "warning", ENDS_WARNED: "warning", ENDS_DOUBTED: "doubt",
}  # fmt: skip
"""The severity of what was noted when the log was made, where it is more than a note."""


def missing(log: "Log") -> Iterator[Finding]:
    """Find NaN and infinite values."""
    for name in ("reward", "observation", "next_observation", "propensity"):
        column = getattr(log, name)
        if column is None or column.dtype.kind != "f":
            continue
        # What was taken from an observation is in the findings already.
        is_bad = partial(_bad_by_itself if name in log.derived else _bad, log, name)
        rows = found_rows(is_bad, len(log), width_of(column))
        if rows.count:
            advice = "fill them in" if name != "propensity" else "fill them in, or leave propensity out and use qbe"
            drop = "rows" if log.n_episodes == len(log) else "episodes"
            yield finding_in_rows(
                log, "error", "missing", rows, f"{name} is NaN or infinite {{where}}; {advice}, or drop the {drop}"
            )


def _bad(log: "Log", name: str, rows: slice) -> np.ndarray:
    """Return a mask of entries that are NaN or infinite."""
    return ~np.isfinite(getattr(log, name)[rows])


def _bad_by_itself(log: "Log", name: str, rows: slice) -> np.ndarray:
    """Return a mask of rows with such an entry whose observation, and that of the row after it, have none."""
    bad = any_entry(_bad(log, name, rows))
    if bad.any():
        observed = any_entry(_bad(log, "observation", slice(rows.start, rows.stop + 1)))
        bad &= ~observed[: len(bad)]
        bad[: len(observed) - 1] &= ~observed[1:]
    return bad


def notes(log: "Log") -> Iterator[Finding]:
    """Find what was derived or dropped when the log was made."""
    for note in log.notes:
        rule, _, sentence = note.partition(": ")
        yield Finding(SEVERITY_OF_NOTES.get(rule, "note"), rule, (), 1, sentence)
