"""Propensities that are shares of draws of the policy, made usable: never 0, and right on average where it matters.

A logger that cannot tell its probabilities draws from its policy n times, besides the draw that acted, and logs the
share x/n of each action. Simulators divide by propensities, and the mean of n/x is not 1/p: it is infinite where x may
be 0. What to do depends on what is divided by what.

*The chosen action's alone*, as in weights and under a bound that is one number: with x + 1 in the place of x the
inverse is nearly right on average,

    E[(n + 1) / (x + 1)] = (1 - (1 - p)^(n + 1)) / p        for x ~ Binomial(n, p),

so that the propensity is taken as (x + 1) / (n + 1). The bias that is left is the factor 1 - (1 - p)^(n + 1): .63 at
p = 1/n, .99 at p = 4.6/n.

*All actions'*, as in PSRS, whose bound belongs to the row: an action is accepted in proportion to x_b / x_a, where b is
the action that sets the bound, and is often the rarest. One more draw for each action would make a rare b far too
common, and its mean is right as it is; so shares are used as they are, except that an action that no draw took counts
as a tenth of a draw. Then such a row serves that action or, almost always, none. The bias that is left is of the order
of 1/n.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import LogError, SettingError
from understudy.logs.propensities.recognition import rounding

if TYPE_CHECKING:
    from understudy.logs.log import Log

ALL_ROWS = slice(None)
UNSEEN = 0.1
"""As how many draws an action counts that none of them took."""


def checked_samples(n_samples: Any) -> int:
    """Return a number of draws. Raise `SettingError` unless it is a whole number from 1 on."""
    whole = isinstance(n_samples, int | np.integer) and not isinstance(n_samples, bool)
    if not whole or not 0 < n_samples < 2**53:
        raise SettingError(f"n_samples={n_samples!r} must be a whole number of draws, 1 or more")
    return int(n_samples)


def from_shares(shares: np.ndarray, n_samples: int, source_row: np.ndarray | None = None) -> np.ndarray:
    """Return propensities for shares of n draws, (N, A) or (N,) of the chosen action.

    Raise `LogError` for the first row whose numbers are not such shares, by its number in `source_row` if given.

    >>> from_shares(np.array([[0.75, 0.25, 0.0]]), 4).round(3)
    array([[0.732, 0.244, 0.024]])
    >>> from_shares(np.array([0.0]), 4)
    array([0.2])
    """
    table = shares.reshape(len(shares), -1)
    slack = n_samples * rounding(table)  # of a count, by the decimals that shares were written with
    exact = slack < 0.5 + 1e-6
    with np.errstate(invalid="ignore", over="ignore"):
        counts = np.round(table * n_samples) if exact else table * n_samples
        wrong = ~((table >= 0) & (table <= 1) & (np.abs(table * n_samples - counts) <= slack)).all(axis=1)
        if shares.ndim == 2:
            wrong |= np.abs(counts.sum(axis=1) - n_samples) > (0 if exact else slack * table.shape[1])
    if wrong.any():
        row = int(wrong.argmax())
        raise LogError(
            f"propensity is {', '.join(f'{value:.6g}' for value in table[row])} in row "
            f"{row if source_row is None else source_row[row]}, which is not made of "
            f"shares of {n_samples:,} draws; check n_samples=",
            "propensity-samples",
        )
    if shares.ndim == 1:
        return (counts[:, 0] + 1) / (n_samples + 1)
    counts = np.where(counts == 0, UNSEEN, counts)
    return counts / counts.sum(axis=1, keepdims=True)


def to_shares(propensity: np.ndarray, n_samples: int) -> np.ndarray:
    """Return the shares that `from_shares` made propensities, (N, A), of: their mean is the true propensity.

    >>> to_shares(from_shares(np.array([[0.75, 0.25, 0.0]]), 4), 4).round(9)
    array([[0.75, 0.25, 0.  ]])
    """
    seen = np.where(propensity > 2 * UNSEEN / n_samples, propensity, 0.0)
    return seen / seen.sum(axis=1, keepdims=True)


def chosen_propensities(log: "Log", part: slice = ALL_ROWS) -> np.ndarray | None:
    """Return the propensity of each row's action, (N,), for weights and bounds that are one number; None without any.

    Of some rows, where these are given. Where propensities of all actions are shares of draws, it is the one whose
    inverse is right on average.
    """
    p, source = log.propensity, log.propensity_source
    if p is None or p.ndim == 1:
        return p if p is None else p[part]
    p, action = p[part], log.action[part]
    rows = np.arange(len(action))
    if source is None or source.n_samples is None:
        return p[rows, action]
    return (to_shares(p, source.n_samples)[rows, action] * source.n_samples + 1) / (source.n_samples + 1)
