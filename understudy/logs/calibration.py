"""Whether logged propensities fit the actions taken, and whether they change over the log."""

from collections.abc import Iterator
from dataclasses import replace
from math import erfc, exp, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from understudy.logs.findings import Finding

if TYPE_CHECKING:
    from understudy.logs.log import Log

RATE = 1e-4  # probability of a false alarm of each rule, over all its tests
BINS = 10
FLAT = 1e-9  # propensities that differ by less are taken as equal
FLOORS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
BLOCKS = 30  # of rows, where there are too few episodes to compare
FEW_EPISODES, MANY_EPISODES = 20, 1000  # fewer are cut into blocks; more are grouped
SHORT_BLOCK = 10  # rows; in shorter blocks a trend cannot be seen
MUCH_BETTER = 0.2  # another order of propensities is suggested where it has at most this share of the misfit
LISTED = 10  # actions named in a sentence


class Count(NamedTuple):
    """How often an action was taken in some rows, against the sum of its propensities there."""

    action: int
    taken: float
    expected: float
    variance: float
    low: float
    high: float

    @property
    def tail(self) -> float:
        """A bound on the probability of a gap at least this large."""
        return 2 * freedman(abs(self.taken - self.expected), self.variance)


def freedman(excess: float, variance: float, largest: float = 1.0) -> float:
    """Return Freedman's bound on P(a sum of martingale differences exceeds its mean by `excess`).

    Unlike a z-score it holds for rare actions and for propensities that depend on earlier rows; at the rates used here
    it requires a z of about 5.3 where the normal law requires 4.9.

    >>> freedman(0.0, 1.0)
    1.0
    """
    return exp(-(excess**2) / (2 * (variance + largest * excess / 3))) if excess > 0 else 1.0


def propensity_frequency(log: "Log") -> Iterator[Finding]:
    """Find actions taken more or less often than their propensities say, in all rows or in bins of propensities."""
    if log.propensity is None:
        return
    if log.propensity.ndim == 1:
        yield from _chosen_frequency(log)
        return
    if wrong := _misfits_found(log):
        worst = min(wrong, key=lambda count: count.tail)
        z = (worst.taken - worst.expected) / sqrt(worst.variance) if worst.variance else float("inf")
        yield Finding(
            "warning",
            "propensity-frequency",
            (),
            len({count.action for count in wrong}),
            f"action {_name(log, worst.action)} was taken {worst.taken:,.0f} times in the rows where its propensity is "
            f"{worst.low:.3g} to {worst.high:.3g}, which add up to {worst.expected:,.1f} (z = {z:.1f}): "
            + (_other_order(log) or _NOT_DRAWN),
        )


_NOT_DRAWN = (
    "the actions were not drawn from the logged propensities; log them at decision time, or use qbe, which needs none"
)


def _other_order(log: "Log") -> str | None:
    """Return the sentence for propensity columns that fit the actions in another order; None where none fits."""
    from scipy.optimize import linear_sum_assignment

    assert log.propensity is not None
    costs = np.stack([_misfits(log, column) for column in range(log.spec.n_actions)])
    columns, order = linear_sum_assignment(costs - 1e-6 * np.eye(len(costs)))  # of equal orders, the given one
    if costs[columns, order].sum() > MUCH_BETTER * costs.trace():
        return None
    permuted = replace(log, propensity=log.propensity[:, np.argsort(order)])
    fit = "would fit far better" if _misfits_found(permuted) else "would fit"
    against = "actions=" if log.spec.actions else "the codes of the actions"
    return (
        f"the actions do not fit the logged propensities; they {fit} if the propensity columns were in the order "
        f"{_listed(log, order)}, and these are read as {_listed(log, columns)}: "
        f"check the order of propensity= against {against}"
    )


def _misfits(log: "Log", column: int) -> np.ndarray:
    """Return how badly this column fits as the propensity of each action: squared z-scores, summed over bins."""
    assert log.propensity is not None
    p, n_actions = np.ascontiguousarray(log.propensity[:, column]), log.spec.n_actions
    bins = _bins(p)
    taken = np.bincount(bins.astype(np.int64) * n_actions + log.action, minlength=BINS * n_actions)
    expected, variance = (np.bincount(bins, weights, BINS) for weights in (p, p * (1 - p)))
    misses = taken.reshape(BINS, n_actions) - expected[:, None]
    return (misses**2 / (variance[:, None] + 1)).sum(axis=0)  # 1, so that a bin of a few rows does not dominate


def propensity_trend(log: "Log") -> Iterator[Finding]:
    """Find propensities that drift: the logger seems to learn, and its rows are exact in the log's order only.

    Means of episodes are compared, or means of blocks of rows where episodes are few; the rate of false alarms then
    holds if rows of different blocks are nearly independent.
    """
    if log.propensity is None:
        return
    p = log.propensity.reshape(len(log), -1)
    if log.n_episodes >= FEW_EPISODES:
        bounds, over = log.starts[_cuts(log.n_episodes, MANY_EPISODES)], f"{log.n_episodes:,} episodes"
    elif len(log) >= BLOCKS * SHORT_BLOCK:
        bounds, over = _cuts(len(log), BLOCKS), f"{len(log):,} rows"
    else:
        return
    means = np.add.reduceat(p, bounds[:-1], axis=0) / np.diff(bounds)[:, None]
    scores = [_trend(mean) for mean in means.T]
    worst = int(np.argmax(np.abs(scores)))
    if erfc(abs(scores[worst]) / sqrt(2)) < RATE / len(scores):
        what = "the chosen action" if log.propensity.ndim == 1 else f"action {_name(log, worst)}"
        yield Finding(
            "warning",
            "propensity-trend",
            (),
            len(scores),
            f"the propensity of {what} {'rises' if scores[worst] > 0 else 'falls'} over {over} "
            f'(z = {scores[worst]:.1f}): the logger seems to adapt; simulate with order="log"',
        )


def _misfits_found(log: "Log") -> list[Count]:
    """Return the counts that the propensities do not explain."""
    counts = [count for action in range(log.spec.n_actions) for count in _counts(log, action)]
    return [count for count in counts if count.tail < RATE / len(counts)]


def _counts(log: "Log", action: int) -> Iterator[Count]:
    """Yield the count over all rows, and in bins of equal width between the lowest and highest propensity."""
    assert log.propensity is not None
    p = np.ascontiguousarray(log.propensity[:, action])
    low, high = float(p.min()), float(p.max())
    taken = (log.action == action).astype(np.float64)
    if high - low < FLAT:
        yield Count(action, taken.sum(), p.sum(), (p * (1 - p)).sum(), low, high)
        return
    bins = _bins(p)
    times, expected, variance = (np.bincount(bins, weights, BINS) for weights in (taken, p, p * (1 - p)))
    yield Count(action, times.sum(), expected.sum(), variance.sum(), low, high)
    edges = np.linspace(low, high, BINS + 1)
    for at in np.flatnonzero(np.bincount(bins, minlength=BINS)):
        yield Count(action, times[at], expected[at], variance[at], edges[at], edges[at + 1])


def _bins(p: np.ndarray) -> np.ndarray:
    """Return the bin of each propensity; bins have equal width between the lowest and the highest."""
    low, spread = p.min(), p.max() - p.min()
    if spread < FLAT:
        return np.zeros(len(p), np.int8)
    return np.minimum((p - low) * (BINS / spread), BINS - 1).astype(np.int8)


def _chosen_frequency(log: "Log") -> Iterator[Finding]:
    """Find actions taken too often, where only the chosen action's propensity p is known.

    The mean over all rows of 1/p in the rows of one action has expectation 1 at most. So propensities that are too
    small are found, and those that are too large are not. Rows with p below a floor are left out, which bounds a term
    by 1/floor.
    """
    p, n, A = log.propensity, len(log), log.spec.n_actions
    assert p is not None
    for floor in FLOORS:
        high = p >= floor
        totals = np.bincount(log.action[high], 1 / p[high], A)
        worst = int(np.argmax(totals))
        tail = freedman(totals[worst] - n, n / floor, 1 / floor)
        if tail < RATE / (A * len(FLOORS)):
            yield Finding(
                "warning",
                "propensity-frequency",
                (),
                1,
                f"action {_name(log, worst)} was taken {totals[worst] / n:.2f} times as often as its logged "
                "propensities allow: the actions were not drawn from them; use qbe, which needs none",
            )
            return


def _cuts(n: int, parts: int) -> np.ndarray:
    return np.linspace(0, n, min(n, parts) + 1).astype(np.int64)


def _trend(series: np.ndarray) -> float:
    """Return the rank correlation with time as a z-score, made smaller where neighboring residuals are alike."""
    _, ranks = np.unique(np.round(series, 9), return_inverse=True)
    ranks = ranks - ranks.mean()
    time = np.arange(len(ranks)) - (len(ranks) - 1) / 2
    if not ranks.any():
        return 0.0
    correlation = (ranks @ time) / sqrt((ranks @ ranks) * (time @ time))
    rest = ranks - time * (ranks @ time) / (time @ time)
    likeness = (rest[1:] @ rest[:-1]) / (rest @ rest) if rest @ rest > 1e-9 * (ranks @ ranks) else 0.0
    likeness = max(0.0, likeness)  # a state that changes slowly is not a trend
    n = len(ranks) * (1 - likeness) / (1 + likeness)
    return correlation * sqrt(max(n - 1, 0.0))


def _listed(log: "Log", actions: np.ndarray) -> str:
    return ", ".join(_name(log, action) for action in actions[:LISTED]) + ", ..." * (len(actions) > LISTED)


def _name(log: "Log", action: int) -> str:
    return log.spec.actions[action] if log.spec.actions else str(action)
