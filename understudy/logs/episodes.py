"""Episodes as runs of rows with one episode id: where each begins, and whether all of its rows are together."""

import numpy as np

from understudy.mapped import blocks, new_array


def starts_of(episode: np.ndarray) -> np.ndarray:
    """Return the first row of each run of equal ids, then the number of rows.

    >>> starts_of(np.array([7, 7, 8, 7]))
    array([0, 2, 3, 4])
    """
    found = [np.zeros(1, np.int64)]
    for rows in blocks(len(episode) - 1):
        later = episode[rows.start + 1 : rows.stop + 1] != episode[rows]
        found.append(np.flatnonzero(later) + (rows.start + 1))
    return np.concatenate([*found, [len(episode)]])


def later_pieces(episode: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the positions of the runs whose episode id an earlier run has as well: the episode is in pieces.

    >>> later_pieces(np.array([7, 8, 7]), np.array([0, 1, 2, 3]))
    array([2])
    """
    ids = episode[starts[:-1]]
    if np.all(ids[1:] > ids[:-1]):
        return np.empty(0, np.int64)
    order = np.argsort(ids, kind="stable")
    return np.sort(order[1:][ids[order[1:]] == ids[order[:-1]]])


def step_numbers(starts: np.ndarray) -> np.ndarray:
    """Return the number of each row within its episode, from 0 up.

    >>> step_numbers(np.array([0, 2, 5]))
    array([0, 1, 0, 1, 2], dtype=int32)
    """
    step = new_array(int(starts[-1]), np.int32)
    for some in blocks(len(starts) - 1, 2**16):  # of episodes
        first = starts[some.start : some.stop + 1]
        step[first[0] : first[-1]] = np.arange(first[0], first[-1]) - np.repeat(first[:-1], np.diff(first))
    return step


def common_time_limit(starts: np.ndarray, truncated: np.ndarray) -> int | None:
    """Return the length of the truncated episodes, if they have one length and no episode is longer; else None."""
    lengths = np.diff(starts)
    cut = lengths[truncated[starts[1:] - 1]]
    return int(cut[0]) if len(cut) and np.all(cut == lengths.max()) else None


def ranks_by_first_appearance(ids: np.ndarray) -> np.ndarray:
    """Return a code for each id, 0, 1, ... in the order in which ids appear first.

    >>> ranks_by_first_appearance(np.array([30, 10, 30, 20]))
    array([0, 1, 0, 2])
    """
    _, first, codes = np.unique(ids, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes]


def goes_on(episode: np.ndarray) -> np.ndarray:
    """Return a mask of all rows but the last: True where the episode goes on in the next row.

    >>> goes_on(np.array([7, 7, 8]))
    array([ True, False])
    """
    return episode[1:] == episode[:-1]
