"""Propensities that are shares of draws of the policy, made usable: never 0, and their inverse right on average.

A logger that cannot tell its probabilities draws from its policy n times, besides the draw that acted, and logs the
share x/n of each action. Simulators divide by propensities, and the mean of n/x is not 1/p: it is infinite where x may
be 0. With x + 1 in the place of x it is nearly right:

    E[(n + 1) / (x + 1)] = (1 - (1 - p)^(n + 1)) / p        for x ~ Binomial(n, p)

So the propensity of a chosen action is taken as (x + 1) / (n + 1). Those of all A actions are taken as
(x + 1) / (n + A), which sum to 1; all of them are smaller by the same factor, which rejection sampling does not notice.
What is left of the bias is the factor 1 - (1 - p)^(n + 1): .63 at p = 1/n, .99 at p = 4.6/n.
"""

from typing import Any

import numpy as np

from understudy.errors import LogError, SettingError
from understudy.logs.propensities.recognition import rounding


def checked_samples(n_samples: Any) -> int:
    """Return a number of draws. Raise `SettingError` unless it is a whole number from 1 on."""
    whole = isinstance(n_samples, int | np.integer) and not isinstance(n_samples, bool)
    if not whole or not 0 < n_samples < 2**53:
        raise SettingError(f"n_samples={n_samples!r} must be a whole number of draws, 1 or more")
    return int(n_samples)


def from_shares(shares: np.ndarray, n_samples: int) -> np.ndarray:
    """Return propensities for shares of n draws, (N, A) or (N,) of the chosen action.

    Raise `LogError` for the first row whose numbers are not such shares.

    >>> from_shares(np.array([[0.75, 0.25, 0.0]]), 4).round(3)
    array([[0.571, 0.286, 0.143]])
    >>> from_shares(np.array([0.0]), 4)
    array([0.2])
    """
    table = shares.reshape(len(shares), -1)
    slack = n_samples * rounding(table)  # of a count, by the decimals that shares were written with
    with np.errstate(invalid="ignore"):
        counts = np.round(table * n_samples) if slack < 0.5 else table * n_samples
        wrong = ~((table >= 0) & (table <= 1) & (np.abs(table * n_samples - counts) <= slack)).all(axis=1)
        if shares.ndim == 2:
            wrong |= np.abs(counts.sum(axis=1) - n_samples) > (0 if slack < 0.5 else slack * table.shape[1])
    if wrong.any():
        row = int(wrong.argmax())
        raise LogError(
            f"propensity is {', '.join(f'{value:.6g}' for value in table[row])} in row {row}, which is not made of "
            f"shares of {n_samples:,} draws; check n_samples=",
            "propensity-samples",
        )
    return ((counts + 1) / (n_samples + (shares.shape[1] if shares.ndim == 2 else 1))).reshape(shares.shape)


def to_shares(propensity: np.ndarray, n_samples: int) -> np.ndarray:
    """Return the shares that `from_shares` made propensities, (N, A), of: their mean is the true propensity.

    >>> to_shares(from_shares(np.array([[0.75, 0.25, 0.0]]), 4), 4).round(9)
    array([[0.75, 0.25, 0.  ]])
    """
    return (propensity * (n_samples + propensity.shape[1]) - 1) / n_samples
