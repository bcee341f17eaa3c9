"""What a run has come to, kept step by step."""

from array import array
from typing import Any

import numpy as np

from understudy.contracts import Step, Stop
from understudy.errors import LogError
from understudy.runs.compact import NotKept
from understudy.runs.probes import Readings
from understudy.runs.run import Run
from understudy.settings import MOST_STEPS, steps_of, whole


class Unwanted(Exception):  # noqa: N818 (nothing went wrong)
    """The run was called off before it stopped by itself."""


class Account:
    """Told of every episode that begins and every step that is served, it reads the probes and ends as a `Run`.

    Where several places of a rehearsal share a run, their episodes interleave: steps are kept in the order of
    delivery, openings in the order in which episodes began, ends and returns in the order in which they ended.
    """

    def __init__(self, simulator: Any, readings: Readings, seed: int) -> None:
        self.simulator, self.readings, self.seed = simulator, readings, seed
        self.visits = visits_of(simulator, readings)
        self._n_steps = self._n_begun = 0
        self._rows, self._openings, self._emissions = array("i"), array("i"), array("i")
        self._ends: list[int] = []
        self._returns: list[float] = []
        self._earned: dict[int, float] = {}

    def __len__(self) -> int:
        return self._n_steps

    @property
    def n_begun(self) -> int:
        """The number of episodes begun."""
        return self._n_begun

    def begin(self, opening: int, place: int = 0) -> None:
        """An episode has begun with this row's observation."""
        self._n_begun += 1
        if self.readings.keep_rows:
            self._openings.append(opening)
        self._earned[place] = 0.0

    def add(self, step: Step, state: int = -1, place: int = 0) -> None:
        """A step was served, taken from this state where visits are counted."""
        self._n_steps += 1
        if self.readings.keep_rows:
            self._rows.append(step.row)
            self._emissions.append(step.emission)
        if state >= 0:
            self.visits[state] += 1
        self._earned[place] += step.reward
        if step.terminated or step.truncated:
            self._ends.append(self._n_steps)
            self._returns.append(self._earned.pop(place))

    @property
    def _partial(self) -> float | None:
        return sum(self._earned.values()) if self._earned else None

    def probe(self, learner: Any) -> None:
        """Read the probes, if it is time."""
        if self.readings.probes and len(self) % self.readings.every == 0:
            self.readings.keep(learner, len(self), np.array(self._returns), self.visits, self._partial)

    def run(self, learner: Any, stopped: Stop) -> Run:
        """The run, now that it has stopped."""
        return Run(
            seed=self.seed,
            **kept_rows(
                self.simulator, self.readings, self._rows, self._openings, self._emissions, len(self), self.n_begun
            ),
            ends=np.array(self._ends, np.int64),
            returns=np.array(self._returns, np.float64),
            steps=np.array(self.readings.steps, np.int64),
            curves=self.readings.curves(),
            final=self.readings.read(learner, len(self), np.array(self._returns), self.visits, self._partial),
            stopped=stopped,
            partial=self._partial,
        )


def stands_for(learner: Any, promise: str) -> bool:
    """Whether what a learner offers beside `policy` and `learn` is all there is to it: a subclass may act or learn in
    another way than that says."""
    lineage = type(learner).__mro__
    told = next((cls for cls in lineage if promise in vars(cls)), None)
    changed = [cls for cls in lineage if vars(cls).keys() & {"policy", "learn"}]
    return told is not None and lineage.index(told) <= lineage.index(changed[0])


def kept_rows(
    simulator: Any, readings: Readings, rows: Any, openings: Any, emissions: Any, n_steps: int, n_begun: int
) -> dict[str, Any]:
    """What a run keeps of the rows it was served; -1 for each where the simulator serves none."""
    emits = getattr(simulator, "serves_emissions", False)
    if not readings.keep_rows:
        emissions = NotKept(n_steps) if emits else None
        return {"rows": NotKept(n_steps), "openings": NotKept(n_begun), "emissions": emissions}
    if not getattr(simulator, "serves_rows", True):
        rows, openings = np.broadcast_to(np.int32(-1), n_steps), np.broadcast_to(np.int32(-1), n_begun)
    return {
        "rows": rows[:n_steps],
        "openings": openings[:n_begun],
        "emissions": emissions[:n_steps] if emits else None,
    }


def visits_of(simulator: Any, readings: Readings) -> np.ndarray:
    """Room to count the steps taken from each state, if a probe wants it."""
    if not readings.counts_visits:
        return np.empty(0, np.int64)
    if getattr(simulator, "n_states", None) is None:
        raise LogError(f"{simulator} does not know its number of states; fit its encoder on a log, to count visits")
    return np.zeros(simulator.n_states, np.int64)


def check_limits(simulator: Any, max_steps: int | None, every: int) -> None:
    """Raise where this is no simulator, or these are no numbers of steps."""
    if not hasattr(simulator, "start"):
        raise TypeError(f"a {type(simulator).__name__} is no simulator; make one of it, for example us.psrs(log)")
    steps_of("max_steps", max_steps)
    whole("every", every, most=MOST_STEPS)
