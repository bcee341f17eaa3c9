"""What a policy would earn from each observation on, predicted by a model of the log: for `off_policy`.

Single integers have a table. Vectors have a ridge regression for each action, where every episode has one step. For
vectors and longer episodes there is no model here: a regression of values on values may diverge.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from understudy.logs import Log

MOST_ENTRIES = 1 << 22  # of a table of integer observations and actions; a larger one would be mostly empty
PRIOR_ROWS = 0.1  # of a row with the action's mean are added to each entry of a table of rewards, for empty ones
RIDGE = 1.0  # added to the diagonal, in units of standardized features
MOST_SWEEPS = 2_000  # of a table of several steps
CLOSE = 1e-6  # change of a sweep, as a share of the largest value, at which values are final


class NoEndError(Exception):
    """By a model of the log, episodes hardly ever end under the policy: what they earn cannot be summed up."""


Values = Callable[[np.ndarray], np.ndarray]
"""Makes the value of each action, (n, A), of observations, (n, ...)."""


class ModelRows(NamedTuple):
    """ModelRows of a log that a model is fitted on, and the policy at the observation that follows each of them."""

    observation: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    next_observation: np.ndarray
    over: np.ndarray  # nothing follows: the episode ended by itself, or was cut off
    next_policy: np.ndarray  # (n, A)

    @classmethod
    def of(cls, log: Log, rows: np.ndarray, next_policy: np.ndarray) -> "ModelRows":
        """Return some rows of a log."""
        return cls(
            log.observation[rows], log.action[rows], log.reward[rows], log.next_observation[rows],
            (log.terminated | log.truncated)[rows], next_policy[rows],
        )  # fmt: skip


def has_codes(log: Log) -> bool:
    """True if the observations of a log are integers that a table can have a row for."""
    return log.spec.n_observations is not None and log.spec.n_observations * log.spec.n_actions <= MOST_ENTRIES


def can_be_modeled(log: Log) -> bool:
    """True if there is a model for logs like this one."""
    return has_codes(log) or (log.n_episodes == len(log) and log.observation.dtype.kind in "iuf")


def model_of(log: Log, rows: ModelRows, gamma: float) -> Values:
    """Return a model of what the policy earns, fitted on some rows of a log."""
    n_actions = log.spec.n_actions
    if not has_codes(log):
        return _linear(rows, n_actions)
    n_codes = int(log.spec.n_observations or 0)
    return _table_of_rewards(rows, n_codes, n_actions) if log.n_episodes == len(log) else _table_of_values(
        rows, n_codes, n_actions, gamma
    )  # fmt: skip


def _means_by_action(rows: ModelRows, n_actions: int) -> np.ndarray:
    """Return the mean reward of each action, (A,); of all rows for an action without any."""
    counts = np.bincount(rows.action, minlength=n_actions)
    sums = np.bincount(rows.action, rows.reward, minlength=n_actions)
    return np.where(counts > 0, sums / np.maximum(counts, 1), rows.reward.mean())


def _table_of_rewards(rows: ModelRows, n_codes: int, n_actions: int) -> Values:
    cell = rows.observation.astype(np.int64) * n_actions + rows.action
    counts = np.bincount(cell, minlength=n_codes * n_actions).reshape(n_codes, n_actions)
    sums = np.bincount(cell, rows.reward, minlength=n_codes * n_actions).reshape(n_codes, n_actions)
    table = (sums + PRIOR_ROWS * _means_by_action(rows, n_actions)) / (counts + PRIOR_ROWS)
    return lambda observations: table[observations]


def _table_of_values(rows: ModelRows, n_codes: int, n_actions: int, gamma: float) -> Values:
    """Evaluate the policy in the tables of rewards and successors that the rows are: sweeps over all rows.

    An action that was not logged at an observation is valued as the mean of those that were; an observation without
    any row as the mean of all rewards. Raise `NoEndError` where values go on growing.
    """
    cell = rows.observation.astype(np.int64) * n_actions + rows.action
    counts = np.bincount(cell, minlength=n_codes * n_actions).reshape(n_codes, n_actions)
    logged = counts > 0
    q = np.zeros((n_codes, n_actions))
    for _ in range(MOST_SWEEPS):
        following = np.where(rows.over, 0.0, (q[rows.next_observation] * rows.next_policy).sum(axis=1))
        sums = np.bincount(cell, rows.reward + gamma * following, minlength=n_codes * n_actions)
        new = sums.reshape(n_codes, n_actions) / np.maximum(counts, 1)
        of_observation = np.where(logged, new, 0.0).sum(axis=1) / np.maximum(logged.sum(axis=1), 1)
        of_observation = np.where(logged.any(axis=1), of_observation, rows.reward.mean())
        new = np.where(logged, new, of_observation[:, None])
        change, q = np.abs(new - q).max(), new
        if change <= CLOSE * max(1.0, np.abs(q).max()):
            return lambda observations: q[observations]
    raise NoEndError


def _linear(rows: ModelRows, n_actions: int) -> Values:
    """Return a ridge regression of the reward on standardized features and a constant, one for each action."""
    flat = rows.observation.reshape(len(rows.observation), -1).astype(np.float64)
    center, spread = flat.mean(axis=0), flat.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)

    def features(observations: np.ndarray) -> np.ndarray:
        x = (observations.reshape(len(observations), -1).astype(np.float64) - center) / scale
        return np.column_stack([np.ones(len(x)), x])

    x, means = features(rows.observation), _means_by_action(rows, n_actions)
    penalty = np.diag(np.append(1e-6, np.full(x.shape[1] - 1, RIDGE)))
    weights = np.zeros((x.shape[1], n_actions))
    for action in range(n_actions):
        own = x[rows.action == action]
        left = rows.reward[rows.action == action] - means[action]
        weights[:, action] = np.linalg.solve(own.T @ own + penalty, own.T @ left)
    return lambda observations: features(observations) @ weights + means
