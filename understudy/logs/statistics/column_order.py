"""Whether propensity columns would fit the actions in another order."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from understudy.logs.log import Log
from understudy.logs.statistics.groups import by_value

MUCH_BETTER = 0.2  # another order of propensities is suggested where it has at most this share of the misfit
LISTED = 10  # actions named in a sentence
TENTHS = 10


def other_order(log: Log, fits: Callable[[Log], bool]) -> str | None:
    """Return the sentence for propensity columns that fit the actions in another order; None where none fits.

    `fits` tells whether the propensities of a log explain its actions.
    """
    from scipy.optimize import linear_sum_assignment

    assert log.propensity is not None
    costs = np.stack([_misfits(log, column) for column in range(log.spec.n_actions)])
    columns, order = linear_sum_assignment(costs - 1e-6 * np.eye(len(costs)))  # of equal orders, the given one
    if costs[columns, order].sum() > MUCH_BETTER * costs.trace():
        return None
    permuted = replace(log, propensity=log.propensity[:, np.argsort(order)])
    fit = "would fit" if fits(permuted) else "would fit far better"
    against = "actions=" if log.spec.actions else "the codes of the actions"
    return (
        f"the actions do not fit the logged propensities; they {fit} if the propensity columns were in the order "
        f"{_listed(log, order)}, and these are read as {_listed(log, columns)}: "
        f"check the order of propensity= against {against}"
    )


def _misfits(log: Log, column: int) -> np.ndarray:
    """Return how badly this column fits as the propensity of each action: squared z-scores, summed over bins."""
    assert log.propensity is not None
    p, n_actions = np.ascontiguousarray(log.propensity[:, column]), log.spec.n_actions
    bins = by_value(p, "", TENTHS)
    taken = np.bincount(bins.code.astype(np.int64) * n_actions + log.action, minlength=bins.size * n_actions)
    expected, variance = bins.sums(p), bins.sums(p * (1 - p))
    misses = taken.reshape(bins.size, n_actions) - expected[:, None]
    return (misses**2 / (variance[:, None] + 1)).sum(axis=0)  # 1, so that a bin of a few rows does not dominate


def _listed(log: Log, actions: np.ndarray) -> str:
    return ", ".join(action_name(log, action) for action in actions[:LISTED]) + ", ..." * (len(actions) > LISTED)


def action_name(log: Log, action: int) -> str:
    """Return the label of an action, or its code where actions have none."""
    return log.spec.actions[action] if log.spec.actions else str(action)
