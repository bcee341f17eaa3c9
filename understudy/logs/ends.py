"""How episodes ended: by the columns that tell it, or by what the user says of all of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.logs.arrays import first

EVERY_ROW = "every-row"
ENDS = ("terminated", "truncated", "unfinished", EVERY_ROW)
"""What `ends` may be, for logs in which no column tells: each episode's last row ended it; a limit cut it off there;
only the recording stopped; each row is an episode by itself, which it ends."""

_CHOICES = (
    'ends="terminated" where the last row of an episode ended it (sold, won, lost, left), ends="truncated" where a '
    'time limit cut it off there, ends="unfinished" where only the recording stopped'
)


def complete(made: dict[str, Any], n_rows: int, ends: str | None) -> tuple[list[str], tuple[str, ...]]:
    """Add `terminated`, `truncated` and `episode` where they are missing; what to note, and what nobody told."""
    told = [name for name in ("terminated", "truncated") if name in made]
    if ends is not None:
        _check(ends, told, made.get("episode"))
    elif "episode" in made and not told:
        raise _unclear(made["episode"])
    for name in ("terminated", "truncated"):
        made.setdefault(name, np.zeros(n_rows, bool))
    if ends == EVERY_ROW:
        made.setdefault("episode", np.arange(n_rows))
    if ends in ("terminated", "truncated", EVERY_ROW):
        made["truncated" if ends == "truncated" else "terminated"][_last_rows(made["episode"])] = True
    if "episode" in made:
        return [], ()
    over = made["terminated"] | made["truncated"]
    made["episode"] = np.cumsum(over) - over
    if not told:
        return [], (() if ends else ("terminated",))
    if over.all():  # episodes of one row cannot overlap
        return [], ()
    return [
        "no-episode: there is no episode column; it was derived from how episodes ended, which assumes that "
        "episodes do not overlap in the file; say episode= if they do"
    ], ()


def _check(ends: str, told: Sequence[str], episode: np.ndarray | None) -> None:
    if ends not in ENDS:
        raise LogError(f"ends={ends!r} is none of {', '.join(ENDS)}")
    if told:
        raise LogError(
            f"ends= says how every episode ended, and the column {told[0]} says so row by row; leave ends= out, or "
            "rename the column"
        )
    if episode is None and ends in ("terminated", "truncated"):
        raise LogError(
            f'ends="{ends}" speaks of the last row of each episode, and no column tells episodes apart; name it with '
            'episode=, or say ends="every-row" if each row is a decision by itself'
        )
    if episode is not None and ends == EVERY_ROW:
        _, rows, times = np.unique(episode, return_index=True, return_counts=True)
        if (times > 1).any():
            long = first(times > 1)
            raise LogError(
                f'the episode that begins in row {rows[long]} has {times[long]:,} rows, and with ends="every-row" each '
                f"row is an episode by itself; say {_CHOICES}"
            )


def _unclear(episode: np.ndarray) -> LogError:
    columns = "or name the column that tells with terminated= or truncated="
    if len(np.unique(episode)) == len(episode):
        return LogError(
            "every episode has one row, and no column tells how it ended; if each row is a decision by itself, after "
            f'which nothing follows, say ends="every-row"; {columns}'
        )
    return LogError(f"there is an episode column, and none that tells how episodes ended; say {_CHOICES}; {columns}")


def _last_rows(episode: np.ndarray) -> np.ndarray:
    """The last row of each episode, of those in pieces the last one of all."""
    _, from_behind = np.unique(episode[::-1], return_index=True)
    return len(episode) - 1 - from_behind
