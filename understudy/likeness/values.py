"""What an observation is worth, fitted on some rows of a log: the scale on which likeness is judged."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.spatial import cKDTree

from understudy.contracts import Log

DISCOUNT = 0.99  # unless another is given
EDGES = (0.05, 0.95)
"""The quantiles of values, over rows, between which their range lies."""

MOST_PRIOR_ROWS = 100.0
"""Of a place's mean value, which each of its actions has besides its own rows, so that luck makes no best action."""

ROUNDING = 1e-4  # values that differ by less than this share of them are equal
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


class PlaceModel:
    """Some rows of a log summed up by place and action: rewards, and the places that they lead to."""

    def __init__(self, log: Log, places: Places, rows: np.ndarray) -> None:
        here, action, reward = places.here[rows], log.action[rows], log.reward[rows]
        onward = csr_array(places.next[rows].multiply((~log.terminated[rows])[:, None]))
        by_action = [csr_array(here[action == a].T) for a in range(log.spec.n_actions)]  # (places, rows of the action)
        self.counts = np.stack([part.sum(axis=1) for part in by_action], axis=1)  # (places, actions)
        self.rewards = np.stack([part @ reward[action == a] for a, part in enumerate(by_action)], axis=1)
        self._leading = [csr_array(part @ onward[action == a]) for a, part in enumerate(by_action)]
        self.total = self.counts.sum(axis=1)
        self.known = self.total > 1e-6
        self._here, self._action, self._reward, self._onward = here, action, reward, onward

    def logged_values(self, reward: np.ndarray | None, discount: float) -> np.ndarray:
        """Return the values of places under the policy that was logged; 0 for places without rows.

        `reward`, (places,), is of each place; None for that of the rows.
        """
        size = np.maximum(self.total, 1e-6)
        earned = self.rewards.sum(axis=1) / size if reward is None else reward
        onward = csr_array(sum(self._leading[1:], start=self._leading[0]).multiply((1 / size)[:, None]))
        value = np.zeros_like(earned)
        for _ in range(SWEEPS):
            before, value = value, (earned + discount * (onward @ value)) * self.known
            if np.abs(value - before).max() <= ENOUGH * max(np.ptp(value), 1e-300):
                break
        return value

    def best_values(self, discount: float) -> np.ndarray:
        """Return the values of places under the best actions, by value iteration; NaN for places without rows.

        Actions that were not tried in a place are not taken there. An action's value is the mean over its rows and over
        some of the place's mean: as many as the noise of rows is larger than the difference between actions.
        """
        prior = self._prior_rows(self.logged_values(None, discount), discount)
        tried, size = self.counts > 1e-6, np.maximum(self.total, 1e-6)
        value = np.zeros(len(self.total))
        for _ in range(SWEEPS):
            sums = self.rewards + discount * np.stack([part @ value for part in self._leading], axis=1)
            mean = sums.sum(axis=1) / size
            q = (sums + prior * mean[:, None]) / np.maximum(self.counts + prior, 1e-6)
            best = np.where(self.known, np.where(tried, q, -np.inf).max(axis=1), 0.0)
            best[~self.known] = best[self.known].mean() if self.known.any() else 0.0  # worth as much as others
            moved, value = np.abs(best - value).max(), best
            if moved <= ENOUGH * np.ptp(value):
                break
        return np.where(self.known, value, np.nan)

    def _prior_rows(self, value: np.ndarray, discount: float) -> float:
        """Return the noise of one row over the variance of values between actions of a place, both without bias."""
        worth = self._reward + discount * (self._onward @ value)
        n_actions = self.counts.shape[1]
        sums, squares = np.zeros_like(self.counts), np.zeros_like(self.counts)
        for action in range(n_actions):
            part, taken = self._here[self._action == action].T, self._action == action
            sums[:, action], squares[:, action] = part @ worth[taken], part @ worth[taken] ** 2
        n = np.maximum(self.counts, 1e-6)
        several = self.counts > 1.5
        if not several.any():
            return MOST_PRIOR_ROWS
        noise = np.maximum(squares - sums**2 / n, 0.0)[several].sum() / (self.counts[several] - 1).sum()
        mean = sums / n
        center = (np.where(several, mean, 0.0).sum(axis=1) / np.maximum(several.sum(axis=1), 1))[:, None]
        off = np.where(several, np.square(mean - center), 0.0).sum()
        freedom = np.maximum(several.sum(axis=1) - 1, 0).sum()
        between = off / max(freedom, 1) - noise * (1 / n)[several].mean()
        return float(min(noise / between, MOST_PRIOR_ROWS)) if between > 0 else MOST_PRIOR_ROWS * float(noise > 0)


def values_at(weights: csr_array, value: np.ndarray) -> np.ndarray:
    """Return the value at each observation, given by its weights of places; NaN where one of these has none."""
    found = weights @ np.nan_to_num(value)
    missing = (weights @ np.isnan(value).astype(np.float64) > 1e-6) | (np.asarray(weights.sum(axis=1)).ravel() <= 0)
    return np.where(missing, np.nan, found)


def range_of(values: np.ndarray) -> float:
    """Return the range of values over rows, between two quantiles of them; 0 where all are equal, or there are none."""
    known = values[np.isfinite(values)]
    found = float(np.ptp(np.quantile(known, EDGES))) if len(known) else 0.0
    return found if found > ROUNDING * np.abs(known).max(initial=0.0) else 0.0
