"""The expected regret of a choice: how much more the best of the candidates may earn than the one that was chosen."""

import numpy as np

DRAWS = 4_000
"""Draws of the true differences; their own error is about a fiftieth of the regret."""


def expected_regret(behind: np.ndarray, error: np.ndarray, deviations: np.ndarray, seed: int = 0) -> float:
    """Return the expected value of how much the best of the candidates truly is ahead of the choice; 0 where none is.

    `behind`, (N,), says by how much each candidate was behind the choice, `error`, (N,), the standard error of that,
    and `deviations`, (R, N), how far each run's difference was from its mean, which shows how errors of candidates go
    together. Nothing else is assumed to be known of the candidates, which makes it too large rather than too small
    where most of them are equal.

    >>> expected_regret(np.array([5.0]), np.array([0.1]), np.array([[1.0], [-1.0]]))
    0.0
    >>> round(expected_regret(np.array([0.0]), np.array([1.0]), np.array([[1.0], [-1.0]])), 1)  # 1 / sqrt(2 pi)
    0.4
    """
    known = np.where(np.isfinite(deviations), deviations, 0.0)
    size = np.sqrt((known**2).sum(axis=0))
    directions = np.divide(known, size, out=np.zeros_like(known), where=size > 0)
    drawn = np.random.default_rng(seed).standard_normal((DRAWS, len(known))) @ directions * error
    return float(np.maximum(drawn - behind, 0.0).max(axis=1).mean())
