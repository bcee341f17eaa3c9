"""One pass of a simulator over its log, by compiled kernels, called from Python."""

from collections.abc import Callable
from typing import Any

import numpy as np

from understudy.contracts import EpisodeCut, Exhausted, LogUse, Step, Stop
from understudy.contracts.compiling import compiled_for, routine
from understudy.contracts.kernels import is_policy
from understudy.errors import UnderstudyError, UsageError
from understudy.logs.naming import action_column, action_label
from understudy.logs.policies import as_vector, fault_of, refusal
from understudy.simulators.consumption import use_of
from understudy.simulators.index import Index
from understudy.simulators.kernels import begin, layout, step
from understudy.simulators.kernels.ladder import Ladder
from understudy.simulators.kernels.tape import Tape

SERVED, STOPPED, EPISODE_OVER, NOT_A_POLICY = range(4)


class KernelRehearsal:
    """Serves the rows that kernels choose, with their observations looked up in the log.

    `source` holds the arrays that kernels work on; the compiled loop uses it directly. Learners get copies of arrays,
    so that writing on them changes nothing that is served later.
    """

    def __init__(
        self,
        source: Any,
        *,
        n_actions: int,
        first_observation: Callable[[int], Any],
        next_observation: Callable[[int, int], Any],
        index: Index | None = None,
        exogenous_index: Index | None = None,
    ) -> None:
        self.source = source
        self._n_actions = n_actions
        self._first_observation, self._next_observation = first_observation, next_observation
        self._index, self._exogenous_index = index, exogenous_index  # to describe states, and exogenous parts
        self._observation: Any = None  # of the log itself: an array is copied before it is returned
        self._is_array = False
        self._serve: Callable | None = None

    @property
    def state(self) -> int:
        """The state of the current observation; -1 for none."""
        return int(self.source.cursor[layout.STATE])

    def begin(self) -> Any:
        row = begin_episode(self.source)
        if self.source.cursor[layout.CAUSE]:
            raise Exhausted(self.stop())
        self.opening = row
        self._observation = self._first_observation(row)
        self._is_array = isinstance(self._observation, np.ndarray)
        return self._observation.copy() if self._is_array else self._observation

    @property
    def rung(self) -> int:
        """The rung of a ladder that served the last step; 0 for a row of the state itself."""
        return int(self.source.cursor[layout.RUNG])

    def step(self, policy: np.ndarray) -> Step | EpisodeCut:
        policy = as_vector(policy, self._n_actions, self._observation)
        if self._serve is None:
            self._serve = compiled_for(serve_step, self.source, policy)
        status, row, emission, action, reward, terminated, truncated = self._serve(self.source, policy)
        if status == STOPPED:
            raise Exhausted(self.stop())
        if status:
            raise refused_step(status, policy, self._n_actions, self._observation)
        if row == layout.CUT:
            return EpisodeCut(action)
        before, self._observation = self._observation, self._next_observation(row, emission)
        following = self._observation
        if self._is_array:
            before, following = before.copy(), following.copy()
        emission = emission if row >= 0 else layout.EMPTY  # a true environment's observation is not of a row
        return Step(before, action, reward, following, terminated, truncated, row, emission)

    def stop(self) -> Stop:
        """Return why the rehearsal cannot go on; cause "max steps" where it can."""
        cursor = self.source.cursor
        cause = layout.CAUSES[cursor[layout.CAUSE]]
        counts = {
            "steps": int(cursor[layout.STEPS_SERVED]),
            "openings": int(cursor[layout.EPISODES_OPENED]),
            "rows taken": int(cursor[layout.ROWS_TAKEN]),
            "rows passed over": int(cursor[layout.ROWS_PASSED_OVER]),
            "openings drawn with replacement": int(cursor[layout.OPENED_WITH_REPLACEMENT]),
        }
        if isinstance(self.source, Ladder):
            counts |= {
                "steps from states alike": int(cursor[layout.LIKE_STEPS]),
                "steps served again": int(cursor[layout.REUSE_STEPS]),
                "steps of untried actions": int(cursor[layout.UNTRIED_STEPS]),
                "episodes cut": int(cursor[layout.EPISODES_CUT]),
            }
        if not cursor[layout.CAUSE] or self._index is None:  # None for a true environment, which can always go on
            return Stop("max steps", counts=counts)
        if cause == "queue empty" and not self.source.rules[layout.BY_STATE]:
            cause = "no row"
        if cause in ("no state", "no opening", "no row", "exogenous part ended", "reward unknown"):
            return Stop(cause, counts=counts)
        state = int(cursor[layout.STOP_STATE])
        if cause == "exogenous queue empty" and self._exogenous_index is not None:
            return Stop(cause, counts=counts, **self._exogenous_index.stop_fields(state))
        if isinstance(self.source, Tape) and not self.source.rules[layout.BY_STATE]:
            state = layout.EMPTY
        where = self._index.stop_fields(state) if state >= 0 else {}
        if cause == "too many cut":
            nowhere = {"state": layout.EMPTY, "place": "an observation without a state"}
            return Stop(cause, counts=counts, **(where or nowhere))
        if state >= 0 and not self._index.is_logged(state):
            return Stop("never logged", counts=counts, **where)
        if cause == "queue empty":
            return Stop(cause, counts=counts, **where)
        action = int(cursor[layout.STOP_ACTION])
        mass = cursor[layout.STOP_NANOMASS] / 1e9 if cause == "unsupported" else None
        spec = self._index.log.spec
        acted: dict[str, Any] = {"action": action, "label": action_label(spec, action), "column": action_column(spec)}
        return Stop(cause, mass=mass, counts=counts, **acted, **where)

    def use(self) -> LogUse | None:
        """Return how much of its log the rehearsal has used; None where rows are never used up."""
        return use_of(self.source, self._index, self._exogenous_index)


def refused_step(status: int, policy: np.ndarray, n_actions: int, observation: Any) -> UnderstudyError:
    """Return the error for a step that was not served since it was asked for at the wrong time, or without a policy."""
    if status == EPISODE_OVER:
        return UsageError("the episode is over, or none has begun; call begin before step")
    return refusal(policy, observation, fault_of(policy, n_actions))


@routine
def begin_episode(source):
    """Begin an episode; return the row of its opening, or EMPTY. Called from Python."""
    if source.cursor[layout.CAUSE] != layout.RUNNING:
        return np.int64(layout.EMPTY)
    return begin(source)


@routine
def serve_step(source, policy):
    """Check a policy and serve one step; return its status and the fields of its outcome. Called from Python."""
    cursor = source.cursor
    status = SERVED
    if cursor[layout.CAUSE] != layout.RUNNING:
        status = STOPPED
    elif cursor[layout.EPISODE_OVER]:
        status = EPISODE_OVER
    if status == SERVED and not is_policy(policy):
        status = NOT_A_POLICY
    if status != SERVED:
        return status, np.int64(layout.EMPTY), np.int64(layout.EMPTY), np.int64(layout.EMPTY), 0.0, False, False
    outcome = step(source, policy)
    if cursor[layout.CAUSE] != layout.RUNNING:
        status = STOPPED
    return (
        status, outcome.row, outcome.emission, outcome.action, outcome.reward, outcome.terminated, outcome.truncated
    )  # fmt: skip
