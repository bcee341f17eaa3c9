"""Halves of a log: values and likeness are fitted on one, and like rows are compared with a row's own on the other."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from understudy.contracts import Likeness, Log
from understudy.likeness.differences import (
    N_GROUPS,
    Cells,
    MeanSquare,
    Statistic,
    explained_share,
    matrix_of,
    measured,
    squared_difference,
    squared_difference_of_single_rows,
    squared_noise,
)
from understudy.likeness.values import PlaceModel, Places, places_of_log, range_of, values_at

FEWEST_EPISODES = 2 * N_GROUPS
"""With fewer episodes, stretches of rows stand for them."""

MOST_ROWS = 8_000
"""The number of rows of each half that are compared, where observations hardly ever repeat."""


LEAST_SHARED = 0.5
"""The share of the variance of values that single like rows have in common, for their noise to be told."""

N_REWARDS, LEADS_DISCOUNT = 4, 0.9


class States(NamedTuple):
    """The states of a log's observations and next observations, (N,) each, -1 for none, and their number."""

    state: np.ndarray
    next_state: np.ndarray
    n_states: int

    def of_rows(self, rows: np.ndarray) -> "States":
        """Return the states of some rows."""
        return States(self.state[rows], self.next_state[rows], self.n_states)


class Half(NamedTuple):
    """Rows that values and likeness are fitted on, and others on which they are judged."""

    fitted: np.ndarray
    judged: np.ndarray
    place: np.ndarray  # of each judged row: that of its episode in a random order


def halves_of(log: Log, seed: int) -> list[Half]:
    """Return the two ways in which one half of the episodes is fitted on and the other judged."""
    if log.n_episodes >= FEWEST_EPISODES:
        cluster = np.repeat(np.arange(log.n_episodes), np.diff(log.starts))
    else:
        cluster = np.arange(len(log)) * FEWEST_EPISODES // len(log)
    n = int(cluster[-1]) + 1
    place = np.random.default_rng(seed).permutation(n)[cluster]
    first = place < n // 2
    return [Half(np.flatnonzero(one), np.flatnonzero(~one), place[~one]) for one in (first, ~first)]


class HeldOut:
    """Rows of one half of a log, and what values that were fitted on the other half say of them."""

    def __init__(self, log: Log, states: States, places: Places, half: Half, discount: float, seed: int) -> None:
        model = PlaceModel(log, places, half.fitted)
        value = model.best_values(discount)
        self.value_range = range_of(values_at(places.here[half.judged], value))

        known = np.zeros(states.n_states + 1, dtype=bool)  # the last is that of no state
        known[states.state[half.fitted]] = True
        known[-1] = False
        self.repeats = bool(known[states.state[half.judged]].mean() > 0.5)
        rows, place = half.judged, half.place
        if not self.repeats and len(rows) > MOST_ROWS:
            kept = place <= np.sort(place)[MOST_ROWS - 1]  # whole episodes, at random
            rows, place = rows[kept], place[kept]
        # Where observations never repeat, nothing can be learned of these states from other rows: a likeness is asked
        # about the rows themselves.
        fitted = half.fitted if self.repeats else rows
        self._fitted, self._fitted_states = rows_of_log(log, fitted), states.of_rows(fitted)
        self._state, self._action, self._group = states.state[rows], log.action[rows], place % N_GROUPS
        following = values_at(places.next[rows], value)
        total = log.reward[rows] + np.where(log.terminated[rows], 0.0, discount * following)
        self.outcomes = {
            "reward": log.reward[rows],
            "end": log.terminated[rows].astype(np.float64),
            "value": shares(total, self.value_range),
        }
        # Where rows lead, as values of rewards that are drawn at random for each place.
        drawn = np.random.default_rng(seed).standard_normal((N_REWARDS, len(value)))
        self._leads = []
        for reward in drawn:
            worth = np.where(np.isnan(value), np.nan, model.logged_values(reward, LEADS_DISCOUNT))
            led_to = np.where(log.terminated[rows], 0.0, values_at(places.next[rows], worth))
            self._leads.append(shares(led_to, range_of(values_at(places.here[half.judged], worth))))

    def differences(self, likeness: Likeness, radius: float) -> dict[str, MeanSquare]:
        """Return by how much like rows differ from a row's own, squared: reward, end, and value over its range.

        `leads` is the mean over values of random rewards, each over its own range.
        """
        lists = likeness.neighbors(self._fitted, *self._fitted_states, radius)
        here, state = np.unique(self._state, return_inverse=True)
        state, here = (state - 1, here[1:]) if here[0] < 0 else (state, here)
        like = matrix_of(lists, here)
        statistic: Statistic = partial(squared_difference, like=like)
        if not self.repeats:
            nearer = likeness.neighbors(self._fitted, *self._fitted_states, radius / 2)
            statistic = partial(squared_difference_of_single_rows, like=like, nearer=matrix_of(nearer, here))
            # Outcomes that change from row to row without any order would show no difference: they are not judged.
            shared = self._measured(self.outcomes["value"], state, len(here), partial(explained_share, like=like)).mean
            if not shared >= LEAST_SHARED:
                statistic = untold
        found = {name: self._measured(outcome, state, len(here), statistic) for name, outcome in self.outcomes.items()}
        leads = [self._measured(outcome, state, len(here), statistic) for outcome in self._leads]
        return found | {"leads": MeanSquare(*np.mean(leads, axis=0).tolist())}

    def noise(self) -> MeanSquare:
        """Return the variance of the value, over its range, among rows of one state and action."""
        here, state = np.unique(self._state, return_inverse=True)
        state = state - (here[0] < 0)
        return self._measured(self.outcomes["value"], state, int(state.max()) + 1, squared_noise)

    def _measured(self, outcome: np.ndarray, state: np.ndarray, n_states: int, statistic: Statistic) -> MeanSquare:
        shape = (n_states, int(self._action.max()) + 1)
        return measured(state, self._action, outcome, self._group, shape, statistic)


def held_out_halves(log: Log, states: States, discount: float, seed: int) -> list[HeldOut]:
    """Return both halves of a log, each judged by what the other says."""
    places = places_of_log(log, *states, seed)
    return [HeldOut(log, states, places, half, discount, seed) for half in halves_of(log, seed)]


def untold(cells: Cells) -> float:
    """Return NaN: nothing can be told."""
    return float("nan")


def shares(outcome: np.ndarray, value_range: float) -> np.ndarray:
    """Return an outcome over a range; NaN where there is none."""
    return outcome / value_range if value_range > 0 else np.full(len(outcome), np.nan)


def rows_of_log(log: Log, rows: np.ndarray) -> Log:
    """Return the log of some rows, in increasing order."""
    chosen: dict[str, Any] = {name: column[rows] for name, column in log.columns.items()}
    return replace(log, **chosen, dropped_reward=None, source_row=None)
