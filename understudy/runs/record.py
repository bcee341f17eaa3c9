"""What is recorded of a run as it goes, by the loop in plain Python and by the compiled one."""

from typing import Any, NamedTuple

import numpy as np

from understudy.contracts import Step, Stop
from understudy.contracts.ladders import ladder_of
from understudy.contracts.simulating import is_exhaustible, log_of, n_states_of, serves_emissions, serves_rows
from understudy.errors import SettingError
from understudy.runs.compact import NotKept
from understudy.runs.probes import Readings
from understudy.runs.run import Run

ROOM = 1024
"""The number of rows, or episodes, that arrays have room for at first where it is not known how many there will be."""

STEPS, EPISODES, BEGUN, CUTS = range(4)
"""Positions in `RecordArrays.tally`."""


class RecordArrays(NamedTuple):
    """The arrays of a record, as the compiled loop fills them."""

    rows: np.ndarray  # int32, one for each step; empty where no row is served, or none is kept
    emissions: np.ndarray  # int32, likewise
    rungs: np.ndarray  # uint8, likewise; empty where the simulator has no ladder
    openings: np.ndarray  # int32, one for each episode begun
    cuts: np.ndarray  # int64: the number of steps when each cut episode was; empty where the simulator has no ladder
    ends: np.ndarray  # int64: the number of steps when each finished episode was over
    returns: np.ndarray  # float64: the sum of its rewards
    visits: np.ndarray  # int64: steps taken from each state; empty where no probe counts them
    tally: np.ndarray  # (4,) int64: steps, finished episodes, begun episodes, cut episodes
    earned: np.ndarray  # (1,) float64: the current episode's rewards so far


class RunRecord:
    """Rows, episodes and readings of one run. `begin` and `add` are for Python; the compiled loop fills `arrays`.

    Where several copies of an env share a run, their episodes interleave: steps are kept in the order of delivery,
    openings in the order in which episodes began, ends and returns in the order in which they ended.
    """

    def __init__(self, simulator: Any, readings: Readings, seed: int, max_steps: int | None = None) -> None:
        self.readings, self.seed = readings, seed
        self.n_steps = self.n_begun = self.n_finished = self.n_cut = self._begun_at = 0
        self._has_ladder = bool(ladder_of(simulator))
        self._serves_rows, self._serves_emissions = serves_rows(simulator), serves_emissions(simulator)
        self._n_abandoned = 0
        self._earned: dict[int, float] = {}  # by the number of the copy whose episode is going on
        log = log_of(simulator)
        n_rows, n_episodes = max_steps or ROOM, ROOM
        if log is not None and is_exhaustible(simulator):
            n_rows, n_episodes = min(max_steps or len(log), len(log)), log.n_episodes + 1
        keeps_rows = readings.keep_rows and self._serves_rows
        try:
            rows = np.empty(n_rows if keeps_rows else 0, np.int32)  # room that is never used takes no memory
            emissions = np.empty(n_rows if readings.keep_rows and self._serves_emissions else 0, np.int32)
            rungs = np.empty(n_rows if self._has_ladder else 0, np.uint8)
        except (MemoryError, ValueError):
            what = "rows" if readings.keep_rows else "rungs"
            advice = "give a smaller max_steps=" + ", or keep_rows=False" * readings.keep_rows
            raise SettingError(f"the {what} of {n_rows:,} steps do not fit into memory; {advice}") from None
        self.arrays = RecordArrays(
            rows=rows,
            emissions=emissions,
            rungs=rungs,
            openings=np.empty(n_episodes, np.int32),
            cuts=np.empty(n_episodes if self._has_ladder else 0, np.int64),
            ends=np.empty(n_episodes, np.int64),
            returns=np.empty(n_episodes),
            visits=visits_of(simulator, readings),
            tally=np.zeros(4, np.int64),
            earned=np.zeros(1),
        )

    def begin(self, opening: int, copy: int = 0) -> None:
        """Record that an episode has begun with this row's observation."""
        if self.n_begun == len(self.arrays.openings):
            self._make_room_for_episodes()
        self.arrays.openings[self.n_begun] = opening
        self.n_begun += 1
        self._begun_at = self.n_steps
        self._earned[copy] = 0.0

    def take_back(self) -> None:
        """Forget the episode that began last, and its readings: it was passed over."""
        self.n_begun -= 1
        self.n_steps = self._begun_at
        self._earned.clear()
        self.readings.take_back(self.n_steps)

    def cut(self, copy: int = 0) -> None:
        """Record that the episode under way was cut: what was served of it stands, and it has no return."""
        self.arrays.cuts[self.n_cut] = self.n_steps
        self.n_cut += 1
        self._earned.pop(copy)

    def abandon(self) -> None:
        """Record that the learner abandons the episode under way, if there is one: what was served of it stands, and
        it has no return."""
        if self._earned:
            self._earned.clear()
            self._n_abandoned += 1
            self.arrays.earned[0] = 0.0

    def add(self, step: Step, state: int = -1, copy: int = 0, rung: int = 0) -> None:
        """Record a step, taken from this state where visits are counted, and served by this rung of a ladder."""
        arrays, n_steps = self.arrays, self.n_steps
        if self.readings.keep_rows:
            if self._serves_rows:
                if n_steps == len(arrays.rows):
                    arrays = self.make_room("rows")
                arrays.rows[n_steps] = step.row
            if self._serves_emissions:
                if n_steps == len(arrays.emissions):
                    arrays = self.make_room("emissions")
                arrays.emissions[n_steps] = step.emission
        if self._has_ladder:
            if n_steps == len(arrays.rungs):
                arrays = self.make_room("rungs")
            arrays.rungs[n_steps] = rung
        if state >= 0:
            arrays.visits[state] += 1
        self.n_steps = n_steps + 1
        self._earned[copy] += step.reward
        if step.terminated or step.truncated:
            arrays.ends[self.n_finished] = self.n_steps
            arrays.returns[self.n_finished] = self._earned.pop(copy)
            self.n_finished += 1

    def make_room(self, *names: str) -> RecordArrays:
        """Double the room of some arrays, and return all arrays."""
        old = self.arrays._asdict()
        self.arrays = self.arrays._replace(
            **{name: np.concatenate([old[name], np.empty_like(old[name])]) for name in names}
        )
        return self.arrays

    def _make_room_for_episodes(self) -> None:
        self.make_room("openings", "ends", "returns", "cuts")

    def count(self) -> bool:
        """Take over what the compiled loop has counted. Return True if room for more episodes was needed and made."""
        self.n_steps, self.n_finished, self.n_begun, self.n_cut = self.arrays.tally.tolist()
        under_way = self.n_begun > self.n_finished + self.n_cut + self._n_abandoned
        self._earned = {0: float(self.arrays.earned[0])} if under_way else {}
        if self.n_begun < len(self.arrays.openings):
            return False
        self._make_room_for_episodes()
        return True

    @property
    def returns(self) -> np.ndarray:
        """The returns of the episodes finished so far."""
        return self.arrays.returns[: self.n_finished]

    @property
    def partial(self) -> float | None:
        """The rewards so far of the episodes that are going on; None where none is going on."""
        return sum(self._earned.values()) if self._earned else None

    def read_probes(self, learner: Any) -> None:
        """Read the probes and add them to the curves, if they are due."""
        if self.readings.probes and self.n_steps % self.readings.every == 0:
            self.readings.keep(learner, self.n_steps, self.returns, self.arrays.visits, self.partial)

    def finish(self, learner: Any, stopped: Stop) -> Run:
        """Return the finished run; probes are read once more."""
        arrays, readings = self.arrays, self.readings
        return Run(
            seed=self.seed,
            rows=self._kept(arrays.rows, self.n_steps, self._serves_rows),
            openings=self._kept(arrays.openings, self.n_begun, self._serves_rows),
            emissions=self._kept(arrays.emissions, self.n_steps, True) if self._serves_emissions else None,
            ends=arrays.ends[: self.n_finished].copy(),
            returns=self.returns.copy(),
            steps=np.array(readings.steps, np.int64),
            curves=readings.curves(),
            final=readings.read(learner, self.n_steps, self.returns, arrays.visits, self.partial),
            stopped=stopped,
            partial=self.partial,
            rungs=arrays.rungs[: self.n_steps].copy() if self._has_ladder else None,
            cuts=arrays.cuts[: self.n_cut].copy() if self._has_ladder else None,
        )

    def _kept(self, numbers: np.ndarray, n: int, served: bool) -> Any:
        if not self.readings.keep_rows:
            return NotKept(n)
        return numbers[:n] if served else np.broadcast_to(np.int32(-1), n)


def visits_of(simulator: Any, readings: Readings) -> np.ndarray:
    """Return an array of zeros to count the steps from each state; an empty one where no probe counts them."""
    if not readings.counts_visits:
        return np.empty(0, np.int64)
    n_states = n_states_of(simulator)
    if n_states is None:
        raise SettingError(f"{simulator} does not know its number of states; fit its encoder on a log, to count visits")
    return np.zeros(n_states, np.int64)
