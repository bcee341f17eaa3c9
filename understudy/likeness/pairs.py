"""Pairs of states as the lists that simulators read: for each state, the states that it is paired with."""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.spatial import cKDTree

from understudy.errors import SettingError

MOST_PAIRS = 200_000_000
"""The largest number of entries of all lists together: they take four bytes each."""

NEIGHBORS = (1, 2, 4, 8, 16)
"""Suggested radii are those within which half of the states have so many others: more smooth, and add little."""

NEIGHBORS_OF_ROWS = (4, 16, 64, 256)
"""The same where most states have one row only, and all rows within the radius are what a state has elsewhere."""

SAMPLE = 1000  # states that suggested radii are measured on
TOLERANCE = 1 + 1e-6
"""Suggested radii are those within which half of the states have so many others: more smooth, and add little."""

Lists = tuple[np.ndarray, np.ndarray]
"""`first` and `members`, as `contracts.Likeness.neighbors` returns them."""


def check_count(n_pairs: int, radius: float) -> None:
    """Raise `SettingError` where lists of so many pairs, each counted twice, would not fit into memory."""
    if n_pairs > MOST_PAIRS:
        raise SettingError(
            f"radius {radius:g} makes {n_pairs:,} like states, more than {MOST_PAIRS:,}; give a smaller radius="
        )


def lists_of_pairs(one: np.ndarray, other: np.ndarray, n_states: int) -> Lists:
    """Return the lists of pairs that are each given once, in either order.

    >>> first, members = lists_of_pairs(np.array([0, 3]), np.array([2, 0]), 4)
    >>> first.tolist(), members.tolist()
    ([0, 2, 2, 3, 4], [2, 3, 0, 0])
    """
    from scipy.sparse import coo_array

    ends = np.concatenate([one, other]), np.concatenate([other, one])
    matrix = coo_array((np.ones(len(ends[0]), dtype=bool), ends), shape=(n_states, n_states)).tocsr()
    matrix.sort_indices()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)


def lists_within(positions: np.ndarray, states: np.ndarray, n_states: int, radius: float) -> Lists:
    """Return the pairs of states whose positions, (n, d), are within a radius of each other (Euclidean)."""
    if len(states) < 2 or not positions.shape[1]:
        return no_lists(n_states)
    tree = cKDTree(positions)
    check_count(int(tree.count_neighbors(tree, radius)) - len(states), radius)
    pairs = tree.query_pairs(radius, output_type="ndarray")
    return lists_of_pairs(states[pairs[:, 0]], states[pairs[:, 1]], n_states)


def lists_of_distances(
    distances_from: Callable[[slice], np.ndarray], states: np.ndarray, n_states: int, radius: float, chunk: int = 512
) -> Lists:
    """Return the pairs of states within a radius, from a function of some places of `states` to their distances.

    `distances_from(part)` returns the distance of each of those states from all, (len(part), len(states)).
    """
    ones, others, n_pairs = [], [], 0
    for begin in range(0, len(states), chunk):
        part = slice(begin, min(begin + chunk, len(states)))
        near = distances_from(part) <= radius
        one, other = np.nonzero(near)
        later = one + begin < other  # each pair once
        n_pairs += 2 * int(later.sum())
        check_count(n_pairs, radius)
        ones.append(states[one[later] + begin])
        others.append(states[other[later]])
    if not ones:
        return no_lists(n_states)
    return lists_of_pairs(np.concatenate(ones), np.concatenate(others), n_states)


def no_lists(n_states: int) -> Lists:
    """Return empty lists: no two states are alike."""
    return np.zeros(n_states + 1, dtype=np.int64), np.empty(0, dtype=np.int32)


def sampled(n: int) -> np.ndarray:
    """Return at most `SAMPLE` places of n, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64)) if n else np.empty(0, dtype=np.int64)


def radii_of_distances(nearest: np.ndarray, ranks: Sequence[int] = NEIGHBORS) -> np.ndarray:
    """Return radii to try, from distances of some states to others, (n, m), each line in increasing order.

    The median over states of the distance to the first, second, fourth... of the others, by `ranks`; those at no
    distance, and radii that hardly differ, are left out.
    """
    places = [k - 1 for k in ranks if k <= nearest.shape[1]] if len(nearest) else []
    found = np.array([np.median(nearest[:, place]) for place in places]) * TOLERANCE
    found = np.unique(found[np.isfinite(found) & (found > 0)])
    return found[np.append(True, np.diff(found) > 0.05 * found[:-1])] if len(found) else found
