"""What an episode earned, over the same episodes of every run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.runs import Runs
from understudy.runs.run import reached

SHARE = 0.9
"""Of the runs of each set, those that must have finished the episodes that are counted."""


@dataclass(frozen=True)
class Earnings:
    """What an episode earned on average, over the first `episodes` episodes of every run.

    Runs stop when the log has no answer, which depends on what happened in them, so the episodes that all runs finished
    cannot be averaged as they come: runs that lasted would count for their later, better episodes, and long episodes
    would be missing at each run's end. The first so many episodes of every run are the same for all. Where some runs
    stopped before the last of them, `low` and `high` are what the mean would be if the missing episodes had earned the
    lowest and the highest return that was seen; elsewhere they equal the mean.
    """

    episodes: int  # of each run, from its first
    steps: int  # by when the last of them was over, in the slowest run that finished them
    mean: float  # over those that were finished
    low: float
    high: float
    error: float  # 1.96 standard errors of the mean over runs; the luck of the log is not in it
    missing: float  # share of these episodes that were not finished

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return dict(vars(self))


def earnings(sets: Mapping[str, Runs], *, share: float = SHARE) -> dict[str, Earnings]:
    """What an episode earned in each set of runs, counted over the same number of episodes in all of them.

    That number is the largest that at least this share of the runs of every set finished; where it is 0, the answer is
    empty. Use it to compare learners on one log, or a learner with what the log itself earned.

    >>> from understudy.contracts import Stop
    >>> from understudy.runs import Run
    >>> def run(*returns):
    ...     ends, none = 5 * np.arange(1, len(returns) + 1), np.empty(0)
    ...     return Run(0, np.arange(30), none, None, ends, np.array(returns), none, {}, {}, Stop("no opening"))
    >>> found = earnings({"a": Runs((run(1.0, 3.0), run(2.0, 2.0, 9.0))), "b": Runs((run(0.0, 1.0), run(0.0, 1.0)))})
    >>> found["a"].episodes, found["a"].mean, found["b"].mean
    (2, 2.0, 0.5)
    """
    if not 0.5 <= share <= 1.0:
        raise ValueError(f"share={share!r} must be from 0.5 to 1: the means of fewer runs would be those of survivors")
    sets = {name: runs for name, runs in sets.items() if len(runs)}
    finished = [reached(np.array([len(run.ends) for run in runs]), share) for runs in sets.values()]
    episodes = min(finished, default=0)
    if not episodes:
        return {}
    seen = np.concatenate([run.returns[:episodes] for runs in sets.values() for run in runs])
    return {name: _earnings(runs, episodes, float(seen.min()), float(seen.max())) for name, runs in sets.items()}


def _earnings(runs: Runs, episodes: int, lowest: float, highest: float) -> Earnings:
    counted = [run.returns[:episodes] for run in runs]
    total, n = sum(float(part.sum()) for part in counted), sum(map(len, counted))
    n_all = episodes * len(runs)
    means = [float(part.mean()) for part in counted if len(part) == episodes]
    error = 1.96 * float(np.std(means, ddof=1)) / len(means) ** 0.5 if len(means) > 1 else float("nan")
    return Earnings(
        episodes=episodes,
        steps=max(int(run.ends[episodes - 1]) for run in runs if len(run.ends) >= episodes),
        mean=total / n,
        low=(total + (n_all - n) * lowest) / n_all if n < n_all else total / n,
        high=(total + (n_all - n) * highest) / n_all if n < n_all else total / n,
        error=error,
        missing=1 - n / n_all,
    )
