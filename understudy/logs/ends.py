"""How episodes ended: as columns tell it, or as the user says for all of them with `ends=`."""

from collections.abc import Mapping, Sequence

import numpy as np

from understudy.errors import LogError, SettingError
from understudy.logs.arrays import first_true
from understudy.logs.episodes import later_pieces, starts_of
from understudy.mapped import blocks, new_array, new_zeros

EVERY_ROW = "every-row"
ENDS = ("terminated", "truncated", "unfinished", EVERY_ROW)
"""The values of `ends`, for logs in which no column tells: each episode's last row ended it; a limit cut it off there;
only the recording stopped; each row is an episode of one step, which ends it. Where a column tells of some episodes,
the second and the third are about the others."""

RECORDING_ENDED = "recording-ended"
SAID = f"{RECORDING_ENDED}: of episodes without an end only the recording stopped, as ends= says"

_CHOICES = (
    'ends="terminated" where the last row of an episode ended it (sold, won, lost, left), ends="truncated" where a '
    'time limit cut it off there, ends="unfinished" where only the recording stopped'
)


def add_ends(
    given: Mapping[str, np.ndarray], ends: str | None
) -> tuple[dict[str, np.ndarray], list[str], tuple[str, ...]]:
    """Return the columns with `terminated`, `truncated` and `episode`, added where they are missing.

    With them come notes on how they were made, and `("terminated",)` where neither a column nor `ends` tells anything
    about episodes.
    """
    columns, n_rows = dict(given), len(given["action"])
    flags = [name for name in ("terminated", "truncated") if name in columns]
    if ends is not None:
        _check_ends(ends, flags, columns)
    elif "episode" in columns and not flags:
        raise _ends_unknown(columns["episode"])
    for name in ("terminated", "truncated"):
        if name not in columns:
            columns[name] = new_zeros(n_rows, bool)
    if ends == EVERY_ROW and "episode" not in columns:
        columns["episode"] = new_array(n_rows, np.int64)
        for rows in blocks(n_rows):
            columns["episode"][rows] = np.arange(rows.start, rows.stop)
    if ends in ("terminated", EVERY_ROW):
        columns["terminated"][last_rows(columns["episode"])] = True
    elif ends == "truncated":  # episodes whose last row is said to have terminated were not cut off
        last, columns["truncated"] = last_rows(columns["episode"]), columns["truncated"].copy()
        columns["truncated"][last] |= ~columns["terminated"][last]
    said = [SAID] if flags and ends == "unfinished" else []
    if "episode" in columns:
        return columns, said, ()
    columns["episode"], n_over = new_array(n_rows, np.int64), 0
    for rows in blocks(n_rows):
        over = columns["terminated"][rows] | columns["truncated"][rows]
        columns["episode"][rows] = np.cumsum(over) - over + n_over
        n_over += int(over.sum())
    if not flags:
        return columns, [], () if ends else ("terminated",)
    if n_over == n_rows:  # episodes of one row cannot overlap
        return columns, said, ()
    note = (
        "no-episode: there is no episode column; it was derived from how episodes ended, which assumes that "
        "episodes do not overlap in the file; say episode= if they do"
    )
    return columns, [*said, note], ()


def _check_ends(ends: str, flags: Sequence[str], columns: Mapping[str, np.ndarray]) -> None:
    """Raise `SettingError` where `ends` is unknown or contradicts the columns."""
    episode = columns.get("episode")
    if ends not in ENDS:
        raise SettingError(f"ends={ends!r} is unknown; give one of {', '.join(ENDS)}")
    if flags and ends not in ("truncated", "unfinished"):  # which are about episodes of whose end these say nothing
        raise SettingError(
            f"ends= says how every episode ended, and the column {flags[0]} says so row by row; leave ends= out, or "
            "rename the column"
        )
    if episode is None and ends in ("terminated", "truncated"):
        raise SettingError(
            f'ends="{ends}" is about the last row of each episode, and no column tells episodes apart; name it with '
            'episode=, or say ends="every-row" if each row is a decision by itself'
        )
    if episode is not None and ends == EVERY_ROW:
        _, rows, times = np.unique(episode, return_index=True, return_counts=True)
        if (times > 1).any():
            long = first_true(times > 1)
            first = columns.get("source_row", range(len(episode)))[rows[long]]
            raise SettingError(
                f'the episode that begins in row {first} has {times[long]:,} rows, and with ends="every-row" each '
                f"row is an episode by itself; say {_CHOICES}"
            )


def _ends_unknown(episode: np.ndarray) -> LogError:
    """Return the error for episodes about whose ends nothing is known."""
    columns = "or name the column that tells with terminated= or truncated="
    if len(np.unique(episode)) == len(episode):
        return LogError(
            "every episode has one row, and no column tells how it ended; if each row is a decision by itself, after "
            f'which nothing follows, say ends="every-row"; {columns}'
        )
    return LogError(f"there is an episode column, and none that tells how episodes ended; say {_CHOICES}; {columns}")


def last_rows(episode: np.ndarray) -> np.ndarray:
    """Return the last row of each episode; if it is in pieces, that of the last piece."""
    starts = starts_of(episode)
    if not len(later_pieces(episode, starts)):
        return starts[1:] - 1
    _, from_behind = np.unique(episode[::-1], return_index=True)
    return len(episode) - 1 - from_behind
