"""One run in which n copies of an env act, recorded by the env: the loop is the learner's."""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import numpy as np

from understudy.contracts import EpisodeCut, Exhausted, Rehearsal, Step, Stop, owned
from understudy.contracts.ladders import ladder_of
from understudy.contracts.simulating import is_real, n_actions_for, start_copies
from understudy.errors import ServedAgainWarning, UsageError
from understudy.runs.probes import History, Probes, Readings
from understudy.runs.record import RunRecord
from understudy.runs.run import Run
from understudy.runs.setup import not_a_step, opening_of, rung_of, state_of, stop_of
from understudy.settings import seed_of

CUT_HERE = -1
"""The rung of what an env returns where an episode is cut. It is no step of the run: to the learner, which has acted
already, nothing happens, and the episode is truncated."""


@dataclass
class EnvCopy:
    """The state of one copy of the env."""

    rehearsal: Rehearsal
    observation: Any = None
    over: bool = True  # True if no episode is going on: reset comes next
    no_opening: Stop | None = None  # why reset found no opening; the next action ends the run
    pending: tuple[Step, int] | None = None  # a step that was accepted and not yet delivered, and its state
    rung: int = 0  # of that step, where the simulator has a ladder; -1 if it is the end of a cut episode
    sampled: bool = False  # True if the pending step's action was sampled for the learner, which must act so

    @property
    def waits(self) -> bool:
        """True if this copy waits for an action."""
        return not self.over and self.pending is None


class EnvRun:
    """A rehearsal, its record, and n copies of an env that act in it; a `SharedRun` of the contracts.

    A step is first accepted (a row is taken from the log) and then delivered (an env returns it, and it counts).
    Usually both happen in `step`; a learner whose sampling is accepted knows the action in between.
    """

    def __init__(
        self,
        simulator: Any,
        seed: int | None,
        max_steps: int | None,
        probes: Probes,
        every: int,
        *,
        learner: Any = None,
        one_run: bool = False,
        check_cancelled: Callable[[], None] = lambda: None,
        keep_rows: bool = True,
    ) -> None:
        self.simulator, self.seed, self.max_steps, self.learner = simulator, seed, max_steps, learner
        self.n_actions, self.n_copies = n_actions_for(simulator), 1
        self.is_real = is_real(simulator)
        self._has_ladder, self._may_cut = bool(ladder_of(simulator)), "cut" in ladder_of(simulator)
        self.stopped: Stop | None = None
        self.is_reading = False
        self._readings = lambda seed: Readings(probes, every, seed, keep_rows)
        self._one_run, self._check_cancelled = one_run, check_cancelled
        self._readings(0)  # raises now, not in the run, where a probe is not one
        self._reads_learner = not all(isinstance(probe, History) for probe in probes.values())
        self._process = os.getpid()
        self._copies: list[EnvCopy] = []
        self._warned, self._read_at = False, 0

    @property
    def begun(self) -> bool:
        """True once the run has begun."""
        return bool(self._copies)

    @property
    def waiting(self) -> np.ndarray:
        """True for each copy that waits for an action, (n_copies,)."""
        return np.array([copy.waits for copy in self._copies] or [False] * self.n_copies)

    @property
    def has_pending(self) -> bool:
        """True if steps were accepted that no env has returned yet."""
        return any(copy.pending is not None for copy in self._copies)

    def begin(self, number: int, seed: int | None) -> tuple[Any, Stop | None]:
        """Begin an episode in a copy. Return its first observation and None; without an opening, the last one and why.

        A seed given to the first copy begins a new run, for all of them.
        """
        if self.n_copies > 1 and os.getpid() != self._process:
            raise UsageError(
                "copies share their log in one process only; use a vector env that has no workers, such as "
                "us.vector_env, SyncVectorEnv or DummyVecEnv"
            )
        if seed is not None and number == 0 and self._may_start_again():
            self._start(seed)
        elif not self.begun:
            self._start(self.seed)
        copy = self._copies[number]
        copy.over, copy.pending = False, None
        if self.max_steps is not None and self._record.n_steps >= self.max_steps:
            copy.no_opening = self._counted(Stop("max steps"))  # so that no opening is used up in vain
        if self.stopped is None and copy.no_opening is None:
            try:
                copy.observation = copy.rehearsal.begin()
                self._record.begin(opening_of(copy.rehearsal), number)
            except Exhausted as exhausted:
                copy.no_opening = self._counted(exhausted.stop)
        observation = copy.observation if copy.observation is not None else self._copies[0].observation
        return observation, self.stopped or copy.no_opening

    def accept(self, policies: np.ndarray, *, sampled: bool = True) -> np.ndarray:
        """Let each copy that waits act by its policy, (n, A). Return the actions taken; -1 for copies that do not wait.

        Either all are accepted or none is delivered. Raise `Exhausted` where the run is over.
        """
        waiting = [number for number, copy in enumerate(self._copies) if copy.waits]
        self._check_running(waiting)
        accepted = {number: self._served(number, policies[number]) for number in waiting}
        actions = np.full(self.n_copies, -1)
        for number, (step, state) in accepted.items():
            copy = self._copies[number]
            copy.pending, copy.sampled, actions[number] = (step, state), sampled, step.action
        return actions

    def step(self, number: int, action: int) -> Step:
        """Deliver and return a copy's step: the one that was accepted before, or else one with this action."""
        if self.stopped is not None:
            self._raise_stopped()
        if not self.begun or self._copies[number].over:
            raise gymnasium.error.ResetNeeded("no episode is going on here; call reset before step")
        self._read()
        copy = self._copies[number]
        if copy.pending is None:
            self._check_running([number])
            copy.pending, copy.sampled = self._served(number, one_hot(action, self.n_actions)), False
        (step, state), copy.pending = copy.pending, None
        if copy.sampled and step.action != action:
            raise UsageError(
                f"action {action} was given to step, and {step.action} was sampled for it and its row accepted; "
                "act as sampled, or sample what is not for this env under understudy.learners.not_accepting()"
            )
        if copy.rung == CUT_HERE:
            self._record.cut(number)
        else:
            self._record.add(step, state, number, copy.rung)
        copy.observation, copy.over = step.next_observation, step.terminated or step.truncated
        return step

    def run(self) -> Run:
        """Return the run so far."""
        if not self.begun:
            self._start(self.seed)
        self._read()
        self._need_learner()
        return self._record.finish(self.learner, self.stopped or self._counted(Stop("learner ended")))

    def _start(self, seed: int | None) -> None:
        seed = int(np.random.default_rng().integers(2**32)) if seed is None else seed_of(seed)
        self._copies = [EnvCopy(rehearsal) for rehearsal in start_copies(self.simulator, seed, self.n_copies)]
        self._record = RunRecord(self.simulator, self._readings(seed), seed, self.max_steps)
        self.stopped, self._read_at = None, 0

    def _may_start_again(self) -> bool:
        """True if a reset with a seed may begin a new run; warn once where steps were served already."""
        served = self.begun and self._record.n_steps > 0 and (self._one_run or not self.is_real)
        if served and not self._warned:
            self._warned = True
            what = (
                "reset(seed=...) after steps were served is a plain reset() here: this env is one run, of one seed"
                if self._one_run
                else "reset(seed=...) begins a new run, and steps were served before: the same rows will be served "
                "again; call reset() for the next episode"
            )
            warnings.warn(what, ServedAgainWarning, stacklevel=4)
        return not self._one_run

    def _check_running(self, numbers: list[int]) -> None:
        """Raise `Exhausted` where these copies can take no further step, before any row is taken."""
        if self.stopped is not None:
            self._raise_stopped()
        self._check_cancelled()
        for number in numbers:
            no_opening = self._copies[number].no_opening
            if no_opening is not None:
                self._stop(no_opening)
        if self.max_steps is not None and self._record.n_steps + len(numbers) > self.max_steps:
            self._stop(Stop("max steps"))

    def _served(self, number: int, policy: np.ndarray) -> tuple[Step, int]:
        copy = self._copies[number]
        state = state_of(copy.rehearsal) if self._record.readings.counts_visits else -1
        try:
            step = copy.rehearsal.step(policy)
        except Exhausted as exhausted:
            self._stop(exhausted.stop)
            raise
        if isinstance(step, EpisodeCut) and self._may_cut:
            copy.rung = CUT_HERE
            return Step(copy.observation, step.action, 0.0, owned(copy.observation), False, True), state
        if not isinstance(step, Step):
            raise not_a_step(copy.rehearsal, step)
        copy.rung = rung_of(copy.rehearsal) if self._has_ladder else 0
        return step, state

    def _stop(self, stop: Stop) -> None:
        self.stopped = self._counted(stop)
        self._raise_stopped()

    def _raise_stopped(self) -> None:
        assert self.stopped is not None
        exhausted = Exhausted(self.stopped)
        exhausted.add_note("the run is kept in env.run(); a `with` block of the env ends quietly here")
        raise exhausted from None

    def _counted(self, stop: Stop) -> Stop:
        """Return the stop with counts of what was delivered; rows accepted and not delivered count as taken."""
        counts = dict(stop_of(self._copies[0].rehearsal, 0).counts)
        return replace(stop, counts=counts | {"steps": self._record.n_steps, "openings": self._record.n_begun})

    def _read(self) -> None:
        """Read the probes if they are due and not read yet: at the first call after the learner took in a step."""
        if self._record.n_steps == self._read_at:
            return
        self._read_at, self.is_reading = self._record.n_steps, True
        try:
            self._need_learner()
            self._record.read_probes(self.learner)
        finally:
            self.is_reading = False

    def _need_learner(self) -> None:
        if self.learner is None and self._reads_learner:
            raise UsageError("probes read the learner, and this env has none; set env.learner to yours")


def one_hot(action: int, n_actions: int) -> np.ndarray:
    """Return the policy that always takes this action."""
    policy = np.zeros(n_actions)
    policy[action] = 1.0
    return policy
