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


def take_episodes(column: np.ndarray, starts: np.ndarray, episodes: np.ndarray) -> np.ndarray:
    """Return the rows of some episodes, in this order; little more memory is used than for what is returned.

    >>> take_episodes(np.array([7, 8, 9]), np.array([0, 2, 3]), np.array([1, 0]))
    array([9, 7, 8])
    """
    lengths = starts[episodes + 1] - starts[episodes]
    n_rows = int(lengths.sum())
    if len(column) > 1 and column.strides[0] == 0:
        return np.broadcast_to(column[0], (n_rows, *column.shape[1:]))
    taken, end = new_array((n_rows, *column.shape[1:]), column.dtype), 0
    for some in blocks(len(episodes), 2**14):
        first, length = starts[episodes[some]], lengths[some]
        begin, end = end, end + int(length.sum())
        rows = np.arange(end - begin) + np.repeat(first - np.cumsum(length) + length, length)
        taken[begin:end] = column[rows]
    return taken


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
