"""Next observations that were not logged: taken from the next row of the episode."""

import numpy as np

from understudy.digits import digits
from understudy.errors import LogError
from understudy.logs.episodes import later_pieces
from understudy.logs.findings import counted
from understudy.mapped import blocks, is_mapped, new_array

ENDS_DOUBTED, ENDS_WARNED = "ends-too-frequent", "ends-more-frequent"
FEW_LOST, MANY_LOST = 0.002, 0.02
"""Of the rows that did not end their episode, shares that were dropped: worth a warning, and not to be believed."""

BLOCK = 2**16  # rows that are moved at a time
MOST_KEPT = 0.9
"""Where no more than this share of the rows is kept, the memory of the others is given back."""


def add_next_observations(
    columns: dict[str, np.ndarray], starts: np.ndarray, owned: bool = False
) -> tuple[dict[str, np.ndarray], list[str], np.ndarray | None]:
    """Return the columns with a `next_observation`, notes on how it was made, and the rewards of dropped rows.

    A terminated last row gets its own observation, from which nothing is learned. Any other last row is dropped, unless
    that would hide an error: an episode in pieces, or one with an end before its last row. Where the dropped row was
    truncated, the row before it becomes so. Where a time limit truncated them, the rows at the limit that terminated
    are dropped as well: keeping these alone would make ends more frequent than they are. Rows are dropped in place from
    columns that are `owned`: nobody else uses them. The rewards of dropped rows are one for each episode that is left,
    NaN where none was dropped; None for none.
    """
    last = starts[1:] - 1
    terminated = columns["terminated"][last]
    n_ends = sum(int((columns["terminated"][rows] | columns["truncated"][rows]).sum())
                 for rows in blocks(len(columns["terminated"])))  # fmt: skip
    ended_before_last = n_ends > (terminated | columns["truncated"][last]).sum()
    stays = terminated | ended_before_last | (len(later_pieces(columns["episode"], starts)) > 0)
    cut_off = columns["truncated"][last] & ~stays
    limit = _limit_of(np.diff(starts), cut_off) if cut_off.any() else None
    if limit is not None:
        stays &= np.diff(starts) < limit
    dropped = last[~stays]
    observation = columns["observation"]
    following = new_array(observation.shape, observation.dtype)
    truncated = new_array(len(observation), bool)
    for rows in blocks(len(observation)):
        shifted = observation[rows.start + 1 : rows.stop + 1]
        following[rows.start : rows.start + len(shifted)] = shifted
        truncated[rows] = columns["truncated"][rows]
    for some in blocks(len(last)):
        following[last[some]] = observation[last[some]]
    cut = truncated[dropped] | columns["terminated"][dropped]
    truncated[dropped[cut & (dropped > starts[:-1][~stays])] - 1] = True
    columns = {**columns, "next_observation": following, "truncated": truncated}
    notes = _notes(n_rows=len(following), n_episodes=len(last), n_terminated=int((terminated & stays).sum()))
    rewards = None
    if len(dropped):
        rewards = np.full(len(last), np.nan)
        rewards[~stays] = columns["reward"][dropped]
        rewards = rewards[stays | (np.diff(starts) > 1)]  # an episode of one row is gone
        notes += _note_on_ends(columns, dropped, stays, np.diff(starts), limit)
        n_gone = int((~stays & (np.diff(starts) == 1)).sum())
        notes.append(_note_on_dropped(columns, dropped, limit, n_gone))
        if "source_row" not in columns:
            columns["source_row"] = _numbers(len(following))
        kept = np.ones(len(following), bool)
        kept[dropped] = False
        columns = {name: _rows(column, kept, owned) for name, column in columns.items()}
    if not len(columns["action"]):
        raise LogError("no row has a next observation; give next_observation=, or more than one row an episode")
    return columns, notes, rewards


def _note_on_ends(
    columns: dict[str, np.ndarray], dropped: np.ndarray, stays: np.ndarray, lengths: np.ndarray, limit: int | None
) -> list[str]:
    """Return a note where rows that did not end their episode were dropped, and those that did were not.

    Ends are then more frequent in what is left than they were. In the last step that a limit lets be, rows of both
    kinds are dropped. One episode that was cut off is the end of a recording.
    """
    lost = lengths[~stays][~columns["terminated"][dropped] & (lengths[~stays] != limit)]
    n_lost = len(lost)
    n_ended = sum(int(columns["terminated"][rows].sum()) for rows in blocks(len(columns["terminated"])))
    share = n_lost / max(1, len(columns["terminated"]) - n_ended)
    if n_lost < 2 or not n_ended or share < FEW_LOST:
        return []
    rule = ENDS_DOUBTED if share >= MANY_LOST else ENDS_WARNED
    as_by_a_limit = bool((lost == lengths.max()).all())
    where = f"after {counted(int(lost[0]), 'step')}, as long as any" if as_by_a_limit else "at various lengths"
    said = 'if a time limit ended them, say ends="truncated"; else ' if as_by_a_limit else ""
    return [
        f"{rule}: {n_lost:,} of {len(stays):,} episodes were cut off {where}, and their last rows were "
        f"dropped, since what followed is not known: {share:.1%} of the rows that did not end their episode, and none "
        f"of those that did; so simulated episodes end too early: {said}log next_observation, what was seen after the "
        "last step, or record episodes up to their ends"
    ]


def _note_on_dropped(columns: dict[str, np.ndarray], dropped: np.ndarray, limit: int | None, n_gone: int) -> str:
    """Return which last rows were dropped, why, and what became of their rewards."""
    n_ended = int(columns["terminated"][dropped].sum())
    n_cut, lost = len(dropped) - n_ended, float(columns["reward"][dropped].sum())
    one = n_cut == 1
    clauses = [
        f"{counted(n_cut, 'last row')} did not terminate and {'has' if one else 'have'} no next observation, so "
        f"{'it was' if one else 'they were'} dropped"
    ]
    if n_ended:
        clauses.append(
            f"so {'was' if n_ended == 1 else 'were'} {n_ended:,} that terminated in step {limit:,}, the limit, as "
            "otherwise only ends would be left of that step"
        )
    if n_gone:
        gone = "1 episode of a single row is gone" if n_gone == 1 else f"{n_gone:,} episodes of a single row are gone"
        clauses.append(gone)
    if lost and np.isfinite(lost):
        whose = "its reward" if len(dropped) == 1 else "their rewards"
        in_all = "" if len(dropped) == 1 else " in all"
        clauses.append(f"{whose}, {digits(lost, 6)}{in_all}, count{'s' * (len(dropped) == 1)} in what the log earned")
    return f"dropped: {'; '.join(clauses)}; log next_observation, what was seen after the last step, to keep such rows"


def _numbers(n: int) -> np.ndarray:
    """Return 0 to n - 1."""
    numbers = new_array(n, np.int32)
    for rows in blocks(n):
        numbers[rows] = np.arange(rows.start, rows.stop)
    return numbers


def _limit_of(lengths: np.ndarray, truncated: np.ndarray) -> int | None:
    """Return the length of truncated episodes if they have one, above 1, and none is longer; else None."""
    longest = int(lengths.max())
    return longest if longest > 1 and bool((lengths[truncated] == longest).all()) else None


def _rows(column: np.ndarray, kept: np.ndarray, owned: bool) -> np.ndarray:
    """Return the rows that are kept: moved up within the column, if it is owned, so that it is in memory once."""
    if not owned or not column.flags.writeable:
        return column[kept]
    n_kept = 0
    for first in range(0, len(column), BLOCK):
        rows = column[first : first + BLOCK][kept[first : first + BLOCK]]
        column[n_kept : n_kept + len(rows)] = rows
        n_kept += len(rows)
    return column[:n_kept] if n_kept > MOST_KEPT * len(column) or is_mapped(column) else column[:n_kept].copy()


def _notes(n_rows: int, n_episodes: int, n_terminated: int) -> list[str]:
    clauses = ["next_observation was taken from the next row of the episode"] * (n_episodes < n_rows)
    if n_terminated:
        one = n_terminated == 1
        rows = f"{counted(n_terminated, 'terminated row')} {'has' if one else 'have'} none, and show{'s' * one}"
        clauses.append(f"{rows} {'its' if one else 'their'} own observation")
    return [f"no-next-observation: {'; '.join(clauses)}"] if clauses else []
