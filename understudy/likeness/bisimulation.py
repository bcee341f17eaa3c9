"""Likeness learned from what follows, where observations are only codes: a bisimulation distance without its noise."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtri

from understudy.contracts import Log
from understudy.errors import SettingError
from understudy.likeness.pairs import NEIGHBORS, Lists, lists_of_distances, radii_of_distances, sampled
from understudy.likeness.pruning import PairTest
from understudy.likeness.remembering import Remembered
from understudy.likeness.rule import LEVEL
from understudy.settings import positive, real

MOST_STATES = 4000
"""Of a matrix of distances between states: 128 MB, and several of them at a time."""

SWEEPS = 20  # at most
ENOUGH = 0.02  # sweeps end when no squared distance changes by more than this share of their mean
HALVES = 2.0
"""Suggested radii are larger by so much: on the halves of a log that an audit fits on, upper ends are."""

LEAST_KNOWN = 0.5  # of the actions, for two states to have a distance
PRIOR_ROWS = 2.0  # of the usual noise, so that few rows that happen to agree are not taken for no noise


def transitions(*, discount: float = 0.9, tested: bool = True) -> "TransitionLikeness":
    """Return the likeness under which states are alike where, after every action, about the same follows.

    Use it where observations are codes, which say nothing by themselves. The squared distance of two states is a mean
    over actions of three parts: the squared difference of mean rewards (in standard deviations of the log's rewards),
    that of the probabilities that the episode ends (likewise), and `discount` times the squared distance of what they
    lead to: of the two distributions of next states, under this distance itself (the distance between mean embeddings
    of the kernel that it belongs to, as Wasserstein's distance is in bisimulation metrics). It is the fixed point of
    this, found by sweeps.

    Products of different rows estimate it without the noise of single rows, and the *upper* end of its interval (95%)
    counts; an action that one of the two states has fewer than two rows of counts as much as between any two states,
    and where that holds of more than half of the actions there is no distance. So nothing is alike only because little
    is known of it. Where `tested`, two states are not alike if the log shows that they are worth more apart than the
    rule of `audit` allows.

    For up to 4,000 states: the distances of all pairs are computed.
    """
    return TransitionLikeness(discount, tested)


class TransitionLikeness:
    """States are alike where, after every action, about the same follows: see `transitions`."""

    def __init__(self, discount: float, tested: bool) -> None:
        self._discount = real("discount", discount, 0.0, 1.0, ends=False)
        self._test, self._distances = PairTest(tested), Remembered()

    @property
    def settings(self) -> dict[str, Any]:
        """The discount, and whether pairs are tested."""
        return {"likeness": "transitions", "discount": self._discount, "tested": self._test.on}

    def neighbors(self, log: Log, state: np.ndarray, next_state: np.ndarray, n_states: int, radius: float) -> Lists:
        states, distance = self._found(log, state, next_state)
        lists = lists_of_distances(lambda part: distance[part], states, n_states, positive("radius", radius))
        return self._test(lists, log, state, next_state, n_states)

    def radii(self, log: Log, state: np.ndarray, next_state: np.ndarray, n_states: int) -> np.ndarray:
        states, distance = self._found(log, state, next_state)
        if len(states) < 2:
            return np.empty(0)
        nearest = np.sort(distance[sampled(len(states))], axis=1)[:, 1 : NEIGHBORS[-1] + 1]
        return HALVES * radii_of_distances(nearest)

    def _found(self, log: Log, state: np.ndarray, next_state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the states that rows leave from, (n,), and the distances between them, (n, n)."""
        return self._distances(
            log, state, next_state, lambda: upper_distances(log, state, next_state, self._discount)
        )  # fmt: skip

    def __repr__(self) -> str:
        return "transitions()" if self._discount == 0.9 else f"transitions(discount={self._discount})"


def upper_distances(
    log: Log, state: np.ndarray, next_state: np.ndarray, discount: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the states that rows leave from, (n,), and the upper ends of the distances between them, (n, n).

    A state's distance from itself is 0.
    """
    states = np.unique(state[state >= 0])
    if len(states) > MOST_STATES:
        raise SettingError(
            f"the log has {len(states):,} states, and transitions() compares up to {MOST_STATES:,}; use "
            "likeness.observations() where observations are numbers, or an encoder with fewer states"
        )
    squared = np.zeros((len(states), len(states)))
    if not len(states):
        return states, squared
    actions = rows_by_action(log, state, next_state, states)
    for _ in range(SWEEPS):
        before, squared = squared, mean_over_actions(actions, squared, discount).squared
        if np.abs(squared - before).max(initial=0.0) <= ENOUGH * squared.mean():
            break
    found = mean_over_actions(actions, squared, discount)
    upper = np.sqrt(found.squared + ndtri(LEVEL) * np.sqrt(found.variance))
    upper[found.known_share < LEAST_KNOWN] = np.inf
    np.fill_diagonal(upper, 0.0)
    return states, upper


class Compared(NamedTuple):
    """What is known of the squared distances between states, (n, n) each."""

    squared: np.ndarray
    variance: np.ndarray
    known_share: np.ndarray  # of the log's actions have rows enough in both states


class ActionRows:
    """Rows of one action, by the state that they leave from: their number, mean outcomes and where they lead."""

    def __init__(self, here: np.ndarray, there: np.ndarray, outcomes: list[np.ndarray], n: int) -> None:
        self.rows = np.bincount(here, minlength=n).astype(np.float64)
        size = np.maximum(self.rows, 1.0)
        self.mean = np.stack([np.bincount(here, outcome, minlength=n) / size for outcome in outcomes], axis=1)
        squares = np.bincount(here, sum(outcome**2 for outcome in outcomes), minlength=n)
        scatter = np.maximum(squares - self.rows * np.square(self.mean).sum(axis=1), 0.0)
        self.variance = scatter / np.maximum(self.rows - 1.0, 1.0)  # of one row's outcomes
        goes_on = there >= 0
        here, there = here[goes_on], there[goes_on]
        self.onward_rows = np.bincount(here, minlength=n).astype(np.float64)
        weight = 1.0 / np.maximum(self.onward_rows, 1.0)[here]
        self.onward = csr_array((weight, (here, there)), shape=(n, n))

    @property
    def known(self) -> np.ndarray:
        """True for each state with rows enough to tell their noise from differences."""
        return self.rows > 1.5

    def compared(self, squared: np.ndarray, discount: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the squared distance of what follows each two states, without its noise, and its variance, (n, n).

        `squared` are the squared distances of next states. Of two distributions it is the mean over pairs of one each,
        less half the mean over pairs of two from the same: the squared distance between their mean embeddings.
        """
        between = self.onward @ (self.onward @ squared).T
        n = self.onward_rows
        within = np.diagonal(between) * n / np.maximum(n - 1.0, 1.0) / 2  # pairs of different rows; the noise of one
        moved = between - np.diagonal(between)[:, None] / 2 - np.diagonal(between) / 2
        moved = np.where((n[:, None] > 0.5) & (n > 0.5), moved, 0.0)  # that one always ends is in the outcomes
        of_mean = np.square(self.mean).sum(axis=1)
        off = of_mean[:, None] + of_mean - 2 * self.mean @ self.mean.T + discount * moved
        noise = self.variance / np.maximum(self.rows, 1.0) + discount * within / np.maximum(n, 1.0)
        found = off - noise[:, None] - noise

        one_row = self.variance + discount * within
        usual = np.average(one_row, weights=self.rows) if self.rows.any() else 0.0
        cautious = (self.rows * one_row + PRIOR_ROWS * usual) / (self.rows + PRIOR_ROWS) / np.maximum(self.rows, 1.0)
        spread = cautious[:, None] + cautious
        return found, 2 * spread**2 + 4 * spread * np.maximum(found, 0.0)


def rows_by_action(log: Log, state: np.ndarray, next_state: np.ndarray, states: np.ndarray) -> list[ActionRows]:
    """Return the rows of each action that the log has."""
    kept = state >= 0
    here, place = (np.searchsorted(states, column[kept]) for column in (state, next_state))
    place = np.minimum(place, len(states) - 1)
    # Nothing is known of a state that no row leaves from, nor of what follows an end.
    there = np.where(~log.terminated[kept] & (states[place] == next_state[kept]), place, -1)
    outcomes = [standardized(column[kept].astype(np.float64)) for column in (log.reward, log.terminated)]
    taken = log.action[kept]
    return [
        ActionRows(here[taken == action], there[taken == action], [x[taken == action] for x in outcomes], len(states))
        for action in np.unique(taken)
    ]


def mean_over_actions(actions: list[ActionRows], squared: np.ndarray, discount: float) -> Compared:
    """Return the squared distances of states as means over actions.

    An action that is not known of both states counts as the mean over all pairs and actions that are known.
    """
    total, variance, n_known = (np.zeros_like(squared) for _ in range(3))
    for action in actions:
        found, spread = action.compared(squared, discount)
        known = action.known[:, None] & action.known
        np.fill_diagonal(known, False)
        total += np.where(known, found, 0.0)
        variance += np.where(known, spread, 0.0)
        n_known += known
    usual = max(total.sum() / max(n_known.sum(), 1.0), 0.0)
    mean = np.maximum(total + (len(actions) - n_known) * usual, 0.0) / max(len(actions), 1)
    np.fill_diagonal(mean, 0.0)
    return Compared(mean, variance / max(len(actions), 1) ** 2, n_known / max(len(actions), 1))


def standardized(outcome: np.ndarray) -> np.ndarray:
    """Return an outcome less its mean, in standard deviations; all 0 where it never varies."""
    spread = outcome.std() if len(outcome) else 0.0
    return (outcome - outcome.mean()) / spread if spread > 0 else np.zeros(len(outcome))
