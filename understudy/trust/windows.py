"""Readings of several learners at the same places of their runs: windows of episodes, or the readings of a probe.

What an episode earns is compared by episodes, not by steps: the first so many of each run. The episodes that happen to
end between two steps are more often short than long, a window of steps may hold none, and a learner that finishes
quickly would be compared with the others' first few episodes only.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from understudy.errors import LogError, SettingError
from understudy.evaluation import Halves
from understudy.evaluation.intervals import HalvedReadings
from understudy.runs import Runs
from understudy.runs.nouns import noun_of
from understudy.runs.run import reached

SHARE = 0.95
"""The share of the runs of each learner that must have reached what is compared: later means are of survivors."""

MOST_WINDOWS = 16
"""Windows that the compared episodes are divided into, at most."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Readings of several learners at the same K places, run by run and half by half in the same order."""

    readings: Mapping[str, HalvedReadings]  # of each learner; `steps` are its median steps at each place
    ends: np.ndarray  # (K,): the last episode of each window, or the step of each reading
    unit: str  # "episode", "decision" (an episode of one step) or "step": what `ends` counts
    shortest: str  # the learner whose runs end first
    longest: int  # how far the others' runs would reach without it, in the same unit

    @property
    def n(self) -> int:
        """How many windows or readings there are."""
        return len(self.ends)

    def first(self, place: int) -> int:
        """Return the first episode or step of a window."""
        return int(self.ends[place - 1]) + 1 if place else 1


def windows_of_episodes(found: Mapping[str, Halves], upto: int | None = None) -> Windows:
    """Return what an episode earned, by windows of the episodes that the runs of all learners finished.

    With `upto`, these are the episodes that were finished by that step. Raise `LogError` where too few runs of a
    learner finished an episode.
    """
    finished = {name: finished_by(one.runs, upto) for name, one in found.items()}
    shortest = min(finished, key=lambda name: finished[name])
    episodes = finished[shortest]
    if not episodes and upto is not None:
        raise LogError(
            f"fewer than {SHARE:.0%} of the runs of {shortest!r} finished an episode by step {upto:,}; log more "
            "episodes, so that the log can be believed for longer",
            "compare",
        )
    if not episodes:
        lengths = found[shortest].runs.lengths
        raise LogError(
            f"what an episode earns cannot be compared: fewer than {SHARE:.0%} of the runs of {shortest!r} finished an "
            f"episode, and they stopped after {np.median(lengths):,.0f} steps in the median; leave it out, log more "
            "episodes, or compare what was earned step by step, with probe=us.probes.reward_so_far",
            "compare",
        )
    size = -(-episodes // MOST_WINDOWS)
    ends = size * np.arange(1, episodes // size + 1)
    longest = _without(finished, shortest) if upto is None else episodes  # that the others go further is not used
    noun = noun_of(*(one.runs for one in found.values()))
    return Windows({name: _earned(one, ends) for name, one in found.items()}, ends, noun, shortest, longest)


def windows_of_probe(found: Mapping[str, Halves], probe: str, upto: int | None = None) -> Windows:
    """Return the readings of a probe at the steps that the runs of all learners reached; with `upto`, up to that step.

    Raise `LogError` where there is no reading by then.
    """
    readings = {name: one.readings(probe, SHARE) for name, one in found.items()}
    lasts = {name: int(one.steps[-1]) for name, one in readings.items()}
    shortest = min(lasts, key=lambda name: lasts[name])
    n, longest = len(readings[shortest].steps), _without(lasts, shortest)
    if upto is not None:
        n = int(np.searchsorted(readings[shortest].steps, upto, side="right"))
        if not n:
            raise LogError(
                f"there is no reading of {probe!r} by step {upto:,}; read it more often, with every=, or log more "
                "episodes, so that the log can be believed for longer",
                "compare",
            )
        longest = int(readings[shortest].steps[n - 1])  # that the others go further is not used
    for name, one in readings.items():
        if not np.isfinite(one.whole[:, :n]).any(axis=0)[-1]:
            raise SettingError(f"no run of {name!r} has a reading of {probe!r} at step "
                               f"{readings[shortest].steps[n - 1]:,}, the last that is compared; read it less often, "
                               "with every=")  # fmt: skip
    cut = {name: one.first(n) for name, one in readings.items()}
    return Windows(cut, cut[shortest].steps, "step", shortest, longest)


def returns_by_window(runs: Runs, ends: np.ndarray) -> np.ndarray:
    """Return the mean return of each run in each window of episodes, (R, K); NaN where it did not finish all of them.

    `ends`, (K,), are the last episodes of windows of equal size.
    """
    values, size = np.full((len(runs), len(ends)), np.nan), int(ends[0])
    for place, run in enumerate(runs):
        n = min(len(run.returns) // size, len(ends))
        values[place, :n] = run.returns[: n * size].reshape(n, size).mean(axis=1)
    return values


def finished_by(runs: Runs, upto: int | None = None) -> int:
    """Return how many episodes nearly all runs finished; with `upto`, by that step."""
    return reached(n_finished(runs, upto), SHARE)


def n_finished(runs: Runs, upto: int | None = None) -> np.ndarray:
    """Return how many episodes each run finished; with `upto`, by that step."""
    if upto is None:
        return np.array([len(run.returns) for run in runs])
    return np.array([np.searchsorted(run.ends, upto, side="right") for run in runs])


def _earned(one: Halves, ends: np.ndarray) -> HalvedReadings:
    halves = np.stack([returns_by_window(half, ends) for half in one.halves])
    whole = returns_by_window(one.runs, ends)
    steps = [int(np.median([run.ends[end - 1] for run in one.runs if len(run.ends) >= end])) for end in ends]
    return HalvedReadings(np.array(steps), whole, halves, np.isfinite(halves).mean(axis=(0, 1)), one.in_log_order)


def _without(reach: Mapping[str, int], shortest: str) -> int:
    return min((places for name, places in reach.items() if name != shortest), default=reach[shortest])
