"""What an observation is worth, fitted on some rows of a log: the scale on which likeness is judged."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from understudy.contracts import Log

DISCOUNT = 0.99  # unless another is given
EDGES = (0.05, 0.95)
"""The quantiles of values, over rows, between which their range lies."""

PRIOR_ROWS = 2.0
"""Rows of the state's mean value that each of its actions has besides its own, so that luck makes no best action."""

SWEEPS = 3000  # of value iteration, at most
ENOUGH = 1e-4  # it ends when values move by less than this share of their range
N_LANDMARKS, N_NEAREST = 500, 8


class Places(NamedTuple):
    """Each row's observation and next observation as weights of a few places, whose values are fitted.

    Where observations repeat, places are states, and each observation is one; elsewhere they are observations spread
    over the log, and an observation lies between the nearest of them.
    """

    here: csr_array  # (N, n_places), each line sums to 1, or 0 where the observation has no state
    next: csr_array


def places_of_log(log: Log, state: np.ndarray, next_state: np.ndarray, n_states: int, seed: int) -> Places:
    """Return the places of a log's observations: states where most of them repeat, else some observations of it."""
    counts = np.bincount(state[state >= 0], minlength=n_states)
    if (counts[state[state >= 0]] > 1).mean() > 0.5:
        return Places(*(_of_states(column, n_states) for column in (state, next_state)))
    numbers = [column.reshape(len(log), -1).astype(np.float64) for column in (log.observation, log.next_observation)]
    scale = np.nanstd(numbers[0], axis=0)
    one, other = (np.nan_to_num(column / np.where(scale > 0, scale, 1.0)) for column in numbers)
    chosen = np.random.default_rng(seed).permutation(len(log))[:N_LANDMARKS]
    landmarks = np.unique(one[chosen], axis=0)
    return Places(_between(one, landmarks), _between(other, landmarks))


def _of_states(state: np.ndarray, n_states: int) -> csr_array:
    known = np.flatnonzero(state >= 0)
    return csr_array((np.ones(len(known)), (known, state[known])), shape=(len(state), n_states))


def _between(numbers: np.ndarray, landmarks: np.ndarray) -> csr_array:
    """Return weights of the nearest landmarks, (N, landmarks), that fall with the distance to 0 at the last of them."""
    k = min(N_NEAREST, len(landmarks))
    distance, nearest = cKDTree(landmarks).query(numbers, k=np.arange(1, k + 1))
    weight = np.maximum(1.0 - distance / np.maximum(distance[:, -1:] * (1 + 1e-9), 1e-300), 0.0) + 1e-9
    weight /= weight.sum(axis=1, keepdims=True)
    lines = np.repeat(np.arange(len(numbers)), k)
    return csr_array((weight.ravel(), (lines, nearest.ravel())), shape=(len(numbers), len(landmarks)))


def fitted_values(log: Log, places: Places, rows: np.ndarray, discount: float) -> np.ndarray:
    """Return the value of each place under the best actions, by value iteration on some rows; NaN where no row is.

    An action's value in a place is the mean over its rows there, with `PRIOR_ROWS` of the mean over all rows of the
    place. Actions that were not tried in a place are not taken there.
    """
    n_places, n_actions = places.here.shape[1], log.spec.n_actions
    here, onward = places.here[rows], places.next[rows]
    going_on = (~log.terminated[rows]).astype(np.float64)
    onward = csr_array(onward.multiply(going_on[:, None]))
    action, reward = log.action[rows], log.reward[rows]
    by_action = [csr_array(here[action == a].T) for a in range(n_actions)]  # (places, rows of the action)
    counts = np.stack([part.sum(axis=1) for part in by_action], axis=1)
    rewards = np.stack([part @ reward[action == a] for a, part in enumerate(by_action)], axis=1)
    leading = [csr_array(part @ onward[action == a]) for a, part in enumerate(by_action)]  # (places, places)
    total = counts.sum(axis=1)
    tried, known = counts > 1e-6, total > 1e-6
    # What follows a place without rows is taken to be worth as much as places are on average.
    value = np.zeros(n_places)
    for _ in range(SWEEPS):
        sums = rewards + discount * np.stack([part @ value for part in leading], axis=1)
        mean = sums.sum(axis=1) / np.where(known, total, 1.0)
        q = (sums + PRIOR_ROWS * mean[:, None]) / (counts + PRIOR_ROWS)
        best = np.where(tried, q, -np.inf).max(axis=1, initial=-np.inf)
        best = np.where(known, best, 0.0)
        best[~known] = best[known].mean() if known.any() else 0.0
        moved, value = np.abs(best - value).max(), best
        if moved <= ENOUGH * np.ptp(value[known]) if known.any() else True:
            break
    return np.where(known, value, np.nan)


def values_at(weights: csr_array, value: np.ndarray) -> np.ndarray:
    """Return the value at each observation, given by its weights of places; NaN where one of these has none."""
    found = weights @ np.nan_to_num(value)
    missing = (weights @ np.isnan(value).astype(np.float64) > 1e-6) | (np.asarray(weights.sum(axis=1)).ravel() <= 0)
    return np.where(missing, np.nan, found)


def range_of(values: np.ndarray) -> float:
    """Return the range of values over rows, between two quantiles of them; 0 where there are none."""
    known = values[np.isfinite(values)]
    return float(np.ptp(np.quantile(known, EDGES))) if len(known) else 0.0
