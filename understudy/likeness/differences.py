"""By how much rows of like states differ, in the mean, from a row's own: without the noise of single rows."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from understudy.likeness.pairs import Lists

N_GROUPS = 20  # of episodes, each left out once


class Cells(NamedTuple):
    """How many rows each state and action has, the sum of their outcome, and of its square, (n_states, n_actions)."""

    rows: np.ndarray
    total: np.ndarray
    squares: np.ndarray

    def without(self, others: "Cells") -> "Cells":
        """Return the sums without those of some of the rows."""
        return Cells(*(one - other for one, other in zip(self, others, strict=True)))


Statistic = Callable[[Cells], float]


class MeanSquare(NamedTuple):
    """A mean of squares over rows, with its standard error."""

    mean: float  # NaN where no row has any
    error: float  # by leaving out groups of episodes


def cells_of(state: np.ndarray, action: np.ndarray, outcome: np.ndarray, shape: tuple[int, int]) -> Cells:
    """Return the sums of an outcome of rows; rows without a state or an outcome are left out."""
    kept = (state >= 0) & np.isfinite(outcome)
    cell = state[kept].astype(np.int64) * shape[1] + action[kept]
    size = shape[0] * shape[1]
    weights = (None, outcome[kept], outcome[kept] ** 2)
    return Cells(*(np.bincount(cell, w, minlength=size).astype(np.float64).reshape(shape) for w in weights))


def matrix_of(lists: Lists, states: np.ndarray) -> csr_array:
    """Return the lists of like states as a matrix of 0 and 1 between some of the states."""
    first, members = lists
    n = len(first) - 1
    whole = csr_array((np.ones(len(members)), members, first), shape=(n, n))
    return csr_array(whole[states][:, states])


def noise_of(cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of each cell and the variance of one row of it, 0 for cells without a row.

    A cell with one row has the mean variance of the others, where most rows are in cells with several; else 0, since
    nothing tells its noise, and then its noise counts as a difference.
    """
    n = cells.rows
    mean = cells.total / np.maximum(n, 1)
    several, single = n > 1.5, (n > 0.5) & (n < 1.5)
    scatter = np.where(several, np.maximum(cells.squares - n * mean**2, 0.0), 0.0)
    variance = np.where(several, scatter / np.maximum(n - 1, 1), 0.0)
    if 2 * n[several].sum() > n.sum():
        variance[single] = scatter.sum() / (n[several] - 1).sum()
    return mean, variance


def squared_difference(cells: Cells, like: csr_array) -> float:
    """Return the mean over rows of the squared difference between the mean of its own cell and of those of like rows.

    A row's like rows are those with its action in the states that are alike to its own; each counts the same. The
    noise in the means is taken off, so the result is unbiased, and may be negative where there is no difference.
    """
    found, rows = differences_of_cells(cells, like)
    known = np.isfinite(found)
    return float(np.average(found[known], weights=rows[known])) if known.any() else float("nan")


def squared_difference_of_single_rows(cells: Cells, like: csr_array, nearer: csr_array) -> float:
    """Return the same where states have one row each, whose noise only rows nearby can tell.

    `nearer` are the states within half the radius. The difference of rows within the radius, less that of rows within
    half of it, has no noise in it. It is half of the squared difference within the radius where outcomes jump at
    borders, and three quarters of it where they change steadily: so it is doubled. Rows without others within half the
    radius are left out.

    """
    found, rows = differences_of_cells(cells, like)
    within, _ = differences_of_cells(cells, nearer)
    known = np.isfinite(within)
    if not known.any():
        return float("nan")
    far, near = (float(np.average(part[known], weights=rows[known])) for part in (found, within))
    return 2 * (far - near)


def explained_share(cells: Cells, like: csr_array) -> float:
    """Return the share of an outcome's variance, among rows of an action, that like rows with one row each share."""
    n = cells.rows.sum(axis=0)
    mean = cells.total.sum(axis=0) / np.maximum(n, 1)
    variance = float((cells.squares.sum(axis=0) - n * mean**2).sum() / max(n.sum(), 1.0))
    return 1.0 - squared_difference(cells, like) / (2 * variance) if variance > 0 else 0.0


def differences_of_cells(cells: Cells, like: csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared difference of each cell from its like rows, NaN where it has none, and its rows."""
    n = cells.rows
    mean, variance = noise_of(cells)
    own_noise = variance / np.maximum(n, 1)
    of_others = [n, cells.total, n * mean**2 - np.where(n > 0.5, variance, 0.0)]
    like_count, like_total, like_squares = np.split(like @ np.concatenate(of_others, axis=1), 3, axis=1)
    off = like_squares - 2 * mean * like_total + (mean**2 - own_noise) * like_count
    known = (n > 0.5) & (like_count > 0.5)
    return np.where(known, off / np.maximum(like_count, 1), np.nan), n


def squared_noise(cells: Cells) -> float:
    """Return the mean over rows of the variance of one row of its own cell, from cells with several rows."""
    several = cells.rows > 1.5
    if not several.any():
        return float("nan")
    return float(np.average(noise_of(cells)[1][several], weights=cells.rows[several]))


def measured(
    state: np.ndarray,
    action: np.ndarray,
    outcome: np.ndarray,
    group: np.ndarray,
    shape: tuple[int, int],
    statistic: Statistic,
) -> MeanSquare:
    """Return a statistic of the cells of some rows, with its error by leaving out each group of episodes in turn."""
    outcome = outcome - np.nanmean(outcome) if np.isfinite(outcome).any() else outcome  # squares of small numbers
    cells = cells_of(state, action, outcome, shape)
    found = statistic(cells)
    parts = [group == g for g in np.unique(group)]
    left_out = np.array([
        statistic(cells.without(cells_of(state[part], action[part], outcome[part], shape))) for part in parts
    ])  # fmt: skip
    left_out = left_out[np.isfinite(left_out)]
    if not np.isfinite(found) or len(left_out) < 2:
        return MeanSquare(found, float("nan"))
    spread = (len(left_out) - 1) / len(left_out) * np.square(left_out - left_out.mean()).sum()
    return MeanSquare(found, float(np.sqrt(spread)))
