"""Many episodes of one finite problem, stepped at once."""

from collections.abc import Callable

import numpy as np

from understudy.contracts.tables import Tables


class Many:
    """n copies of a finite problem. `show` makes observations of the codes that its states emit."""

    def __init__(self, tables: Tables, n: int, rng: np.random.Generator, show: Callable[[np.ndarray], np.ndarray]):
        self.tables, self.rng, self.show = tables, rng, show
        self.state = np.zeros(n, np.int64)

    def reset(self) -> np.ndarray:
        """The first observation of each."""
        self.state = self._picked(np.broadcast_to(self.tables.start, (len(self.state), len(self.tables.start))))
        self.observations = self._observed(self.state)
        return self.observations

    def step(self, playing: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Step those that play: all observations, and of those that play the rewards and whether it is over."""
        state, tables = self.state[playing], self.tables
        place = (state, actions, self._picked(tables.outcome[state, actions]))
        self.state[playing] = tables.next_state[place]
        self.observations[playing] = self._observed(self.state[playing])
        return self.observations, tables.reward[place], tables.terminated[place]

    def _picked(self, cumulated: np.ndarray) -> np.ndarray:
        """An index from each row of cumulated probabilities."""
        u = self.rng.random((len(cumulated), 1))
        return (cumulated[:, :-1] <= u).sum(axis=1)

    def _observed(self, state: np.ndarray) -> np.ndarray:
        return self.show(self.tables.observation[state, self._picked(self.tables.emission[state])])
