"""Several places in one rehearsal: episodes that go on side by side and share the log."""

from typing import Any

import numpy as np

from understudy.contracts import Exhausted, Rehearsal, Step, Stop
from understudy.contracts.streams import spawn
from understudy.errors import LogError
from understudy.simulators import rehearsal
from understudy.simulators.kernels import cells

HERE = slice(cells.STATE, cells.OVER + 1)
"""The cells of `mind` that say where a rehearsal is; all others are about the log as a whole."""


class Place:
    """One of the places: a rehearsal that takes its rows from queues it shares with others."""

    def __init__(self, shared: rehearsal.Rehearsal) -> None:
        self._shared, self._mind = shared, shared.source.mind
        self._here = self._mind[HERE].copy()
        self._observation: Any = None

    @property
    def state(self) -> int:
        """The state of the current observation; -1 for none."""
        return int(self._here[cells.STATE])

    @property
    def opening(self) -> int:
        """The row whose observation the last episode began with, here or elsewhere."""
        return self._shared.opening

    def begin(self) -> Any:
        """Start an episode here. That there is no opening left does not end the others' episodes."""
        try:
            opening = self._shared.begin()
        except Exhausted:
            self._mind[cells.CAUSE] = cells.GOING
            raise
        self._here[:], self._observation = self._mind[HERE], self._shared._observation
        return opening

    def step(self, policy: np.ndarray) -> Step:
        self._mind[HERE], self._shared._observation = self._here, self._observation
        step = self._shared.step(policy)
        self._here[:], self._observation = self._mind[HERE], self._shared._observation
        return step

    def stop(self) -> Stop:
        """Why no place can go any further; `max steps` where they could."""
        return self._shared.stop()


def places(simulator: Any, seed: int, n: int) -> list[Rehearsal]:
    """n rehearsals that serve no row twice between them; true environments are n of their own."""
    if n == 1:
        return [simulator.start(seed)]
    if getattr(simulator, "kind", None) == "real":
        return [simulator.start(seed), *(simulator.start(spawn(seed, place)) for place in range(1, n))]
    shared = simulator.start(seed)
    if not isinstance(shared, rehearsal.Rehearsal):
        raise LogError(f"{simulator} cannot be shared by {n} envs; use one")
    return [Place(shared) for _ in range(n)]
