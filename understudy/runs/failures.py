"""Runs that raised: which, why and where, kept as text."""

import traceback as python_traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from understudy.errors import SettingError, visible
from understudy.storage import LONGEST

MOST_NAMED = 3
"""Failed runs that a sentence names."""


@dataclass(frozen=True)
class FailedRun:
    """A run that raised, or whose process died: its number, its seed and the reason, in one line.

    `traceback` is the text that Python would have printed; empty where a process died. With `experiment(errors="keep")`
    they are in `Runs.failed`.
    """

    number: int
    seed: int
    reason: str
    traceback: str = field(default="", repr=False)

    @classmethod
    def of(cls, number: int, seed: int, error: Exception) -> "FailedRun":
        """Return the failed run of an error that was raised in it.

        >>> print(FailedRun.of(3, 77, ZeroDivisionError("float division")))
        run 3 (seed 77): ZeroDivisionError: float division
        """
        notes = [note for note in vars(error).get("__notes__", ()) if not note.startswith("in run ")]
        message = " ".join(str(error).split())[:LONGEST]
        reason = type(error).__name__ + f": {message}" * bool(message) + f" ({', '.join(notes)})" * bool(notes)
        text = "".join(python_traceback.format_exception(error))
        return cls(int(number), int(seed), visible(reason), text)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON can hold them."""
        return asdict(self)

    def __str__(self) -> str:
        return f"run {self.number} (seed {self.seed}): {self.reason}"


def failures_sentence(failed: Sequence[FailedRun], n_runs: int) -> str:
    """Return how many of `n_runs` runs failed, and the first of them with their reasons.

    >>> failures_sentence([FailedRun(3, 77, "ZeroDivisionError: float division")], 10)
    '1 of 10 runs failed: run 3 (seed 77): ZeroDivisionError: float division'
    """
    listed = "; ".join(map(str, failed[:MOST_NAMED])) + f"; and {len(failed) - MOST_NAMED:,} more" * (
        len(failed) > MOST_NAMED
    )
    return f"{len(failed):,} of {n_runs:,} run{'s' * (n_runs != 1)} failed: {listed}"


def check_same_failed(one: Sequence[FailedRun], other: Sequence[FailedRun]) -> None:
    """Raise `SettingError` where different runs failed in two sets: run i of one is not of the seed of run i of the
    other then, and they cannot be paired.
    """
    differing = sorted({failed.number for failed in one} ^ {failed.number for failed in other})
    if differing:
        raise SettingError(
            f"these runs cannot be paired: run {differing[0]} failed in one set and not in the other; make the failed "
            "runs again, with the same out="
        )
