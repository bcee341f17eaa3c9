"""The loop with look-ahead: a policy that stays as it is for a while is evaluated on many observations at once.

The rows at the front of every queue are known, so while the policy is frozen it is evaluated at their next
observations in a few large batches. Then the compiled loop goes on by itself, until it comes to an observation at which
the policy is not known yet, or until the policy changes. Nothing about the run depends on how far this looks.
"""

from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from understudy.contracts import Steps
from understudy.learners.frozen import Frozen
from understudy.logs.policies import as_policies
from understudy.runs.account import Unwanted, stands_for
from understudy.runs.compiled import advance
from understudy.runs.ledger import BEGUN, EPISODES, STEPS, empty_ledger, longer, partial_of, run_of
from understudy.runs.probes import Readings
from understudy.runs.run import Run
from understudy.simulators.coding import PLACES
from understudy.simulators.kernels import cells
from understudy.simulators.kernels.tape import HEAD, deal_ahead, next_openings, next_rows

Updates = Generator[None, None, Run]
"""A run that pauses whenever its learner is due for an update."""

PROMISES = ("policies", "frozen", "note", "update")
"""What a learner offers beside `policy` and `learn`: policies of a batch, for how many steps they stay, taking in steps
given as arrays, and what is due when the time is over."""


def can_look_ahead(simulator: Any, learner: Any) -> bool:
    """Whether a simulator can tell what may come, and a learner for how long its policy stays."""
    return getattr(simulator, "foreseeable", False) and stays_frozen(learner)


def stays_frozen(learner: Any) -> bool:
    """Whether a learner tells for how long its policy stays."""
    return all(hasattr(learner, promise) and stands_for(learner, promise) for promise in PROMISES)


def ahead_loop(
    simulator: Any, learner: Any, seed: int, max_steps: int | None, readings: Readings, wanted: Callable[[], bool]
) -> Run:
    """The loop of one learner by itself."""
    run = stretches(simulator, learner, seed, max_steps, readings, wanted)
    while True:
        try:
            next(run)
        except StopIteration as over:
            return over.value
        learner.update()


def stretches(
    simulator: Any, learner: Any, seed: int, max_steps: int | None, readings: Readings, wanted: Callable[[], bool]
) -> Updates:
    """A run in stretches of a frozen policy; whoever asks for the next one has updated the learner."""
    rehearsal = simulator.start(seed, PLACES)
    source, ledger = rehearsal.source, empty_ledger(simulator, readings, max_steps)
    sight = Sight(simulator, source, learner)
    limit = np.iinfo(np.int64).max if max_steps is None else max_steps
    every = readings.every if readings.probes else limit
    steps = 0
    while steps < limit and source.mind[cells.CAUSE] == cells.GOING:
        if not wanted():
            raise Unwanted
        until = min(limit, steps + learner.frozen, (steps // every + 1) * every)
        while steps < until and source.mind[cells.CAUSE] == cells.GOING:
            advance(source, sight.frozen, ledger, until)
            steps = int(ledger.tally[STEPS])
            if ledger.tally[BEGUN] == len(ledger.openings):
                ledger = longer(ledger)
            elif steps < until and source.mind[cells.CAUSE] == cells.GOING:
                sight.look(steps, learner.frozen - sight.n_steps)
        learner.note(sight.stretch())
        if learner.frozen == 0:
            yield
            sight.forget(steps)
            if getattr(learner, "gives_up", False):
                source.mind[cells.OVER], ledger.earned[0] = 1, 0.0
        if readings.probes and steps == until and steps % every == 0:
            readings.keep(learner, steps, ledger.returns[: ledger.tally[EPISODES]], ledger.visits, partial_of(ledger))
    return run_of(ledger, simulator, rehearsal, learner, readings, seed)


class Sight:
    """Policies at observations that may come, for one learner in one rehearsal."""

    def __init__(self, simulator: Any, source: Any, learner: Any) -> None:
        self.log, self.source, self.learner = simulator.log, source, learner
        longest = learner.frozen
        self.frozen = Frozen(
            slot=np.zeros(len(self.log) + self.log.n_episodes, np.int64),
            base=np.ones(1, np.int64),
            policy=np.empty((1024, simulator.n_actions)),
            code=np.empty(longest, np.int64),
            action=np.empty(longest, np.int64),
            reward=np.empty(longest),
            next_code=np.empty(longest, np.int64),
            terminated=np.empty(longest, bool),
            truncated=np.empty(longest, bool),
            noted=np.zeros(1, np.int64),
        )
        self._n_known = 0
        # How far queues were read when the stretch before this one began, and when this one did: what was taken since
        # tells what will be.
        self._marks = [self._mark(0), self._mark(0)]

    @property
    def n_steps(self) -> int:
        """Steps noted since the learner was last told."""
        return int(self.frozen.noted[0])

    def look(self, steps: int, left: int) -> None:
        """Evaluate the policy where the run is, and where it may come to be in the steps that are left."""
        source, frozen = self.source, self.frozen
        heads, opened, since = self._marks[0]
        ahead = left / max(1, steps - since)
        n_touched = max(1, int(source.mind[cells.TOUCHED]))
        least = max(1, min(8, 8 * left // n_touched))  # of queues that were not read lately
        wanted = _generous((source.queue[:, HEAD] - heads) * ahead) + least
        deal_ahead(source, wanted, 8 * wanted.sum() if n_touched < len(wanted) else 2 * wanted.sum())
        rows = np.empty(wanted.sum(), np.int64)
        rows = rows[: next_rows(source, wanted, frozen.slot, frozen.base[0], rows)]
        episodes = np.empty(_generous((int(source.mind[cells.OPENED]) - opened) * ahead) + 1, np.int64)
        openings = len(self.log) + episodes[: next_openings(source, episodes, np.empty_like(episodes))]
        here = source.mind[cells.CODE]
        self._know(np.concatenate([[here], rows, openings[frozen.slot[openings] < frozen.base[0]]]))

    def _know(self, codes: np.ndarray) -> None:
        observations = self._observations(codes)
        policies = as_policies(self.learner.policies(observations), self.frozen.policy.shape[1], observations)
        end = self._n_known + len(codes)
        if end > len(self.frozen.policy):
            room = np.empty((2 * end, policies.shape[1]))
            room[: self._n_known] = self.frozen.policy[: self._n_known]
            self.frozen = self.frozen._replace(policy=room)
        self.frozen.policy[self._n_known : end] = policies
        self.frozen.slot[codes] = self.frozen.base[0] + np.arange(self._n_known, end)
        self._n_known = end

    def stretch(self) -> Steps:
        """The steps since the learner was last told, as arrays of its own: the next stretch overwrites ours."""
        frozen, n = self.frozen, self.n_steps
        frozen.noted[0] = 0
        rows = frozen.next_code[:n]
        action, reward, terminated, truncated = (
            column[:n].copy() for column in (frozen.action, frozen.reward, frozen.terminated, frozen.truncated)
        )
        before, following = self._observations(frozen.code[:n]), self.log.next_observation[rows]
        return Steps(before, action, reward, following, terminated, truncated)

    def forget(self, steps: int) -> None:
        """The policy has changed."""
        self.frozen.base[0] += self._n_known
        self._n_known = 0
        self._marks = [self._marks[1], self._mark(steps)]

    def _mark(self, steps: int) -> tuple[np.ndarray, int, int]:
        return self.source.queue[:, HEAD].copy(), int(self.source.mind[cells.OPENED]), steps

    def _observations(self, codes: np.ndarray) -> np.ndarray:
        """The observations at places of the log: row r's next one is r, episode e's opening is N + e."""
        opening = codes >= len(self.log)
        if not opening.any():
            return self.log.next_observation[codes]
        observations = self.log.next_observation[np.where(opening, 0, codes)]
        observations[opening] = self.log.observation[self.log.starts[codes[opening] - len(self.log)]]
        return observations


def _generous(expected: Any) -> Any:
    """Whole numbers that such counts will hardly exceed."""
    return np.ceil(1.1 * expected + 2.0 * np.sqrt(expected)).astype(np.int64)
