"""The class of simulators that replay each logged row at most once: QBE, PSRS and the trivial baselines.

Four choices tell them apart: how rows are queued, when a row is accepted, whether rows that were not accepted are
kept, in what order the log is read.
"""

import weakref
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from understudy.contracts import Log, Rehearsal
from understudy.contracts.streams import streams_of
from understudy.errors import SettingError
from understudy.mapped import reserved
from understudy.simulators.coding import CodedArrays, largest_observation
from understudy.simulators.index import Index, with_state_means
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.records import RECORD
from understudy.simulators.kernels.reserve import ReserveTape, rewind_reserve
from understudy.simulators.kernels.tape import BLOCK_END, Tape, rewind
from understudy.simulators.options import LOG_LIMIT, option_code, time_limit
from understudy.simulators.queues import empty_queues, ends_of, queue_numbers, reserve_ends
from understudy.simulators.read_only import read_only
from understudy.simulators.reading_ahead import read_ahead_of
from understudy.simulators.rehearsal import KernelRehearsal
from understudy.simulators.sharing import shared_rehearsals

ORDERS = {"log": layout.IN_LOG_ORDER, "episodes": layout.BY_EPISODES, "rows": layout.BY_ROWS}
STOPS = {"plain": layout.PLAIN, "predictable": layout.PREDICTABLE}
OPENINGS = {"queue": 0, "replacement": 1}
OWN, STATE_MEAN = "own", "state mean"
PROPENSITIES = {OWN: 0, STATE_MEAN: 1}


class Replay:
    """A log replayed row by row. Made by `psrs`, `qbe`, `states_only`, `actions_only` and `any_row`."""

    kind = "simulated"
    compilable = True
    exhaustible = True
    serves_rows = foreseeable = True
    serves_emissions = False

    def __init__(
        self,
        name: str,
        index: Index,
        *,
        accept: int,
        by_state: bool = True,
        reserve: bool = False,
        propensity: str = OWN,
        stop: str = "plain",
        order: str = "episodes",
        openings: str = "queue",
        max_episode_steps: int | str | None = LOG_LIMIT,
    ) -> None:
        self.log, self.index = index.log, index if propensity == OWN else with_state_means(index)
        self.n_actions, self.n_states = self.log.spec.n_actions, index.n_states
        limit = time_limit(self.log, max_episode_steps)
        self._options: dict[str, Any] = {"accept": accept, "by_state": by_state, "stop": stop, "order": order}
        self._options |= {"openings": openings, "max_episode_steps": limit, "reserve": reserve}
        self._options["propensity"] = propensity
        self.settings: dict[str, Any] = {"simulator": name, "order": order, "openings": openings}
        self.settings |= {"max_episode_steps": limit} | ({"stop": stop} if accept == layout.DRAWN_ACTION else {})
        self.settings |= {"reserve": True} if reserve else {}
        self.settings |= {} if propensity == OWN else {"propensity": propensity}

        rules = {
            layout.ACCEPT: accept,
            layout.BY_STATE: by_state,
            layout.STOP_RULE: option_code("stop", stop, STOPS),
            layout.READ_ORDER: option_code("order", order, ORDERS),
            layout.REPLACE_OPENINGS: option_code("openings", openings, OPENINGS),
            layout.TIME_LIMIT: limit or 0,
        }
        self.rules = read_only(np.array([int(rules.get(position, 0)) for position in range(layout.N_RULES)]))
        queue_of, self.n_queues = queue_numbers(index, accept, by_state)
        self.queue_of = read_only(queue_of)
        self._end = ends_of(index, self.queue_of, self.n_queues, accept, by_state)
        # The reserve of a state and action has room for all of its rows; without a reserve there are none.
        self._reserve_end = reserve_ends(index) if reserve else None
        self._episodes = read_only(index.on_disk.episodes if index.on_disk is not None else episodes_of(self.log))
        self._copies = 1
        self._arrays = self._coded_arrays()
        self._spare_workspaces: list[tuple[np.ndarray, ...]] = []

    def start(self, seed: int, codes: Any = None) -> KernelRehearsal:
        """Return a new rehearsal; `codes` are those of a learner with a table of its own."""
        records, opening = self._arrays(codes)
        try:
            workspace = self._spare_workspaces.pop()
        except IndexError:
            workspace = self._workspace()
        queues, queued, order, opening_order, filled, cursor, *reserve = workspace
        source: Any = Tape(
            records, self.queue_of, self._episodes, opening, self.index.inverse_propensity, self.rules,
            queues, queued, order, opening_order, filled, streams_of(seed), cursor,
        )  # fmt: skip
        if reserve:
            reserves, kept, lacking, excess = reserve
            source = ReserveTape(source, reserves, kept, lacking, excess, self.rules, cursor)
            rewind_reserve(source)
        else:
            rewind(source)
        rehearsal = KernelRehearsal(
            source,
            n_actions=self.n_actions,
            first_observation=self.log.observation.__getitem__,
            next_observation=self._next_observation,
            index=self.index,
        )
        weakref.finalize(rehearsal, self._spare_workspaces.append, workspace).atexit = False
        if self.index.on_disk is not None and self._copies == 1:
            read_ahead_of(rehearsal, source.tape if reserve else source)
        return rehearsal

    def start_shared(self, seed: int, n: int) -> list[Rehearsal]:
        return shared_rehearsals(self.start(seed), n)

    def select(self, episodes: np.ndarray) -> "Replay":
        return Replay(self.settings["simulator"], self.index.select(episodes), **self._options)

    def repeated(self, copies: int) -> "Replay":
        """Return the same simulator over so many copies of its log, one after another, each in an order of its own.

        Rows keep their numbers. With one seed a run is the same as in this simulator, until its own log has no answer.
        (With `order="rows"` the rows of all copies are shuffled together, and runs differ from the first step on.)
        Runs need `max_steps`, and read the log no further than they need it: no loop looks ahead.
        """
        n_queued, n_episodes = int(self._end[-1]) * copies, self.log.n_episodes * copies
        if max(n_queued, n_episodes, len(self.log) * copies) >= 2**31:
            raise SettingError(f"{copies:,} copies of {len(self.log):,} rows are more than can be counted; use fewer")
        if self.index.on_disk is not None and self.rules[layout.READ_ORDER] == layout.BY_ROWS:
            raise SettingError(
                "a log on disk is not repeated in order='rows'; use order='episodes', or read it into memory"
            )
        repeated = copy(self)
        repeated.settings = self.settings | {"copies": copies}
        repeated.exhaustible = repeated.foreseeable = False
        repeated._copies, repeated._spare_workspaces = copies, []
        repeated._end = self._end * copies
        repeated._reserve_end = None if self._reserve_end is None else self._reserve_end * copies
        episodes = np.tile(self._episodes, (copies, 1))
        episodes[:, BLOCK_END] += np.repeat(np.arange(copies) * self.log.n_episodes, self.log.n_episodes)
        repeated._episodes = read_only(episodes)
        if self.rules[layout.READ_ORDER] == layout.BY_ROWS:  # the tape's order is of positions in these arrays
            repeated.queue_of = read_only(np.tile(self.queue_of, copies))
        repeated._arrays = repeated._coded_arrays()
        return repeated

    def _coded_arrays(self) -> CodedArrays:
        on_disk = self.index.on_disk
        largest = (
            largest_observation(self.log.observation, self.log.next_observation) if on_disk is None else on_disk.largest
        )
        by_rows = self.rules[layout.READ_ORDER] == layout.BY_ROWS
        make = self.index.coded if self._copies == 1 else partial(tiled, self.index, self._copies, by_rows)
        return CodedArrays(make, largest)

    def _next_observation(self, row: int, emission: int) -> Any:
        return self.log.next_observation[row]

    def _workspace(self) -> tuple[np.ndarray, ...]:
        """Return the arrays that one rehearsal writes on. Memory is not touched before a run needs it."""
        by_rows = self.rules[layout.READ_ORDER] == layout.BY_ROWS
        n_rows, n_episodes = len(self.log) * self._copies, self.log.n_episodes * self._copies
        queued = reserved(int(self._end[-1]), RECORD)
        order = reserved(n_rows if by_rows else n_episodes, np.int32)
        opening_order = reserved(n_episodes if by_rows else 0, np.int32)
        filled, cursor = np.empty(len(self._end), np.int32), np.zeros(layout.N_CURSOR, np.int64)
        tape = empty_queues(self._end), queued, order, opening_order, filled, cursor
        if self._reserve_end is None:
            return tape
        kept = reserved(int(self._reserve_end[-1]), np.int32)
        return *tape, empty_queues(self._reserve_end), kept, np.empty(self.n_actions), np.empty(self.n_actions)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_spare_workspaces": []}

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.settings.items() if name != "simulator")
        return f"{self.settings['simulator']}({len(self.log):,} rows, {self.n_states:,} states, {options})"


def episodes_of(log: Log) -> np.ndarray:
    """Return the episodes of a log as a tape has them, (E, 3).

    An episode that the end of a recording cut off keeps its position: only the episodes between two of these are
    shuffled, in a block.
    """
    unfinished = np.append(np.flatnonzero(log.unfinished), log.n_episodes)
    block_end = unfinished[np.searchsorted(unfinished, np.arange(log.n_episodes))]
    return np.column_stack([log.starts[:-1], log.starts[1:], block_end])


def tiled(index: Index, copies: int, by_rows: bool, codes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the coded openings of so many copies of a log, and its records: of all copies where it is read by rows."""
    records, opening = index.coded(codes)
    return np.tile(records, copies) if by_rows else records, np.tile(opening, copies)
