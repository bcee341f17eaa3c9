"""Next observations that were not logged: taken from the next row of the episode."""

import numpy as np

from understudy.errors import LogError
from understudy.logs.episodes import later_pieces
from understudy.logs.findings import counted


def add_next_observations(
    columns: dict[str, np.ndarray], starts: np.ndarray
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the columns with a `next_observation`, and notes on how it was made.

    A terminated last row gets its own observation, from which nothing is learned. Any other last row is dropped, unless
    that would hide an error: an episode in pieces, or one with an end before its last row. Where the dropped row was
    truncated, the row before it becomes so.
    """
    last = starts[1:] - 1
    terminated = columns["terminated"][last]
    ends = columns["terminated"] | columns["truncated"]
    ended_before_last = ends.sum() > ends[last].sum()
    stays = terminated | ended_before_last | (len(later_pieces(columns["episode"], starts)) > 0)
    dropped = last[~stays]
    following = np.arange(1, starts[-1] + 1)
    following[last] = last
    truncated = columns["truncated"].copy()
    truncated[dropped[truncated[dropped] & (dropped > starts[:-1][~stays])] - 1] = True
    columns = {**columns, "next_observation": columns["observation"][following], "truncated": truncated}
    notes = _notes(n_rows=len(following), n_episodes=len(last), n_terminated=int(terminated.sum()))
    if len(dropped):
        notes.append(
            f"dropped: {counted(len(dropped), 'last row')} had no next observation, did not terminate and "
            f"{'was' if len(dropped) == 1 else 'were'} dropped; row numbers here count the rows that are left"
        )
        kept = np.ones(len(following), bool)
        kept[dropped] = False
        columns = {name: column[kept] for name, column in columns.items()}
    if not len(columns["action"]):
        raise LogError("no row has a next observation; give next_observation=, or more than one row an episode")
    return columns, notes


def _notes(n_rows: int, n_episodes: int, n_terminated: int) -> list[str]:
    clauses = ["next_observation was taken from the next row of the episode"] * (n_episodes < n_rows)
    if n_terminated:
        one = n_terminated == 1
        rows = f"{counted(n_terminated, 'terminated row')} {'has' if one else 'have'} none, and show{'s' * one}"
        clauses.append(f"{rows} {'its' if one else 'their'} own observation")
    return [f"no-next-observation: {'; '.join(clauses)}"] if clauses else []
