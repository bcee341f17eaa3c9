"""What a policy would earn from each observation on, predicted by a model of the log: for `off_policy`.

Single integers have a table. Vectors have a ridge regression for each action, where every episode has one step. For
vectors and longer episodes there is no model here: a regression of values on values may diverge.
"""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from understudy.logs import Log

MOST_ENTRIES = 1 << 22  # of a table of integer observations and actions; a larger one would be mostly empty
PRIOR_ROWS = 0.1  # of a row with the action's mean are added to each entry of a table of rewards, for empty ones
RIDGE = 1.0  # added to the diagonal, in units of standardized features
MOST_STEPS = 1e7  # values of more than so many times the largest reward are of episodes that hardly ever end


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
    policy: np.ndarray  # (n, A), at the observation
    over: np.ndarray  # nothing follows: the episode ended by itself, or was cut off
    next_policy: np.ndarray  # (n, A)

    @classmethod
    def of(cls, log: Log, rows: np.ndarray, policy: np.ndarray, next_policy: np.ndarray) -> "ModelRows":
        """Return some rows of a log."""
        return cls(
            log.observation[rows], log.action[rows], log.reward[rows], log.next_observation[rows],
            policy[rows], (log.terminated | log.truncated)[rows], next_policy[rows],
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
    """Evaluate the policy in the tables of rewards and successors that the rows are: a linear system, solved.

    An action that was not logged at an observation is valued as the mean of those that were; an observation without
    any row as the mean of all rewards. Raise `NoEndError` where values have no limit.
    """
    from scipy.sparse import csr_array, eye_array
    from scipy.sparse.linalg import MatrixRankWarning, spsolve

    known, place = np.unique(np.concatenate([rows.observation, rows.next_observation]), return_inverse=True)
    here, there = np.split(place, 2)
    n, cell = len(known), here * n_actions + rows.action
    policy = np.full((n, n_actions), 1 / n_actions)  # where no row leads, it does not matter
    policy[there] = rows.next_policy
    policy[here] = rows.policy
    counts = np.bincount(cell, minlength=n * n_actions).reshape(n, n_actions)
    logged, going_on = counts > 0, ~rows.over
    n_logged = np.maximum(logged.sum(axis=1), 1)
    # What the policy does on actions without a row is spread over those with one.
    weight = np.where(logged, policy + ((policy * ~logged).sum(axis=1) / n_logged)[:, None], 0.0)
    reward = np.bincount(cell, rows.reward, minlength=n * n_actions).reshape(n, n_actions) / np.maximum(counts, 1)
    share = (weight / np.maximum(counts, 1)).ravel()[cell]  # of each row in the step from its observation
    onward = csr_array((share[going_on], (here[going_on], there[going_on])), shape=(n, n))
    earned = np.where(logged.any(axis=1), (weight * reward).sum(axis=1), rows.reward.mean())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatrixRankWarning)
        value = spsolve((eye_array(n, format="csc") - gamma * onward).tocsc(), earned)
    largest = MOST_STEPS * max(float(np.abs(rows.reward).max()), 1e-300)
    if not np.isfinite(value).all() or np.abs(value).max() > largest:
        raise NoEndError
    following = np.bincount(cell[going_on], value[there[going_on]], minlength=n * n_actions).reshape(n, n_actions)
    q = reward + gamma * following / np.maximum(counts, 1)
    of_observation = np.where(logged, q, 0.0).sum(axis=1) / n_logged
    of_observation = np.where(logged.any(axis=1), of_observation, rows.reward.mean())
    table = np.full((n_codes, n_actions), rows.reward.mean())
    table[known] = np.where(logged, q, of_observation[:, None])
    return lambda observations: table[observations]


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
