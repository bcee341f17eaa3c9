"""How long the log could answer."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.evaluation.earnings import SHARE
from understudy.runs import Runs


@dataclass(frozen=True)
class Efficiency:
    """How far runs went before the log had no further answer. Steps and episodes are medians over runs."""

    n_runs: int
    steps: float
    quartiles: tuple[float, float]
    shortest: int
    longest: int
    horizon: int  # the largest step that nine of ten runs reached
    episodes: float  # finished ones
    share_served: float | None  # steps over rows of the log; None without a log, and may pass 1 where rows return
    rows_per_step: float | None  # rows looked at for each one served
    stops: dict[str, int]  # why runs stopped, and how many did
    n_limited: int  # runs that max_steps or the learner stopped: how long they could have gone is not known

    def __str__(self) -> str:
        share = "" if self.share_served is None else f", {self.share_served:.0%} of the log"
        listed = [f"{reason} ({count} of {self.n_runs})" for reason, count in list(self.stops.items())[:3]]
        reasons = "; ".join(listed) + (f"; {len(self.stops) - 3} other reasons" if len(self.stops) > 3 else "")
        return f"{self.steps:,.0f} steps (median of {self.n_runs} runs{share}); stopped since {reasons}"

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return dict(vars(self)) | {"quartiles": list(self.quartiles)}


def efficiency(runs: Runs) -> Efficiency:
    """How long the log could answer for these runs, and what ran out.

    >>> from understudy.contracts import Stop
    >>> from understudy.runs import Run
    >>> none = np.empty(0)
    >>> stop = Stop("queue empty", state=3, counts={"rows taken": 30})
    >>> runs = Runs(tuple(Run(0, np.arange(n), none, None, none, none, none, {}, {}, stop) for n in (10, 20)))
    >>> print(efficiency(runs))
    15 steps (median of 2 runs); stopped since state 3 has no row left (2 of 2)
    """
    if not len(runs):
        raise ValueError("there is no run to measure")
    lengths, rows = runs.lengths, runs.about.get("log_rows")
    taken = np.array([run.stopped.counts.get("rows taken", np.nan) for run in runs])
    with np.errstate(invalid="ignore", divide="ignore"):
        per_step = taken / lengths
    known = per_step[np.isfinite(per_step)]
    reasons = {run.stopped.group: run.stopped.reason for run in reversed(runs)}  # of those alike, the first one's
    stops = Counter(reasons[run.stopped.group] for run in runs)
    return Efficiency(
        n_runs=len(runs),
        steps=float(np.median(lengths)),
        quartiles=(float(np.quantile(lengths, 0.25)), float(np.quantile(lengths, 0.75))),
        shortest=int(lengths.min()),
        longest=int(lengths.max()),
        horizon=runs.horizon(SHARE),
        episodes=float(np.median([len(run.ends) for run in runs])),
        share_served=float(np.median(lengths) / rows) if rows else None,
        rows_per_step=float(np.median(known)) if rows and len(known) else None,
        stops=dict(stops.most_common()),
        n_limited=sum(run.stopped.cause in ("max steps", "learner ended") for run in runs),
    )
