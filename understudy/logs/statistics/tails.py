"""How unlikely a deviation is by chance."""

from math import erfc, sqrt

import numpy as np


def freedman(excess: np.ndarray | float, variance: np.ndarray | float, largest: float = 1.0) -> np.ndarray:
    """Return Freedman's bound on P(a sum of martingale differences exceeds its mean by `excess`).

    Unlike a z-score it holds for rare actions and for propensities that depend on earlier rows; at the rates used here
    it requires a z of about 5.3 where the normal law requires 4.9.

    >>> freedman(np.array([0.0, 10.0]), 4.0).round(5)
    array([1.     , 0.00109])
    """
    above = np.maximum(excess, 0.0)
    scale = 2 * (np.asarray(variance) + largest * above / 3)
    return np.exp(-np.divide(above**2, scale, out=np.zeros_like(scale), where=scale > 0))


def normal_tail(z: float) -> float:
    """Return the probability that a normal variable is at least this far from its mean, on either side.

    >>> round(normal_tail(1.96), 3)
    0.05
    """
    return erfc(abs(z) / sqrt(2))


def trend(series: np.ndarray) -> float:
    """Return the rank correlation with time as a z-score, made smaller where neighboring residuals are alike.

    >>> rising = np.arange(50.0)
    >>> round(trend(rising), 9), round(trend(-rising), 9), trend(0 * rising)
    (7.0, -7.0, 0.0)
    """
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
    return float(correlation * sqrt(max(n - 1, 0.0)))
