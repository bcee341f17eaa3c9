"""Independent episodes of one finite problem, stepped together."""

from collections.abc import Callable

import numpy as np

from understudy.contracts.finite_tables import Tables


class TableEpisodes:
    """n episodes of a finite problem; `show` turns the codes that states emit into observations.

    Keeps the promises of `contracts.environments.ParallelEpisodes`.
    """

    def __init__(self, tables: Tables, n: int, rng: np.random.Generator, show: Callable[[np.ndarray], np.ndarray]):
        self.tables, self.rng, self.show = tables, rng, show
        self.state = np.zeros(n, np.int64)

    def reset(self) -> np.ndarray:
        self.state = self._draw(np.broadcast_to(self.tables.start, (len(self.state), len(self.tables.start))))
        self.observations = self._observe(self.state)
        return self.observations

    def step(self, running: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        state, tables = self.state[running], self.tables
        outcome = (state, actions, self._draw(tables.outcome[state, actions]))
        self.state[running] = tables.next_state[outcome]
        self.observations[running] = self._observe(self.state[running])
        return self.observations, tables.reward[outcome], tables.terminated[outcome]

    def _draw(self, cumulated: np.ndarray) -> np.ndarray:
        """Draw an index from each row of cumulated probabilities."""
        u = self.rng.random((len(cumulated), 1))
        return (cumulated[:, :-1] <= u).sum(axis=1)

    def _observe(self, state: np.ndarray) -> np.ndarray:
        return self.show(self.tables.observation[state, self._draw(self.tables.emission[state])])
