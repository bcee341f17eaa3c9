"""The loop with look-ahead: policies that stay the same until the next update are evaluated in large batches.

The rows at the front of every queue are known, so between two updates the policy is evaluated at their next
observations in a few large batches. Then the compiled loop goes on until it meets an observation at which the policy
has not been evaluated, or until the policy changes. The run does not depend on how far ahead this looks.
"""

from collections.abc import Generator
from typing import Any

import numpy as np

from understudy.contracts import CompiledEpochs, EpisodeAbandoner, EpochLearner, HearsCuts, Log, Steps
from understudy.contracts.learning import defined_with_policy
from understudy.contracts.offering import members_of, offers
from understudy.contracts.simulating import is_foreseeable
from understudy.errors import ContractError
from understudy.logs.policies import as_policies
from understudy.runs.compiled import CompiledLoop
from understudy.runs.policy_cache import PolicyCache
from understudy.runs.run import Run
from understudy.runs.setup import RunSetup
from understudy.simulators.coding import LOG_POSITIONS
from understudy.simulators.kernels import layout, source_below
from understudy.simulators.kernels.reserve import ReserveTape, next_reserved
from understudy.simulators.kernels.tape import HEAD, next_openings, next_rows, read_ahead


def can_look_ahead(simulator: Any, learner: Any) -> bool:
    """True if a simulator can list the rows that may come, and the learner learns in epochs."""
    return is_foreseeable(simulator) and learns_in_epochs(learner)


def learns_in_epochs(learner: Any) -> bool:
    """True if a learner says how long its policy stays the same, and no subclass acts or learns in another way."""
    return offers(learner, EpochLearner) and all(
        defined_with_policy(learner, member) for member in members_of(EpochLearner)
    )


def epochs_on(log: Log, learner: Any) -> Any:
    """Return the arrays that a learner's kernels act and collect with; None where policies are evaluated ahead."""
    acting = ("policy", "policies", "learn", "collect")
    if offers(learner, CompiledEpochs) and defined_with_policy(learner, "epochs_on", acting):
        return learner.epochs_on(log)
    return None


def has_compiled_epochs(simulator: Any, learner: Any) -> bool:
    """True if a learner's epochs are compiled calls, in which other threads work."""
    return can_look_ahead(simulator, learner) and epochs_on(simulator.log, learner) is not None


def check_epoch(learner: EpochLearner) -> None:
    """Raise `ContractError` where a learner that was just made or updated does not begin an epoch."""
    left = learner.steps_until_update
    if isinstance(left, bool) or not isinstance(left, int | np.integer) or left < 1:
        raise ContractError(
            f"steps_until_update of {type(learner).__name__} is {left!r} before an epoch begins; it is a property that "
            "counts down to 0 in collect, and update sets it back to a whole number from 1"
        )


def look_ahead_loop(setup: RunSetup) -> Run:
    """Run with look-ahead, one learner by itself."""
    run = epoch_by_epoch(setup)
    while True:
        try:
            next(run)
        except StopIteration as finished:
            return finished.value
        setup.learner.update()


def epoch_by_epoch(setup: RunSetup) -> Generator[None, None, Run]:
    """Coroutine: yields when the learner is due for an update, which the caller makes; returns the Run."""
    learner, record, readings = setup.learner, setup.new_record(), setup.readings
    rehearsal = setup.simulator.start(setup.seed, LOG_POSITIONS)
    check_epoch(learner)
    arrays = epochs_on(setup.simulator.log, learner)
    acting: CompiledEpoch | LookAhead = (
        LookAhead(setup.simulator, rehearsal.source, learner)
        if arrays is None
        else CompiledEpoch(setup.simulator.log, rehearsal.source, learner, arrays)
    )
    loop = CompiledLoop(setup.simulator, rehearsal.source, acting.arrays, record)
    may_abandon = offers(learner, EpisodeAbandoner)
    every = readings.every if readings.probes else setup.limit
    while record.n_steps < setup.limit and loop.is_running:
        begun_at = record.n_steps
        setup.tell_steps(begun_at)
        until = min(setup.limit, begun_at + learner.steps_until_update, (begun_at // every + 1) * every)
        while record.n_steps < until and loop.is_running:
            setup.check_cancelled()
            if loop.advance(acting.arrays, until):
                acting.look(record.n_steps)
        acting.hand_over()
        if learner.steps_until_update == 0:
            yield
            check_epoch(learner)
            acting.forget(record.n_steps)
            if may_abandon and learner.abandons_episode:
                rehearsal.source.cursor[layout.EPISODE_OVER] = 1
                record.abandon()
        if record.n_steps == until:
            record.read_probes(learner)
    return record.finish(learner, rehearsal.stop())


class CompiledEpoch:
    """Acts and collects in the learner's own kernels, in one rehearsal."""

    def __init__(self, log: Log, source: Any, learner: Any, arrays: Any) -> None:
        self.log, self.source, self.learner, self.arrays = log, source, learner, arrays

    def look(self, steps: int) -> None:
        """Raise the error of `policy` at the current observation: the kernels have no policy there."""
        self.learner.take_in()
        self.learner.policy(observations_at(self.log, self.source.cursor[[layout.CODE]])[0])
        name = type(self.learner).__name__
        raise ContractError(f"has_policy of {name}'s arrays is False where policy gives an answer")

    def hand_over(self) -> None:
        """Let the learner take note of the steps that its kernels have collected."""
        self.learner.take_in()

    def forget(self, steps: int) -> None:
        """Do nothing: the learner's arrays have its new policy."""


class LookAhead:
    """Evaluates the policy at observations that may come, for one learner in one rehearsal."""

    def __init__(self, simulator: Any, source: Any, learner: Any) -> None:
        self.log, self.learner = simulator.log, learner
        source = source_below(source)
        self.reserve = source if isinstance(source, ReserveTape) else None
        self.tape = source if self.reserve is None else self.reserve.tape
        longest = learner.steps_until_update
        self.cache = PolicyCache(
            slot=np.zeros(len(self.log) + self.log.n_episodes, np.int64),
            base=np.ones(1, np.int64),
            policy=np.empty((1024, simulator.n_actions)),
            code=np.empty(longest, np.int64),
            action=np.empty(longest, np.int64),
            reward=np.empty(longest),
            next_code=np.empty(longest, np.int64),
            terminated=np.empty(longest, bool),
            truncated=np.empty(longest, bool),
            n_steps=np.zeros(1, np.int64),
            cut_before=np.zeros(1, bool),
        )
        self._n_known = 0
        # How far queues were read when the last epoch began, and when this one began: this epoch will need about as
        # many rows of each queue as the last one read.
        self._marks = [self._mark(0), self._mark(0)]

    @property
    def arrays(self) -> PolicyCache:
        """What the compiled loop acts and collects with."""
        return self.cache

    def hand_over(self) -> None:
        """Hand the steps that were taken to the learner."""
        if self.take_cut() and offers(self.learner, HearsCuts):
            self.learner.hear_cut()
        self.learner.collect(self.take_steps())

    def look(self, steps: int) -> None:
        """Evaluate the policy at the current observation, and at those that may come in the rest of this epoch."""
        tape, cache = self.tape, self.cache
        left = self.learner.steps_until_update - int(cache.n_steps[0])
        heads, reserve_heads, opened, since = self._marks[0]
        ahead = left / max(1, steps - since)
        n_filled = max(1, int(tape.cursor[layout.QUEUES_FILLED]))
        least = max(1, min(8, 8 * left // n_filled))  # rows of a queue that was not read lately
        needed = _generous((tape.queues[:, HEAD] - heads) * ahead) + least
        read_ahead(tape, needed, 8 * needed.sum() if n_filled < len(needed) else 2 * needed.sum())
        rows = np.empty(needed.sum(), np.int64)
        rows = rows[: next_rows(tape, needed, cache.slot, cache.base[0], rows)]
        if self.reserve is not None:
            needed = _generous((self.reserve.reserves[:, HEAD] - reserve_heads) * ahead) + 1
            kept = np.empty(needed.sum(), np.int64)
            rows = np.append(rows, kept[: next_reserved(self.reserve, needed, cache.slot, cache.base[0], kept)])
        episodes = np.empty(_generous((int(tape.cursor[layout.EPISODES_OPENED]) - opened) * ahead) + 1, np.int64)
        openings = len(self.log) + episodes[: next_openings(tape, episodes, np.empty_like(episodes))]
        here = tape.cursor[layout.CODE]
        self._evaluate(np.concatenate([[here], rows, openings[cache.slot[openings] < cache.base[0]]]))

    def _evaluate(self, codes: np.ndarray) -> None:
        observations = observations_at(self.log, codes)
        policies = as_policies(self.learner.policies(observations), self.cache.policy.shape[1], observations)
        end = self._n_known + len(codes)
        if end > len(self.cache.policy):
            room = np.empty((2 * end, policies.shape[1]))
            room[: self._n_known] = self.cache.policy[: self._n_known]
            self.cache = self.cache._replace(policy=room)
        self.cache.policy[self._n_known : end] = policies
        self.cache.slot[codes] = self.cache.base[0] + np.arange(self._n_known, end)
        self._n_known = end

    def take_cut(self) -> bool:
        """True if an episode was cut after the last steps were handed to the learner, and before the next one."""
        cut, self.cache.cut_before[0] = bool(self.cache.cut_before[0]), False
        return cut

    def take_steps(self) -> Steps:
        """Return the steps since the last call, as arrays that the learner may keep: ours are overwritten."""
        cache, n = self.cache, int(self.cache.n_steps[0])
        cache.n_steps[0] = 0
        rows = cache.next_code[:n]
        action, reward, terminated, truncated = (
            column[:n].copy() for column in (cache.action, cache.reward, cache.terminated, cache.truncated)
        )
        before, following = observations_at(self.log, cache.code[:n]), self.log.next_observation[rows]
        return Steps(before, action, reward, following, terminated, truncated)

    def forget(self, steps: int) -> None:
        """Drop all policies, because the learner was updated."""
        self.cache.base[0] += self._n_known
        self._n_known = 0
        self._marks = [self._marks[1], self._mark(steps)]

    def _mark(self, steps: int) -> tuple[np.ndarray, np.ndarray | None, int, int]:
        kept = None if self.reserve is None else self.reserve.reserves[:, HEAD].copy()
        return self.tape.queues[:, HEAD].copy(), kept, int(self.tape.cursor[layout.EPISODES_OPENED]), steps


def observations_at(log: Log, codes: np.ndarray) -> np.ndarray:
    """Return the observations with these codes: row r's next observation has code r, episode e's opening N + e."""
    opening = codes >= len(log)
    if not opening.any():
        return log.next_observation[codes]
    observations = log.next_observation[np.where(opening, 0, codes)]
    observations[opening] = log.observation[log.starts[codes[opening] - len(log)]]
    return observations


def _generous(expected: Any) -> Any:
    """Return whole numbers that counts with these expectations will hardly exceed."""
    return np.ceil(1.1 * expected + 2.0 * np.sqrt(expected)).astype(np.int64)
