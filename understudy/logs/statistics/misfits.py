"""How often actions were taken in groups of rows, beside what their propensities say: all actions in few passes."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import sqrt
from typing import NamedTuple

import numpy as np

from understudy.logs.propensities.sampling import to_shares
from understudy.logs.statistics.groups import FEW_VALUES, SAMPLE, TENTHS, Groups
from understudy.logs.statistics.tails import freedman

FLAT = 1e-9  # propensities that differ by less are taken as equal
BLOCK = 1 << 22  # entries of propensities that are summed together
COLUMNS, TILE = 32, 512  # actions, and rows, whose propensities are brought together in memory
FEW_GROUPS = 100  # more groups of one kind are summed by a sparse matrix


class Misfit(NamedTuple):
    """The group of rows in which an action's count is hardest to explain by its propensities."""

    action: int
    taken: float
    expected: float
    variance: float
    tail: float  # a bound on the probability of a gap at least this large, in this group alone
    where: str
    comparisons: int  # groups in which the action's count could differ from the propensities

    @property
    def z(self) -> float:
        """The gap in standard deviations."""
        return (self.taken - self.expected) / sqrt(self.variance) if self.variance else float("inf")


class Tally(NamedTuple):
    """For each group of rows and each action: how often it was taken, and the sums that its propensities lead to."""

    taken: np.ndarray  # (G, A)
    expected: np.ndarray  # (G, A), or (G, 1) where all actions have the same propensity
    variance: np.ndarray  # of the same shape
    words: Callable[[int, int], str]  # which rows a group holds, for an action


def misfits(
    action: np.ndarray,
    propensity: np.ndarray,
    groups: Sequence[Groups],
    n_samples: int | None = None,
    tenths: Tally | None = None,
) -> list[Misfit]:
    """Return the worst misfit of each action among these groups, and among `tenths_of_propensity` where given.

    With `n_samples`, propensities are of shares of draws. Then their tenths are left out, since the largest shares are
    so by chance, too; and they vary: rows with one share may have the same draws, as if it was made once for all of
    them, and each of these draws moves the sum by a share of that many rows.
    """
    A = propensity.shape[1]
    spread, largest = None, np.ones(A)
    if n_samples is not None:
        propensity, spread, most = _shares(propensity, n_samples)
        largest, tenths = np.maximum(1.0, most / n_samples), None
    tallies = [*_tallies(action, propensity, spread, groups), *([] if tenths is None else [tenths])]
    gap = np.concatenate([np.abs(tally.taken - tally.expected) for tally in tallies])
    variance = np.concatenate([np.broadcast_to(tally.variance, tally.taken.shape) for tally in tallies])
    tails = np.minimum(2 * freedman(gap, variance, largest), 1.0)
    comparisons = ((variance > 0) | (gap > 0.5)).sum(axis=0)
    at = np.argmax(tails <= tails.min(axis=0) * (1 + 1e-9), axis=0)  # of equal tails the first is named
    place = [(tally, group) for tally in tallies for group in range(len(tally.taken))]
    return [_misfit(which, place[at[which]], tails[at[which], which], comparisons[which]) for which in range(A)]


def _misfit(action: int, place: tuple[Tally, int], tail: float, comparisons: int) -> Misfit:
    tally, group = place
    if tail >= 1:
        return Misfit(action, 0.0, 0.0, 0.0, 1.0, "", int(comparisons))
    at = (group, action if tally.expected.shape[1] > 1 else 0)
    return Misfit(
        action, float(tally.taken[group, action]), float(tally.expected[at]), float(tally.variance[at]), float(tail),
        tally.words(group, action), int(comparisons),
    )  # fmt: skip


def tenths_of_propensity(action: np.ndarray, propensity: np.ndarray) -> Tally | None:
    """Return the tally of tenths of each action's own propensity, or of its values where there are few of them.

    Groups of an action whose propensity is always the same are empty; None where all are.
    """
    A = propensity.shape[1]
    if propensity.strides == (0, 0):
        return None
    groups = max(TENTHS, FEW_VALUES)
    words: dict[int, Callable[[int], str]] = {}
    taken, expected, variance = np.zeros((3, groups, A))
    order, ends = np.argsort(action, kind="stable"), np.cumsum(np.bincount(action, minlength=A))
    for which, p in enumerate(columns_of(propensity)):
        low, high = p.min(), p.max()
        if high - low < FLAT:
            continue
        edges, values = _edges(p)
        words[which] = partial(_between, values, np.concatenate([[low], edges, [high]]))
        there = p[order[ends[which - 1] if which else 0 : ends[which]]]
        code = np.searchsorted(edges, there, side="right")
        taken[:, which] = np.bincount(code, minlength=groups)
        expected[:, which], variance[:, which] = _sums_between(p, edges, groups)
    return Tally(taken, expected, variance, lambda group, which: words[which](group)) if words else None


def columns_of(propensity: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the columns, each in one piece of memory; they are copied by tiles that stay in the processor's cache."""
    for first in range(0, propensity.shape[1], COLUMNS):
        some = propensity[:, first : first + COLUMNS]
        columns = np.empty(some.shape[::-1])
        for begin in range(0, len(some), TILE):
            columns[:, begin : begin + TILE] = some[begin : begin + TILE].T
        yield from columns


def _edges(p: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the edges between groups of a column, and its values where a group is a value; as `groups.by_value`."""
    sample = np.sort(p[:: 1 + len(p) // SAMPLE])
    distinct = sample[np.append(True, sample[1:] > sample[:-1])]
    if len(distinct) <= FEW_VALUES and np.isin(p, distinct).all():
        return distinct[1:], distinct
    return np.unique(_quantiles(sample, np.linspace(0, 1, TENTHS + 1)[1:-1])), None


def _quantiles(sample: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return what np.quantile does, of a sample that is sorted."""
    place = shares * (len(sample) - 1)
    below = np.floor(place).astype(np.int64)
    rest, step = place - below, sample[below + 1] - sample[below]
    return np.where(rest < 0.5, sample[below] + step * rest, sample[below + 1] - step * (1 - rest))


def _sums_between(p: np.ndarray, edges: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of p and of p (1 - p) between edges."""
    code = np.zeros(len(p), np.uint8)
    for edge in edges:
        code += p >= edge
    wide = code.astype(np.intp)
    return np.bincount(wide, p, groups), np.bincount(wide, p * (1 - p), groups)


def _between(values: np.ndarray | None, limits: np.ndarray, group: int) -> str:
    between = f"{limits[group]:.4g} to {limits[group + 1]:.4g}" if values is None else f"{values[group]:.4g}"
    return f"where its propensity is {between}"


def _tallies(
    action: np.ndarray, propensity: np.ndarray, spread: np.ndarray | None, groups: Sequence[Groups]
) -> list[Tally]:
    """Return the tally of each kind of groups. `spread` has the variance of each entry where it is not p (1 - p)."""
    A = propensity.shape[1]
    if propensity.strides == (0, 0):
        propensity = propensity[:, :1]  # of a uniform logger: one column is as good as all of them
    sums = _group_sums(propensity, spread, groups)
    found = []
    for group, (expected, variance) in zip(groups, sums, strict=True):
        pair = group.code.astype(np.int64) * A + action
        taken = np.bincount(pair, minlength=(group.size + 1) * A).reshape(-1, A)[: group.size].astype(np.float64)
        found.append(Tally(taken, expected, variance, _same_for_all(group.words)))
    return found


def _same_for_all(words: Callable[[int], str]) -> Callable[[int, int], str]:
    return lambda group, _: words(group)


def _group_sums(
    propensity: np.ndarray, spread: np.ndarray | None, groups: Sequence[Groups]
) -> list[tuple[np.ndarray, ...]]:
    """Return the sums of propensities and of their variances over the rows of each group, (size, A) each."""
    from scipy.sparse import csr_array

    N, A = propensity.shape
    few = [group for group in groups if group.size < FEW_GROUPS]
    many = [group for group in groups if group.size >= FEW_GROUPS]
    sums = np.zeros((2, sum(group.size for group in few), A))
    sums_of_many = [np.zeros((2, group.size + 1, A)) for group in many]
    height = max(1, BLOCK // A)
    for begin in range(0, N, height):
        rows = slice(begin, begin + height)
        p = np.ascontiguousarray(propensity[rows])
        both = (p, p * (1 - p) if spread is None else spread[rows])
        member = np.concatenate([np.empty((0, len(p)), bool), *(_member(group, rows) for group in few)])
        sums += [member.astype(np.float64) @ one for one in both]
        for group, found in zip(many, sums_of_many, strict=True):
            pairs = (np.ones(len(p)), group.code[rows], np.arange(len(p) + 1))
            found += [csr_array(pairs, shape=(len(p), group.size + 1)).T @ one for one in both]
    cut = iter(np.split(sums, np.cumsum([group.size for group in few])[:-1], axis=1) if few else [])
    of_many = iter(sums_of_many)
    return [tuple(next(cut) if group.size < FEW_GROUPS else next(of_many)[:, :-1]) for group in groups]


def _member(group: Groups, rows: slice) -> np.ndarray:
    """Return for each group and row if the row is in the group, (size, n)."""
    return group.code[rows] == np.arange(group.size)[:, None]


def _shares(propensity: np.ndarray, n_samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the shares that propensities were made of, their variances, and the most rows with one share, (A,)."""
    shares = to_shares(propensity, n_samples)
    likely = (n_samples * shares + 1) / (n_samples + 2)  # that no draw took it does not mean that it cannot be taken
    spread, most = likely * (1 - likely), np.empty(propensity.shape[1])
    for which in range(propensity.shape[1]):
        _, code, rows = np.unique(propensity[:, which], return_inverse=True, return_counts=True)
        spread[:, which] *= 1 + rows[code] / n_samples
        most[which] = rows.max()
    return shares, spread, most
