"""Model-based simulation: rows are drawn from the maximum-likelihood model of a log, with replacement."""

from typing import Any

import numpy as np

from understudy.contracts import Encoder, Log, Rehearsal
from understudy.contracts.streams import streams_of
from understudy.contracts.vocabulary import Vocabulary
from understudy.simulators.coding import LOG_POSITIONS, CodedArrays, largest_observation
from understudy.simulators.index import Index, grouped, index
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.model import Model
from understudy.simulators.options import LOG_LIMIT, option_code, time_limit
from understudy.simulators.read_only import read_only
from understudy.simulators.rehearsal import KernelRehearsal
from understudy.simulators.sharing import shared_rehearsals

EMISSIONS = {"uniform": 1, "empirical": 1, "row": 0}


class ModelSimulator:
    """A log as a model, whose rows can be drawn any number of times. Made by `model`."""

    kind = "simulated"
    compilable = True
    exhaustible = foreseeable = False
    serves_rows = True

    def __init__(self, index: Index, *, emission: str, max_episode_steps: int | str | None) -> None:
        self.log, self.index = index.log, index
        self.n_actions, self.n_states = self.log.spec.n_actions, index.n_states
        limit = time_limit(self.log, max_episode_steps)
        self.settings = {"simulator": "model", "emission": emission, "max_episode_steps": limit}
        rules = np.zeros(layout.N_RULES, np.int64)
        rules[layout.TIME_LIMIT] = limit or 0
        rules[layout.REDRAW_OBSERVATION] = option_code("emission", emission, EMISSIONS)
        self._rules, self.serves_emissions = read_only(rules), bool(rules[layout.REDRAW_OBSERVATION])
        key = np.where(index.state < 0, -1, index.state.astype(np.int64) * self.n_actions + self.log.action)
        self._first, self._members = map(read_only, grouped(key, self.n_states * self.n_actions))
        self._first_emission, self._emissions = map(read_only, emissions(index, emission))
        self._needs_code = ~self.log.terminated | may_be_emitted(index)
        self._arrays = CodedArrays(self._coded, largest_observation(self.log.observation, self.log.next_observation))

    def start(self, seed: int, codes: Any = None) -> KernelRehearsal:
        """Return a new rehearsal; `codes` are those of a learner with a table of its own."""
        records, opening, emission_code = self._arrays(codes)
        cursor = np.zeros(layout.N_CURSOR, np.int64)
        cursor[layout.EPISODE_OVER] = 1
        source = Model(
            records, opening, self._first, self._members, self._first_emission, self._emissions, emission_code,
            self._rules, streams_of(seed), cursor,
        )  # fmt: skip
        return KernelRehearsal(
            source,
            n_actions=self.n_actions,
            first_observation=self.log.observation.__getitem__,
            next_observation=self._next_observation,
            index=self.index,
        )

    def start_shared(self, seed: int, n: int) -> list[Rehearsal]:
        return shared_rehearsals(self.start(seed), n)

    def select(self, episodes: np.ndarray) -> "ModelSimulator":
        options: dict[str, Any] = {name: self.settings[name] for name in ("emission", "max_episode_steps")}
        return ModelSimulator(self.index.select(episodes), **options)

    def _coded(self, codes: Any) -> tuple[np.ndarray, ...]:
        columns = (self.log.observation, self.log.next_observation)
        if codes is LOG_POSITIONS:  # asked for only where no observation is drawn anew, so that there are no emissions
            return *self.index.coded(codes), np.empty(0, np.int32)
        if codes is not None:
            # A terminal row's next observation may be drawn after a row that is not terminal.
            columns = (codes.batch(columns[0]), codes.batch(columns[1], self._needs_code))
        elif self.log.spec.n_observations is None:
            return *self.index.coded(None), np.zeros(len(self._emissions), np.int32)
        row = self._emissions % len(self.log)
        code = np.where(self._emissions < len(self.log), columns[0][row], columns[1][row])
        return *self.index.coded(codes), code.astype(np.int32)

    def _next_observation(self, row: int, emission: int) -> Any:
        if emission == layout.EMPTY:
            return self.log.next_observation[row]
        if emission < len(self.log):
            return self.log.observation[emission]
        return self.log.next_observation[emission - len(self.log)]

    def __repr__(self) -> str:
        return f"model({len(self.log):,} rows, {self.n_states:,} states, emission={self.settings['emission']!r})"


def may_be_emitted(index: Index) -> np.ndarray:
    """Return, (N,) bool, True for each row whose next state is also that of a row which is not terminal."""
    next_state = index.next_state
    return np.isin(next_state, next_state[~index.log.terminated])


def emissions(index: Index, law: str) -> tuple[np.ndarray, np.ndarray]:
    """Return where each state's observations start in a list, and that list: i is row i's, N + i its next observation.

    Under the law "uniform" every distinct observation of a state is listed once, under "empirical" as often as it was
    logged, as an observation or as a next one; under "row" the list is empty.
    """
    log, n = index.log, len(index.log)
    state = np.concatenate([index.state, index.next_state])
    if law == "row":
        return np.zeros(index.n_states + 1, np.int64), np.empty(0, np.int32)
    if law == "uniform":
        vocabulary = Vocabulary(log.observation, log.next_observation)
        code = np.concatenate([vocabulary.codes(log.observation), vocabulary.codes(log.next_observation)])
        repeated = np.ones(2 * n, bool)
        repeated[np.unique(code, return_index=True)[1]] = False
        state = np.where(repeated, -1, state)
    return grouped(state, index.n_states)


def model(
    log: Log,
    encoder: Encoder | None = None,
    *,
    emission: str = "uniform",
    max_episode_steps: int | str | None = LOG_LIMIT,
) -> ModelSimulator:
    """Return the maximum-likelihood model of a log: rows of the state and the drawn action, with replacement.

    Without an encoder this is the paper's sim1, with one its sim2: the next state is that of the drawn row, and its
    observation is drawn anew, "uniform" over the distinct observations seen in that state, or by their "empirical"
    law; with `emission="row"` the row's own is kept. Openings are drawn with replacement. A run ends
    only where an action was never logged in a state; a learner can exploit the noise of rows that it meets again.
    """
    return ModelSimulator(index(log, encoder), emission=emission, max_episode_steps=max_episode_steps)
