"""One pass of a compiled simulator over its log, from Python."""

from collections.abc import Callable
from typing import Any

import numpy as np

from understudy.contracts import Exhausted, Step, Stop
from understudy.contracts.compiling import routine, settled
from understudy.logs.naming import action_label
from understudy.logs.policies import as_vector, fault_of, refusal
from understudy.simulators.index import Index
from understudy.simulators.kernels import begin, cells, step
from understudy.simulators.kernels.tape import Tape

SERVED, STOPPED, EPISODE_OVER, NO_POLICY = range(4)


class Rehearsal:
    """Asks kernels which row comes next, and looks up what the learner is to see of it.

    `source` is what kernels work on; the compiled loop takes it from here and leaves this object aside. Learners are
    handed copies of arrays: what they write on them changes nothing that is served later, to them or to others.
    """

    def __init__(
        self,
        source: Any,
        *,
        n_actions: int,
        first_observation: Callable[[int], Any],
        next_observation: Callable[[int, int], Any],
        index: Index | None = None,
        parts: Index | None = None,
    ) -> None:
        self.source = source
        self._n_actions = n_actions
        self._first_observation, self._next_observation = first_observation, next_observation
        self._index, self._parts = index, parts  # what states, and exogenous parts, are called
        self._observation: Any = None  # the log's own: never handed out where it is an array
        self._is_array = False
        self._serve: Callable | None = None

    @property
    def state(self) -> int:
        """The state of the current observation; -1 for none."""
        return int(self.source.mind[cells.STATE])

    def begin(self) -> Any:
        row = commence(self.source)
        if self.source.mind[cells.CAUSE]:
            raise Exhausted(self.stop())
        self.opening = row
        self._observation = self._first_observation(row)
        self._is_array = isinstance(self._observation, np.ndarray)
        return self._observation.copy() if self._is_array else self._observation

    def step(self, policy: np.ndarray) -> Step:
        policy = as_vector(policy, self._n_actions, self._observation)
        if self._serve is None:
            self._serve = settled(serve, self.source, policy)
        status, row, emission, action, reward, terminated, truncated = self._serve(self.source, policy)
        if status:
            self._refuse(status, policy)
        before, self._observation = self._observation, self._next_observation(row, emission)
        following = self._observation
        if self._is_array:
            before, following = before.copy(), following.copy()
        lent = emission if row >= 0 else cells.EMPTY  # a true environment's own observation is lent by no row
        return Step(before, action, reward, following, terminated, truncated, row, lent)

    def stop(self) -> Stop:
        """Why the rehearsal can go no further; `max steps` where it could."""
        mind = self.source.mind
        cause = cells.CAUSES[mind[cells.CAUSE]]
        counts = {
            "steps": int(mind[cells.SERVED]),
            "openings": int(mind[cells.OPENED]),
            "rows taken": int(mind[cells.TAKEN]),
            "rows passed over": int(mind[cells.PASSED]),
            "openings drawn with replacement": int(mind[cells.REPLACED]),
        }
        if not mind[cells.CAUSE] or self._index is None:  # a true environment never runs out
            return Stop("max steps", counts=counts)
        if cause == "queue empty" and not self.source.rules[cells.KEYED]:
            cause = "no row"
        if cause in ("no state", "no opening", "no row"):
            return Stop(cause, counts=counts)
        state = int(mind[cells.WHERE])
        if cause == "exogenous queue empty" and self._parts is not None:
            return Stop(cause, counts=counts, **self._parts.words(state))
        if isinstance(self.source, Tape) and not self.source.rules[cells.KEYED]:
            state = cells.EMPTY
        where = self._index.words(state) if state >= 0 else {}
        if state >= 0 and not self._index.is_logged(state):
            return Stop("never logged", counts=counts, **where)
        if cause == "queue empty":
            return Stop(cause, counts=counts, **where)
        action = int(mind[cells.WHAT])
        mass = mind[cells.NANOMASS] / 1e9 if cause == "unsupported" else None
        label = action_label(self._index.log.spec, action)
        return Stop(cause, action=action, label=label, mass=mass, counts=counts, **where)

    def _refuse(self, status: int, policy: np.ndarray) -> None:
        if status == STOPPED:
            raise Exhausted(self.stop())
        if status == EPISODE_OVER:
            raise RuntimeError("the episode is over, or none has begun; call begin before step")
        raise refusal(policy, self._observation, fault_of(policy, self._n_actions))


@routine
def commence(source):
    """Begin an episode, called from Python."""
    if source.mind[cells.CAUSE] != cells.GOING:
        return np.int64(cells.EMPTY)
    return begin(source)


@routine
def serve(source, policy):
    """Check a policy and serve a step, called from Python."""
    status = STOPPED if source.mind[cells.CAUSE] != cells.GOING else EPISODE_OVER if source.mind[cells.OVER] else SERVED
    total = 0.0
    for probability in policy:
        total += probability if probability >= 0.0 else np.inf
    if status == SERVED and not abs(total - 1.0) <= 1e-5:
        status = NO_POLICY
    if status != SERVED:
        return status, np.int64(cells.EMPTY), np.int64(cells.EMPTY), np.int64(cells.EMPTY), 0.0, False, False
    outcome = step(source, policy)
    if source.mind[cells.CAUSE] != cells.GOING:
        status = STOPPED
    return (
        status, outcome.row, outcome.emission, outcome.action, outcome.reward, outcome.terminated, outcome.truncated
    )  # fmt: skip
