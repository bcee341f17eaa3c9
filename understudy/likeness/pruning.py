"""Pairs of like states that the log shows to differ are left out."""

import numpy as np
from scipy.special import ndtri

from understudy.contracts import Log
from understudy.likeness.differences import cells_of, noise_of
from understudy.likeness.pairs import Lists, lists_of_pairs
from understudy.likeness.remembering import Remembered
from understudy.likeness.rule import LEVEL, VALUE_SHARE
from understudy.likeness.values import DISCOUNT, PlaceModel, places_of_log, range_of, values_at

CHUNK = 200_000  # pairs compared at a time


class PairTest:
    """Leaves out pairs of like states that the log shows to differ, where it is on."""

    def __init__(self, on: bool) -> None:
        self.on, self._cells = bool(on), Remembered()

    def __call__(self, lists: Lists, log: Log, state: np.ndarray, next_state: np.ndarray, n_states: int) -> Lists:
        if not self.on or not len(lists[1]):
            return lists
        if np.bincount(state[state >= 0]).max(initial=0) < 2:  # single rows tell nothing but their noise
            return lists
        cells = self._cells(log, state, next_state, lambda: ValueCells(log, state, next_state, n_states))
        return without_differing(lists, cells)


class ValueCells:
    """Mean value after each state and action of a log, in shares of the range of values, and its noise."""

    def __init__(self, log: Log, state: np.ndarray, next_state: np.ndarray, n_states: int) -> None:
        places = places_of_log(log, state, next_state, n_states, seed=0)
        value = PlaceModel(log, places, np.arange(len(log))).best_values(DISCOUNT)
        value_range = range_of(values_at(places.here, value))
        following = values_at(places.next, value)
        worth = log.reward + np.where(log.terminated, 0.0, DISCOUNT * following)
        worth = (worth - np.nanmean(worth)) / value_range if value_range > 0 else np.full(len(log), np.nan)
        cells = cells_of(state, log.action, worth, (n_states, log.spec.n_actions))
        self.rows = cells.rows
        self.mean, self.variance = noise_of(cells)

    def shown_to_differ(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return, for each pair of states, True if their values differ by more than the rule allows.

        The squared difference is a mean over the actions that both have two rows of, weighted by how well each is
        known, less its noise; it counts by the lower end of its interval, so that pairs of which little is known are
        kept.
        """
        n, m = self.rows[one], self.rows[other]
        weight = np.where((n > 1.5) & (m > 1.5), n * m / np.maximum(n + m, 1.0), 0.0)
        noise = (m * self.variance[one] + n * self.variance[other]) / np.maximum(n + m, 1.0)  # times weight
        squared = weight * np.square(self.mean[one] - self.mean[other]) - np.where(weight > 0, noise, 0.0)
        total = np.maximum(weight.sum(axis=1), 1e-300)
        mean = squared.sum(axis=1) / total
        noise = np.where(weight > 0, noise, 0.0)
        error = np.sqrt((2 * noise**2 + 4 * weight * noise * np.maximum(mean, 0.0)[:, None]).sum(axis=1)) / total
        return mean - ndtri(LEVEL) * error > VALUE_SHARE**2


def without_differing(lists: Lists, cells: ValueCells) -> Lists:
    """Return the lists without pairs of states that the log shows to differ."""
    first, members = lists
    n_states = len(first) - 1
    one = np.repeat(np.arange(n_states), np.diff(first))
    once = one < members
    one, other = one[once], members[once]
    kept = np.ones(len(one), dtype=bool)
    for begin in range(0, len(one), CHUNK):
        part = slice(begin, begin + CHUNK)
        kept[part] = ~cells.shown_to_differ(one[part], other[part])
    return lists_of_pairs(one[kept], other[kept], n_states)
