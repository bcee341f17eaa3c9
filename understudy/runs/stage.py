"""One run as the envs that share it see it: kept on the simulator's side, whoever owns the loop."""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import numpy as np

from understudy.contracts import Exhausted, Step, Stop
from understudy.errors import ServedAgainWarning
from understudy.runs.account import Account
from understudy.runs.probes import History, Probes, Readings
from understudy.runs.run import Run
from understudy.settings import seed_of
from understudy.simulators.places import places


@dataclass
class Copy:
    """One env's place in the run."""

    place: Any  # a rehearsal, or a place in one
    observation: Any = None
    over: bool = True  # no episode is going on: reset comes next
    stranded: Stop | None = None  # there was no opening for it: the next action ends the run
    pending: tuple[Step, int] | None = None  # a step that was accepted and is yet to be delivered, and its state
    sampled: bool = False  # whether the learner was told the pending step's action

    @property
    def waits(self) -> bool:
        """Whether this copy waits for an action."""
        return not self.over and self.pending is None


class Stage:
    """A rehearsal, the account of it, and n copies of an env that act in it.

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
        go_on: Callable[[], None] = lambda: None,
        keep_rows: bool = True,
    ) -> None:
        self.simulator, self.seed, self.max_steps, self.learner = simulator, seed, max_steps, learner
        self.n_actions, self.n = int(simulator.n_actions), 1
        self.is_real = getattr(simulator, "kind", None) == "real"
        self.stopped: Stop | None = None
        self.reading = False
        self._readings = lambda seed: Readings(probes, every, seed, keep_rows)
        self._one_run, self._go_on = one_run, go_on
        self._readings(0)  # raises at once where a probe is none
        self._looks_at_learner = not all(isinstance(probe, History) for probe in probes.values())
        self._process = os.getpid()
        self._copies: list[Copy] = []
        self._warned, self._read_at = False, 0

    @property
    def begun(self) -> bool:
        """Whether the run has begun."""
        return bool(self._copies)

    @property
    def waiting(self) -> np.ndarray:
        """Whether each copy waits for an action."""
        return np.array([copy.waits for copy in self._copies] or [False] * self.n)

    @property
    def has_pending(self) -> bool:
        """Whether steps were accepted that are yet to be delivered."""
        return any(copy.pending is not None for copy in self._copies)

    def begin(self, number: int, seed: int | None) -> tuple[Any, Stop | None]:
        """Begin an episode in a copy: its first observation, or the last one seen and why there is none.

        A seed given to the first copy begins a new run, for all of them.
        """
        if self.n > 1 and os.getpid() != self._process:
            raise RuntimeError(
                "copies share their log in one process only; use a vector env that has no workers, such as "
                "us.vector_env, SyncVectorEnv or DummyVecEnv"
            )
        if seed is not None and number == 0 and self._may_start_again():
            self._start(seed)
        elif not self.begun:
            self._start(self.seed)
        copy = self._copies[number]
        copy.over, copy.pending = False, None
        if self.max_steps is not None and len(self._account) >= self.max_steps:
            copy.stranded = self._counted(Stop("max steps"))  # no opening is taken in vain
        if self.stopped is None and copy.stranded is None:
            try:
                copy.observation = copy.place.begin()
                self._account.begin(getattr(copy.place, "opening", -1), number)
            except Exhausted as exhausted:
                copy.stranded = self._counted(exhausted.stop)
        shown = copy.observation if copy.observation is not None else self._copies[0].observation
        return shown, self.stopped or copy.stranded

    def accept(self, policies: np.ndarray, *, sampled: bool = True) -> np.ndarray:
        """Let each copy that waits act by its policy, (n, A): the actions taken, -1 for copies that do not wait.

        All are accepted or none is delivered. Raises `Exhausted` where the run has come to its end.
        """
        waiting = [number for number, copy in enumerate(self._copies) if copy.waits]
        self._ask(waiting)
        accepted = {number: self._served(number, policies[number]) for number in waiting}
        actions = np.full(self.n, -1)
        for number, (step, state) in accepted.items():
            copy = self._copies[number]
            copy.pending, copy.sampled, actions[number] = (step, state), sampled, step.action
        return actions

    def step(self, number: int, action: int) -> Step:
        """Deliver a copy's step: the one accepted before, or one with this very action."""
        if self.stopped is not None:
            self._raise_stopped()
        if not self.begun or self._copies[number].over:
            raise gymnasium.error.ResetNeeded("no episode is going on here; call reset before step")
        self._read()
        copy = self._copies[number]
        if copy.pending is None:
            self._ask([number])
            copy.pending, copy.sampled = self._served(number, one_hot(action, self.n_actions)), False
        (step, state), copy.pending = copy.pending, None
        if copy.sampled and step.action != action:
            raise RuntimeError(
                f"action {action} came to step, and {step.action} was sampled for it and its row accepted; "
                "act as sampled, or sample what is not for this env under understudy.learners.as_ever()"
            )
        self._account.add(step, state, number)
        copy.observation, copy.over = step.next_observation, step.terminated or step.truncated
        return step

    def run(self) -> Run:
        """The run so far."""
        if not self.begun:
            self._start(self.seed)
        self._read()
        self._need_learner()
        return self._account.run(self.learner, self.stopped or self._counted(Stop("learner ended")))

    def _start(self, seed: int | None) -> None:
        seed = int(np.random.default_rng().integers(2**32)) if seed is None else seed_of(seed)
        self._copies = [Copy(place) for place in places(self.simulator, seed, self.n)]
        self._account = Account(self.simulator, self._readings(seed), seed)
        self.stopped, self._read_at = None, 0

    def _may_start_again(self) -> bool:
        served = self.begun and len(self._account) > 0 and (self._one_run or not self.is_real)
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

    def _ask(self, numbers: list[int]) -> None:
        """Raise `Exhausted` if these copies can take no further step, before any row is taken."""
        if self.stopped is not None:
            self._raise_stopped()
        self._go_on()
        for number in numbers:
            stranded = self._copies[number].stranded
            if stranded is not None:
                self._stop(stranded)
        if self.max_steps is not None and len(self._account) + len(numbers) > self.max_steps:
            self._stop(Stop("max steps"))

    def _served(self, number: int, policy: np.ndarray) -> tuple[Step, int]:
        copy = self._copies[number]
        state = copy.place.state if self._account.readings.counts_visits else -1
        try:
            return copy.place.step(policy), state
        except Exhausted as exhausted:
            self._stop(exhausted.stop)
            raise

    def _stop(self, stop: Stop) -> None:
        self.stopped = self._counted(stop)
        self._raise_stopped()

    def _raise_stopped(self) -> None:
        assert self.stopped is not None
        exhausted = Exhausted(self.stopped)
        exhausted.add_note("the run is kept in env.run(); a `with` block of the env ends quietly here")
        raise exhausted from None

    def _counted(self, stop: Stop) -> Stop:
        """The stop with counts of what was delivered; rows that were accepted in vain are among those taken."""
        rehearsal = self._copies[0].place
        counts = dict(rehearsal.stop().counts) if hasattr(rehearsal, "stop") else {}
        return replace(stop, counts=counts | {"steps": len(self._account), "openings": self._account.n_begun})

    def _read(self) -> None:
        """Read the probes if it is time and was not done: at the first sign of the learner after it took in a step."""
        if len(self._account) == self._read_at:
            return
        self._read_at, self.reading = len(self._account), True
        try:
            self._need_learner()
            self._account.probe(self.learner)
        finally:
            self.reading = False

    def _need_learner(self) -> None:
        if self.learner is None and self._looks_at_learner:
            raise RuntimeError("probes look at the learner, and this env knows of none; set env.learner to yours")


def one_hot(action: int, n_actions: int) -> np.ndarray:
    """The policy that takes this action."""
    policy = np.zeros(n_actions)
    policy[action] = 1.0
    return policy
