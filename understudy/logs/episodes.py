"""Episodes as runs of rows with one episode id: where each begins, and whether all of its rows are together."""

import numpy as np

from understudy.logs.blocks import one_later, slices
from understudy.mapped import blocks, new_array


def starts_of(episode: np.ndarray) -> np.ndarray:
    """Return the first row of each run of equal ids, then the number of rows.

    >>> starts_of(np.array([7, 7, 8, 7]))
    array([0, 2, 3, 4])
    """
    n = len(episode)
    parts = list(slices(n - 1))
    begins = [int(np.count_nonzero(episode[one_later(rows)] != episode[rows])) for rows in parts]
    starts = np.empty(sum(begins) + 2, np.int64)
    starts[0], starts[-1] = 0, n
    at = 1
    for rows, number in zip(parts, begins, strict=True):
        if number:
            starts[at : at + number] = np.flatnonzero(episode[one_later(rows)] != episode[rows])
            starts[at : at + number] += rows.start + 1
            at += number
    return starts


def later_pieces(episode: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the positions of the runs whose episode id an earlier run has as well: the episode is in pieces.

    >>> later_pieces(np.array([7, 8, 7]), np.array([0, 1, 2, 3]))
    array([2])
    """
    none, n = np.empty(0, np.int64), len(starts) - 1
    if all(np.all(episode[starts[one_later(runs)]] > episode[starts[runs]]) for runs in slices(n - 1)):
        return none
    ids = np.sort(episode[starts[:-1]])
    if not any(np.any(ids[one_later(runs)] == ids[runs]) for runs in slices(n - 1)):
        return none
    ids = episode[starts[:-1]]
    order = np.argsort(ids, kind="stable")
    return np.sort(order[1:][ids[order[1:]] == ids[order[:-1]]])


def longest_episode(starts: np.ndarray) -> int:
    """Return the position of the longest episode; of several, the first.

    >>> longest_episode(np.array([0, 2, 5, 8]))
    1
    """
    best, longest = 0, -1
    for episodes in slices(len(starts) - 1):
        lengths = starts[one_later(episodes)] - starts[episodes]
        at = int(lengths.argmax())
        if lengths[at] > longest:
            best, longest = episodes.start + at, int(lengths[at])
    return best


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
    longest, shortest_cut = 0, None
    for episodes in slices(len(starts) - 1):
        lengths = starts[one_later(episodes)] - starts[episodes]
        longest = max(longest, int(lengths.max()))
        cut = lengths[truncated[starts[one_later(episodes)] - 1]]
        if len(cut):
            shortest_cut = int(cut.min() if shortest_cut is None else min(shortest_cut, cut.min()))
    return shortest_cut if shortest_cut == longest else None


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


def goes_on(episode: np.ndarray, rows: slice) -> np.ndarray:
    """Return a mask of some rows, of which each has a next one: True where the episode goes on there.

    >>> goes_on(np.array([7, 7, 8]), slice(0, 2))
    array([ True, False])
    """
    return episode[one_later(rows)] == episode[rows]


def inner_rows(starts: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return some of the rows after which the episode goes on, by their places among all of these, from 0 up.

    There are as many as rows less episodes.

    >>> inner_rows(np.array([0, 1, 4]), np.array([0, 1]))
    array([1, 2])
    """
    # Before episode e there are starts[e] - e such rows; the last episode of which that is not more is the place's.
    low, high = np.zeros(len(places), np.int64), np.full(len(places), len(starts) - 1)
    while (high - low > 1).any():
        middle = (low + high) // 2
        before = starts[middle] - middle <= places
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return places + low
