"""Several episodes at the same time in one rehearsal: they share its log."""

from typing import Any

import numpy as np

from understudy.contracts import EpisodeCut, Exhausted, LogUse, Rehearsal, Simulator, Step, Stop
from understudy.contracts.streams import spawn
from understudy.simulators.kernels import layout
from understudy.simulators.rehearsal import KernelRehearsal

POSITION = slice(layout.STATE, layout.EPISODE_OVER + 1)
"""The positions of `cursor` that belong to one episode; the others belong to the log as a whole."""


class SharedRehearsal:
    """One of several rehearsals that take their rows from the same queues, each with an episode of its own."""

    def __init__(self, shared: KernelRehearsal) -> None:
        self._shared, self._cursor = shared, shared.source.cursor
        self._position = self._cursor[POSITION].copy()
        self._observation: Any = None

    @property
    def state(self) -> int:
        """The state of the current observation; -1 for none."""
        return int(self._position[layout.STATE])

    @property
    def opening(self) -> int:
        """The row that the last episode began with, of this rehearsal or another."""
        return self._shared.opening

    def begin(self) -> Any:
        """Start an episode and return its first observation. Where no opening is left, the others can go on."""
        try:
            opening = self._shared.begin()
        except Exhausted:
            self._cursor[layout.CAUSE] = layout.RUNNING
            raise
        self._position[:], self._observation = self._cursor[POSITION], self._shared._observation
        return opening

    @property
    def rung(self) -> int:
        """The rung of a ladder that served the last step, of this rehearsal or another."""
        return self._shared.rung

    def step(self, policy: np.ndarray) -> Step | EpisodeCut:
        self._cursor[POSITION], self._shared._observation = self._position, self._observation
        step = self._shared.step(policy)
        self._position[:], self._observation = self._cursor[POSITION], self._shared._observation
        return step

    def stop(self) -> Stop:
        """Return why none of them can go on; cause "max steps" where they can."""
        return self._shared.stop()

    def use(self) -> LogUse | None:
        """Return how much of the log all of them have used together."""
        return self._shared.use()


def shared_rehearsals(rehearsal: KernelRehearsal, n: int) -> list[Rehearsal]:
    """Return n rehearsals that take their rows from the queues of this one."""
    return [SharedRehearsal(rehearsal) for _ in range(n)]


def independent_rehearsals(simulator: Simulator, seed: int, n: int) -> list[Rehearsal]:
    """Return n rehearsals of a true environment, each with a seed of its own: they have no log to share."""
    return [simulator.start(seed), *(simulator.start(spawn(seed, number)) for number in range(1, n))]
