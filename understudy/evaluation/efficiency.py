"""How long the log could answer."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.digits import percent
from understudy.errors import SettingError
from understudy.evaluation.earnings import SHARE
from understudy.evaluation.named_runs import check_runs
from understudy.runs import Runs
from understudy.tables import arrow_table, record_table

if TYPE_CHECKING:
    import pyarrow as pa

TYPES = {
    "n_runs": "int64", "steps": "float64", "low_quartile": "float64", "high_quartile": "float64", "shortest": "int64",
    "longest": "int64", "horizon": "int64", "episodes": "float64", "share_served": "float64",
    "rows_per_step": "float64", "n_limited": "int64", "stop": "string", "n_stop": "int64",
    "exact_steps": "int64", "cuts": "float64",
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Efficiency:
    """How far runs went before the log had no further answer. Steps and episodes are medians over runs."""

    n_runs: int
    steps: float
    quartiles: tuple[float, float]
    shortest: int
    longest: int
    horizon: int  # the largest step that nine of ten runs reached
    episodes: float  # finished ones
    share_served: float | None  # steps over rows of the log, above 1 where rows are served again; None without a log
    rows_per_step: float | None  # rows looked at for each one served
    stops: dict[str, int]  # each reason why runs stopped, and how many did for it; the most frequent first
    n_limited: int  # runs that max_steps or the learner stopped: how long they could have gone is not known
    exact_steps: int | None = None  # up to which nine of ten runs used no lower rung; None where there are none
    cuts: float | None = None  # episodes of a run that were cut, the median; None likewise

    def __str__(self) -> str:
        share = "" if self.share_served is None else f", {percent(self.share_served)} of the log"
        listed = [f"{reason} ({count} of {self.n_runs})" for reason, count in list(self.stops.items())[:3]]
        exact = "" if self.exact_steps is None else f", exact up to step {self.exact_steps:,}"
        reasons = "; ".join(listed) + (f"; {len(self.stops) - 3} other reasons" if len(self.stops) > 3 else "")
        return f"{self.steps:,.0f} steps (median of {self.n_runs} runs{share}){exact}; stopped since {reasons}"

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values."""
        return dict(vars(self)) | {"quartiles": list(self.quartiles)}

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table of one line, a column for each field.

        `quartiles` are two columns, `low_quartile` and `high_quartile`; of `stops` there is the most frequent one,
        `stop`, and how many runs it stopped, `n_stop`. `runs.to_frame(per="run")` has the reason of every run.
        """
        low, high = self.quartiles
        reason, count = next(iter(self.stops.items()))
        values = vars(self) | {"low_quartile": low, "high_quartile": high, "stop": reason, "n_stop": count}
        return arrow_table({name: [values[name]] for name in TYPES}, TYPES)

    def _repr_html_(self) -> str:
        return record_table("Efficiency", vars(self))._repr_html_()


def efficiency(runs: Runs) -> Efficiency:
    """Return how long the log could answer for these runs, and why they stopped.

    >>> from understudy.contracts import Stop
    >>> from understudy.runs import Run
    >>> none = np.empty(0)
    >>> stop = Stop("queue empty", state=3, counts={"rows taken": 30})
    >>> runs = Runs(tuple(Run(0, np.arange(n), none, None, none, none, none, {}, {}, stop) for n in (10, 20)))
    >>> print(efficiency(runs))
    15 steps (median of 2 runs); stopped since state 3 has no row left (2 of 2)
    """
    check_runs("runs", runs)
    if not len(runs):
        raise SettingError("there is no run to measure; give the Runs of an experiment")
    lengths, rows = runs.lengths, runs.about.log_rows
    taken = np.array([run.stopped.counts.get("rows taken", np.nan) for run in runs])
    with np.errstate(invalid="ignore", divide="ignore"):
        per_step = taken / lengths
    known = per_step[np.isfinite(per_step)]
    reasons = {run.stopped.group: run.stopped.reason for run in reversed(runs)}  # of equal ones, the first run's words
    cuts = [len(run.cuts) for run in runs if run.cuts is not None]
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
        exact_steps=runs.exact_horizon(SHARE) if cuts else None,
        cuts=float(np.median(cuts)) if cuts else None,
    )
