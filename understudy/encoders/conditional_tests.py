"""Tests of independence given what is held fixed, on integer codes: sums of Pearson's statistic over many tables.

Tables may be sparse: the mean and variance of each one's statistic are exact, so only their sum has to be close to a
gamma law.
"""

from typing import NamedTuple

import numpy as np

from understudy.logs.statistics.tails import normal_tail

FEWEST_ROWS = 10
"""A table, or a cell of actions, with fewer rows is left out."""


class Dependence(NamedTuple):
    """The result of a test. `p_value` is None where nothing varies that could depend on anything."""

    statistic: float  # in standard deviations from its mean without dependence
    p_value: float | None
    rows: int  # in tables that could show a dependence

    def times(self, comparisons: int) -> "Dependence":
        """Return the result with a p-value that counts so many comparisons (Bonferroni)."""
        return self._replace(p_value=None if self.p_value is None else min(1.0, comparisons * self.p_value))


NOTHING_VARIES = Dependence(0.0, None, 0)


def strongest(results: list[Dependence]) -> tuple[int, Dependence]:
    """Return which of several results has the smallest p-value, and that result, with all of them counted."""
    known = [number for number, result in enumerate(results) if result.p_value is not None]
    if not known:
        return 0, NOTHING_VARIES
    least = min(known, key=lambda number: (results[number].p_value, -results[number].statistic))
    return least, results[least].times(len(known))


def association(stratum: np.ndarray, outcome: np.ndarray, predictor: np.ndarray) -> Dependence:
    """Return the test whether an outcome depends on a predictor among rows of one stratum; all three are codes, (n,).

    Pearson's statistic of each stratum's table is compared with its mean and variance over permutations of the
    outcomes within the stratum (Dawson 1954), so it may be used where outcomes, given the stratum, are drawn afresh at
    each row; the predictor may be any process.

    >>> coin, side = np.tile([0, 1], 50), np.repeat([0, 1], 50)
    >>> association(np.zeros(100, int), coin, side).p_value
    1.0
    >>> association(np.zeros(100, int), coin, coin).p_value < 1e-9
    True
    """
    stratum, outcome, predictor = (np.unique(code, return_inverse=True)[1] for code in (stratum, outcome, predictor))
    rows = np.bincount(stratum)
    outcomes, outcome_rows, outcome_of = _pairs(stratum, outcome)
    predictors, predictor_rows, predictor_of = _pairs(stratum, predictor)
    _, cell_rows, cell = _pairs(outcome_of, predictor_of)
    first = np.zeros(len(cell_rows), np.int64)
    first[cell] = np.arange(len(cell))
    products = outcome_rows[outcome_of[first]] * predictor_rows[predictor_of[first]]
    statistic = rows * (np.bincount(stratum[first], cell_rows**2 / products, len(rows)) - 1)

    n, height, width = rows.astype(np.float64), np.bincount(outcomes), np.bincount(predictors)
    used = (n >= FEWEST_ROWS) & (height > 1) & (width > 1)
    one, one_spread = _margin_terms(outcomes, outcome_rows, n, height)
    other, other_spread = _margin_terms(predictors, predictor_rows, n, width)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = n * (height - 1) * (width - 1) / (n - 1)
        variance = 2 * n / (n - 3) * (one - one_spread) * (other - other_spread)
        variance += n**2 / (n - 1) * one_spread * other_spread
    return _judged(statistic[used].sum(), mean[used].sum(), variance[used].sum(), int(rows[used].sum()))


def told_action(cell: np.ndarray, action: np.ndarray, propensity: np.ndarray) -> Dependence:
    """Return the test whether cells, (n,) codes, tell which action was taken beyond its propensity, (n, actions).

    A cell may be anything that actions do not influence, the future included, and anything known before the action.
    Then actions within cells are drawn from the propensities, and nothing else has to be assumed.
    """
    cell = np.unique(cell, return_inverse=True)[1]
    n = np.bincount(cell)
    kept = n >= FEWEST_ROWS
    n_actions, same = propensity.shape[1], bool((propensity == propensity[0]).all())

    def summed(weights: np.ndarray | float) -> np.ndarray:
        return n[kept] * weights if np.ndim(weights) == 0 else np.bincount(cell, weights, len(n))[kept]

    def column(a: int, b: int | None = None) -> np.ndarray | float:
        one = propensity[0, a] if same else propensity[:, a]
        return one if b is None else one * (propensity[0, b] if same else propensity[:, b])

    expected = np.column_stack([summed(column(a)) for a in range(n_actions)])
    taken = np.column_stack([np.bincount(cell[action == a], minlength=len(n))[kept] for a in range(n_actions)])
    with np.errstate(divide="ignore"):
        inverse = np.where(expected > 0, 1 / expected, 0.0)
    statistic = ((taken - expected) ** 2 * inverse).sum()
    mean = variance = 0.0
    for a in range(n_actions):
        for b in range(a + 1):
            covariance = (expected[:, a] if a == b else 0.0) - summed(column(a, b))
            mean += (covariance * inverse[:, a]).sum() if a == b else 0.0
            variance += (2 - (a == b)) * 2 * (covariance**2 * inverse[:, a] * inverse[:, b]).sum()
    rare = inverse.sum(axis=1) - n_actions**2 / n[kept]  # what rare actions add in small cells
    return _judged(statistic, mean, variance + np.maximum(rare, 0.0).sum(), int(n[kept].sum()))


def clustered(score: np.ndarray, group: np.ndarray, episode: np.ndarray) -> Dependence:
    """Return the test whether a score of mean 0, (n,), has another mean in one of the groups, (n,) codes.

    Variances are of whole episodes, so that rows of one may depend on each other.
    """
    if not len(score):
        return NOTHING_VARIES
    group, episode = (np.unique(code, return_inverse=True)[1] for code in (group, episode))
    score = score - score.mean()
    pairs, sums = np.unique(group * (1 + int(episode.max())) + episode, return_inverse=True)
    total = np.bincount(sums, score)
    home = pairs // (1 + int(episode.max()))
    sum_of, squares, number = np.bincount(home, total), np.bincount(home, total**2), np.bincount(home)
    known = (number >= FEWEST_ROWS) & (squares > 0)
    if known.sum() < 2:
        return NOTHING_VARIES
    deviation = float(np.abs(sum_of[known] / np.sqrt(squares[known])).max())
    return Dependence(deviation, min(1.0, int(known.sum()) * normal_tail(deviation)), len(score))


def _pairs(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, of the distinct pairs of codes: the first code of each, their numbers of rows, and each row's pair."""
    size = 1 + int(other.max(initial=0))
    pairs, pair, rows = np.unique(one.astype(np.int64) * size + other, return_inverse=True, return_counts=True)
    return pairs // size, rows, pair


def _margin_terms(home: np.ndarray, rows: np.ndarray, n: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two terms of one margin of each table in the variance of its statistic."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return (size - 1) * (n - size) / (n - 1), (n * np.bincount(home, 1 / rows) - size**2) / (n - 2)


def _judged(statistic: float, mean: float, variance: float, rows: int) -> Dependence:
    """Return the result for a sum with this mean and variance, by a gamma law."""
    if variance <= 1e-9 * max(1.0, mean):
        return NOTHING_VARIES
    from scipy.special import gammaincc  # here, since importing it takes long

    p_value = float(gammaincc(mean**2 / variance, max(0.0, statistic) * mean / variance))
    return Dependence(float((statistic - mean) / np.sqrt(variance)), p_value, rows)
