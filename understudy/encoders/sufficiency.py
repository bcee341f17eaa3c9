"""The test whether a state is sufficient (A1): given the action, does the observation still predict the outcome?

Rows of a state that share their action are a *stratum*. Under A1 the outcome - reward, termination, next observation -
has one law there, whatever the observation: outcomes may be permuted within a stratum, and the covariance between
features of the observation and features of the outcome is as large as that of permuted rows. The statistic is the sum
of squared covariances (the Hilbert-Schmidt independence criterion, with random Fourier features) over strata.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.contracts import Log
from understudy.encoders.observations import SINGLE_INTEGERS, spec_of
from understudy.progress import Report

Blocks = Sequence[np.ndarray]
"""Blocks of features, each (n, width of the block). Blocks have equal weight, whatever their width."""

PERMUTATIONS = 199
MOST_ROWS = 1000  # of a stratum, drawn at random: more would find differences too small to matter
FEWEST_ROWS = 20  # of a stratum; smaller strata are left out
N_WAVES = 16  # random Fourier features of a block
MOST_COLUMNS = 16  # linear features of a block; wider observations are projected at random
MOST_CODES = 32  # one-hot features; where integers have more values, they are projected at random
FEWEST_BEYOND = 10  # permutations beyond the statistic; with fewer, the p-value is read from a gamma law


@dataclass(frozen=True)
class Sufficiency:
    """The test of each state of a log."""

    state: np.ndarray  # (K,) the states, in order
    rows: np.ndarray  # (K,) the number of rows of the log in each
    p_value: np.ndarray  # (K,) uniform where the state is sufficient; NaN where it was not tested or has too few rows
    explained: np.ndarray  # (K,) the share of the outcome that the observation predicts in rows not fitted, 0 to 1
    first: np.ndarray  # (K,) the first row of the log in each


def sufficiency(
    log: Log,
    states: np.ndarray,
    seed: int = 0,
    *,
    permutations: int = PERMUTATIONS,
    most_rows: int = MOST_ROWS,
    only: Iterable[int] | None = None,
    report: Report = lambda done: None,
) -> Sufficiency:
    """Return the test of each state of a log, or of `only` some; `states` has that of each row's observation, or -1.

    `report` is called with the number of states tested so far.
    """
    order = np.argsort(states, kind="stable")
    names, starts, rows = np.unique(states[order], return_index=True, return_counts=True)
    known = names >= 0
    names, starts, rows = names[known].astype(np.int64), starts[known], rows[known].astype(np.int64)
    places = np.arange(len(names)) if only is None else np.flatnonzero(np.isin(names, list(only)))
    rng = np.random.default_rng(seed)
    results = np.full((len(names), 2), np.nan)
    for done, place in enumerate(places, start=1):
        members = order[starts[place] : starts[place] + rows[place]]
        results[place] = _tested(log, members, rng, permutations, most_rows)
        report(done)
    return Sufficiency(names, rows, results[:, 0], results[:, 1], order[starts])


def _tested(
    log: Log, rows: np.ndarray, rng: np.random.Generator, permutations: int, most_rows: int
) -> tuple[float, float]:
    """Return the p-value and the share explained of a state with these rows; NaN where they are too few."""
    rows = sampled(rows, log.action[rows], rng, most_rows)
    if not len(rows):
        return math.nan, math.nan
    left, right = observation_blocks(log.observation[rows], rng), outcome_blocks(log, rows, rng)
    action = log.action[rows]
    return independence(left, right, action, rng, permutations), explained(left, right, action)


def sampled(
    rows: np.ndarray, strata: np.ndarray, rng: np.random.Generator, most: int = MOST_ROWS, fewest: int = FEWEST_ROWS
) -> np.ndarray:
    """Return at most `most` of the rows of each stratum, drawn at random; none of strata with less than `fewest`."""
    kept = [
        rng.choice(members, most, replace=False) if len(members) > most else members
        for members in _members(strata)
        if len(members) >= fewest
    ]
    return rows[np.concatenate(kept)] if kept else rows[:0]


def independence(
    left: Blocks, right: Blocks, strata: np.ndarray, rng: np.random.Generator, permutations: int = PERMUTATIONS
) -> float:
    """Return the p-value of left and right being independent within each stratum; 1 where nothing varies.

    It is the rank among statistics of permuted rows. Where few permutations are beyond the statistic, it is the tail of
    a gamma law with the mean and variance of the permutations.

    >>> rng = np.random.default_rng(0)
    >>> x, strata = rng.normal(size=(300, 1)), np.repeat([0, 1, 2], 100)
    >>> independence([x], [x**2 + rng.normal(size=(300, 1)), x], strata, rng) < 1e-6
    True
    """
    [[observed, *permuted]] = dependence(left, [right], strata, rng, permutations)
    return _p_value(observed, np.array(permuted))


def dependence(
    left: Blocks, rights: Sequence[Blocks], strata: np.ndarray, rng: np.random.Generator, permutations: int
) -> np.ndarray:
    """Return the sum over strata of squared covariances between left and each right, (len(rights), 1 + permutations).

    The first column is that of the rows as they are, the others are of permuted ones.
    """
    found = np.zeros((len(rights), 1 + permutations))
    ours, our_widths = _side_by_side(left)
    theirs, their_widths = _side_by_side([block for right in rights for block in right])
    ends = np.cumsum([sum(block.shape[1] for block in right) for right in rights])
    begins = np.append(0, ends[:-1])  # of the columns of each right
    for members in _members(strata):
        one, other = _leveled(ours[members], our_widths), _leveled(theirs[members], their_widths)
        if not one.any() or not other.any():
            continue
        n = len(members)
        orders = np.tile(np.arange(n), (1 + permutations, 1))
        orders[1:] = rng.permuted(orders[1:], axis=1)
        # Covariances are the same whichever side is permuted: the narrower one is cheaper.
        narrow, wide = (one, other) if one.shape[1] <= other.shape[1] else (other, one)
        shuffled = np.take(narrow.T, orders, axis=1).reshape(-1, n)  # permutations of each column
        squares = np.square(shuffled @ wide).reshape(narrow.shape[1], 1 + permutations, -1)
        by_column = squares.sum(axis=0 if narrow is one else 2, dtype=np.float64)
        of_right = np.add.reduceat(by_column.T if narrow is one else by_column, begins, axis=0)
        found += of_right / n
    return found


def _p_value(observed: float, permuted: np.ndarray) -> float:
    """Return the p-value of a statistic, given those of permuted rows."""
    from scipy.stats import gamma

    beyond = int((permuted >= observed * (1 - 1e-5)).sum())  # equal ones may differ by rounding
    mean, variance = float(permuted.mean()), float(permuted.var())
    if beyond >= FEWEST_BEYOND or variance <= 0:
        return (1 + beyond) / (1 + len(permuted))
    return float(gamma.sf(observed, mean**2 / variance, scale=variance / mean))


def explained(left: Blocks, right: Blocks, strata: np.ndarray, ridge: float = 1e-2) -> float:
    """Return the share of the right side's variance that a regression on the left predicts in rows held out.

    It is that of the right block that is predicted best, and 0 where none is. Every other row is held out.
    """
    total, unexplained = np.zeros(len(right)), np.zeros(len(right))
    for members in _members(strata):
        x = _leveled(*_side_by_side([block[members] for block in left])).astype(np.float64)
        fit, held = np.arange(0, len(members), 2), np.arange(1, len(members), 2)
        gram = x[fit].T @ x[fit] + ridge * len(fit) * np.eye(x.shape[1])
        for place, block in enumerate(right):
            y = block[members].astype(np.float64)
            y = y - y[fit].mean(axis=0)
            predicted = (x[held] - x[fit].mean(axis=0)) @ np.linalg.solve(gram, x[fit].T @ y[fit])
            total[place] += np.square(y[held]).sum()
            unexplained[place] += np.square(y[held] - predicted).sum()
    shares = 1 - unexplained[total > 0] / total[total > 0]
    return float(np.clip(shares.max(initial=0.0), 0.0, 1.0))


def observation_blocks(observations: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Return features of observations: single integers as one-hot; others as they are, squared, and as random waves."""
    if spec_of(observations) == SINGLE_INTEGERS:
        return [_codes(observations, rng)]
    flat = standardized(observations.reshape(len(observations), -1))
    flat = flat[:, flat.any(axis=0)]
    if not flat.shape[1]:
        return [np.zeros((len(flat), 1), dtype=np.float32)]
    columns = _columns(flat, rng)
    return [columns, columns**2, _waves(flat, rng)]


def outcome_blocks(log: Log, rows: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """Return features of the outcomes of some rows: the reward, whether it terminated, and the next observation.

    The next observation of a row that terminated is left out: no learner uses it.
    """
    reward, over = standardized(log.reward[rows, None]), log.terminated[rows]
    blocks = [np.hstack([reward, reward**2, _waves(reward, rng, 4)]), over[:, None].astype(np.float32)]
    for block in observation_blocks(log.next_observation[rows], rng):
        block = block - (block[~over].mean(axis=0) if not over.all() else 0)
        blocks.append(np.where(over[:, None], 0, block))
    return blocks


def _members(strata: np.ndarray) -> list[np.ndarray]:
    """Return the indices of each stratum."""
    order = np.argsort(strata, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(strata[order])) + 1) if len(order) else []


def _side_by_side(blocks: Blocks) -> tuple[np.ndarray, np.ndarray]:
    """Return blocks as one array of columns, and the width of each block."""
    return np.hstack(blocks).astype(np.float64, copy=False), np.array([block.shape[1] for block in blocks])


def _leveled(columns: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Return columns centered, each block of them with a total variance of 1; a block that does not vary is 0."""
    centered = columns - columns.mean(axis=0)
    total = np.sqrt(np.add.reduceat(np.square(centered).sum(axis=0), np.cumsum(widths) - widths) / len(columns))
    scale = np.where(total > 1e-6, 1 / np.maximum(total, 1e-6), 0.0)
    return (centered * np.repeat(scale, widths)).astype(np.float32)


def standardized(columns: np.ndarray) -> np.ndarray:
    """Return columns of mean 0 and variance 1, clipped to [-5, 5]; a column that does not vary is 0."""
    columns = np.nan_to_num(columns.astype(np.float64), posinf=0.0, neginf=0.0)
    centered = columns - columns.mean(axis=0)
    spread = centered.std(axis=0)
    flat = spread <= 1e-9 * (np.abs(columns).max(axis=0, initial=0.0) + 1e-300)
    return np.clip(np.where(flat, 0.0, centered / np.where(flat, 1.0, spread)), -5, 5).astype(np.float32)


def _columns(flat: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the columns, or random projections where there are many."""
    if flat.shape[1] <= MOST_COLUMNS:
        return flat
    return flat @ rng.normal(size=(flat.shape[1], MOST_COLUMNS)).astype(np.float32)


def _waves(flat: np.ndarray, rng: np.random.Generator, n: int = N_WAVES) -> np.ndarray:
    """Return random Fourier features of a Gaussian kernel as wide as half the typical distance between rows."""
    frequency = rng.normal(size=(flat.shape[1], n)) * math.sqrt(2 / max(1, flat.shape[1]))
    return np.cos(flat @ frequency.astype(np.float32) + rng.uniform(0, 2 * math.pi, n).astype(np.float32))


def _codes(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return integers as one-hot rows, or as random vectors where they have many values."""
    known, places = np.unique(values, return_inverse=True)
    if len(known) <= MOST_CODES:
        return np.eye(len(known), dtype=np.float32)[places]
    return rng.normal(size=(len(known), MOST_CODES)).astype(np.float32)[places]


def holm(p_values: Any) -> np.ndarray:
    """Return p-values adjusted for their number by Holm's method; NaN stays NaN, and does not count.

    >>> holm([0.01, 0.04, float("nan"), 0.03]).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    p_values = np.asarray(p_values, dtype=np.float64)
    adjusted, known = np.full(len(p_values), np.nan), np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known])]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p_values[order] * factors))
    return adjusted
