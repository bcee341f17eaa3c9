"""How many episodes like those of a log a number of steps would need.

A log is continued with copies of itself: the same episodes again, in another order. What a run of T steps has read of
them when it is over is the smallest log, in that order, that would have served it: episodes are read only when a queue
is empty or an opening is wanted. So every way to run out counts, as it does in the runs themselves, and a run whose
queues are used up unevenly needs more than T steps' share of the log.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, inf
from typing import Any

import numpy as np

from understudy.contracts import Learner, LogUse, LoopOwner, RepeatableSimulator, Stop, TellsUse
from understudy.contracts.ladders import ladder_of
from understudy.contracts.naming import name_of
from understudy.contracts.offering import offers
from understudy.contracts.simulating import log_of
from understudy.errors import ContractError, SettingError
from understudy.runs import simulate

MOST_ROWS = 50_000_000
"""Rows of all copies of a log together, beyond which no further copy is made."""

MOST = 0.9
"""The share of runs that "most" stands for."""


@dataclass(frozen=True)
class Needed:
    """The log that a number of steps would need, if it were made of episodes like those of the log at hand."""

    steps: int
    episodes: int | None  # so that half of the runs reach these steps; None where copies of the log do not do
    episodes_for_most: int | None  # so that nine of ten do
    what: str  # what runs need most of, compared with what was logged; where `episodes` is None, why they stopped
    rows: int | None  # of it, that a run of these steps uses: the median; None where `episodes` is
    logged: int | None  # of it, in the log at hand
    log_episodes: int  # of the log at hand
    copies: int  # of the log, that were made at most

    def __str__(self) -> str:
        if self.episodes is None:
            return (
                f"how many episodes {self.steps:,} steps need cannot be told from this log: in half of the pre-runs or "
                f"more, {self.what}, even with {self.copies:,} copies of it"
            )
        more = self.episodes - self.log_episodes
        enough = f"{more:,} more episodes like these" if more > 0 else f"{self.episodes:,} of its episodes"
        most = "" if self.episodes_for_most is None else f", {self.episodes_for_most:,} for nine of ten"
        return (
            f"{self.steps:,} steps need {enough} ({self.episodes:,} in all for half of the runs{most}), above all for "
            f"{self.what} ({self.rows:,} needed, {self.logged:,} logged)"
        )


class LastRehearsal:
    """A simulator that keeps the rehearsal it started last, so that what a run used can be asked when it is over."""

    def __init__(self, simulator: Any) -> None:
        self._simulator, self.rehearsal = simulator, None

    def start(self, seed: int, *codes: Any) -> Any:
        self.rehearsal = self._simulator.start(seed, *codes)
        return self.rehearsal

    def start_shared(self, seed: int, n: int) -> list[Any]:
        rehearsals = self._simulator.start_shared(seed, n)
        self.rehearsal = rehearsals[0]
        return rehearsals

    def __getattr__(self, name: str) -> Any:
        return getattr(self._simulator, name)


@dataclass(frozen=True)
class PreRun:
    """A run over copies of a log: what it used when it had the steps asked for, or None and why it stopped before."""

    use: LogUse | None
    stop: Stop
    copies: int

    @property
    def episodes(self) -> float:
        """The number of episodes it needed; infinite where copies of the log do not do."""
        return inf if self.use is None else self.use.episodes


def check_repeats(simulator: Any) -> None:
    """Raise `SettingError` where a simulator cannot go on with copies of its log."""
    if ladder_of(simulator):
        raise SettingError(
            "how many episodes steps= would need is told for rows of the states themselves, each served once, and this "
            "simulator has lower rungs; leave steps= out, or leave then= out"
        )
    if log_of(simulator) is None or not offers(simulator, RepeatableSimulator):
        raise SettingError(
            f"{name_of(simulator)} cannot repeat its log, so what steps= would need cannot be told; leave steps= out, "
            "or give it repeated(copies), as understudy.contracts.RepeatableSimulator describes it"
        )


def needed_for(
    steps: int, simulator: Any, make: Callable[[int], Learner | LoopOwner], seeds: Sequence[int], usual: int
) -> Needed:
    """Return the log that so many steps would need, from a pre-run for each seed; `usual` is the length of runs."""
    check_repeats(simulator)
    log = simulator.log
    most = max(2, MOST_ROWS // len(log))
    copies = min(most, 1 + 2 * ceil(steps / max(1, usual))) if steps > usual else 1  # the log itself will mostly do
    repeated, found = cache(simulator.repeated), []
    for seed in seeds:
        found.append(pre_run(steps, repeated, make, seed, copies, most))
        copies = found[-1].copies if found[-1].use is not None else copies
    return summary(steps, found, log.n_episodes)


def pre_run(
    steps: int, repeated: Callable[[int], Any], make: Callable[[int], Any], seed: int, copies: int, most: int
) -> PreRun:
    """Return a run of so many steps, over more and more copies of the log until they are enough or do not help."""
    before = -1
    while True:
        simulator = LastRehearsal(repeated(copies))
        run = simulate(simulator, make(seed), seed, steps, keep_rows=False)
        if run.stopped.cause == "learner ended" and len(run) < steps:
            raise SettingError(f"the learner ends by itself after {len(run):,} steps; give steps= up to that number")
        use = simulator.rehearsal.use() if offers(simulator.rehearsal, TellsUse) else None
        if len(run) == steps:
            if use is None:
                raise ContractError(f"rehearsals of {name_of(simulator)} do not tell their use; give them use()")
            return PreRun(replace(use, logged=use.logged // copies), run.stopped, copies)
        if len(run) == before or copies == most:
            return PreRun(None, run.stopped, copies)
        before, copies = len(run), min(most, 4 * copies)


def summary(steps: int, found: Sequence[PreRun], log_episodes: int) -> Needed:
    """Return what pre-runs of so many steps needed."""
    needs, copies = sorted(one.episodes for one in found), max(one.copies for one in found)
    half, most = (needs[ceil(share * len(needs)) - 1] for share in (0.5, MOST))
    if half == inf:
        stops = [one.stop for one in found if one.use is None]
        group = Counter(stop.group for stop in stops).most_common(1)[0][0]
        reason = next(stop.reason for stop in stops if stop.group == group)
        return Needed(steps, None, None, reason, None, None, log_episodes, copies)
    uses = [one.use for one in found if one.use is not None]
    group = Counter(use.scarcest.group for use in uses).most_common(1)[0][0]
    scarcest = [use for use in uses if use.scarcest.group == group]
    rows = int(np.median([use.rows for use in scarcest]))
    for_most = None if most == inf else int(most)
    what, logged = scarcest[0].scarcest.what, scarcest[0].logged
    return Needed(steps, int(half), for_most, what, rows, logged, log_episodes, copies)
