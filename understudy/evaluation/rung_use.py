"""Which rungs of a ladder served the steps of runs, along the run, and how many episodes were cut."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.contracts.ladders import RUNGS
from understudy.digits import percent
from understudy.errors import SettingError
from understudy.evaluation.earnings import SHARE
from understudy.evaluation.named_runs import check_runs
from understudy.runs import Runs
from understudy.settings import whole
from understudy.tables import arrow_table, record_table

if TYPE_CHECKING:
    import pyarrow as pa

NAMES = ("own", *RUNGS)
"""The rungs by their numbers in `Run.rungs`."""

WORDS = {
    "like": "came from states alike",
    "reuse": "were served before",
    "untried": "took actions never tried in their state",
}
"""What is said of steps that a lower rung served."""

BINS = 60
"""Bins at most: about as many as can be told apart in a figure."""


@dataclass(frozen=True, eq=False, repr=False)
class RungUse:
    """Which rungs of a ladder served the steps of runs: in all, beyond the exact horizon, and in bins along the run."""

    exact: int  # the largest step up to which nine of ten runs used no lower rung and cut no episode
    n_steps: int  # beyond it, over all runs
    beyond: dict[str, float]  # the share of these that each rung served, by its name; "own" is the state's own rows
    n_episodes: int  # that ended beyond it, over all runs, cut ones included
    n_cut: int  # of these
    edges: np.ndarray  # (B+1,) int64: bin b has the steps after edges[b] up to edges[b+1]
    shares: np.ndarray  # (4, B): of the steps of each bin, what each rung served; NaN where no run had a step
    cut: np.ndarray  # (B,): of the episodes that ended in each bin, the share cut; NaN where none ended

    @property
    def sentence(self) -> str:
        """How far runs are exact, and what served them beyond that, in words."""
        lower = [f"{percent(self.beyond[name])} {words}" for name, words in WORDS.items() if self.beyond[name]]
        if not lower and not self.n_cut:
            return f"Exact up to step {self.exact:,}; no lower rung served a step beyond it, and no episode was cut."
        if lower:
            lower[0] = lower[0].replace("% ", "% of steps ", 1)
        if self.n_cut:
            lower.append(
                f"{self.n_cut:,} of {self.n_episodes:,} episodes were cut (by that alone, the chance of "
                f"anything that happens in an episode is off by at most {percent(self.n_cut / self.n_episodes)})"
            )
        return f"Exact up to step {self.exact:,}; beyond it {', '.join(lower)}."

    def __str__(self) -> str:
        return self.sentence

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values, None for what is not known."""
        plain = {name: value.tolist() for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        plain["shares"] = [[_known(share) for share in shares] for shares in plain["shares"]]
        plain["cut"] = [_known(share) for share in plain["cut"]]
        return vars(self) | plain

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table with a line for each bin: its last `step`, the share of each rung, and of `cut`."""
        shares = dict(zip(NAMES, map(list, self.shares), strict=True)) | {"cut": list(self.cut)}
        columns = {name: [_known(share) for share in values] for name, values in shares.items()}
        types = {"step": "int64"} | dict.fromkeys(columns, "float64")
        return arrow_table({"step": self.edges[1:].tolist()} | columns, types)

    def _repr_html_(self) -> str:
        numbers = {"exact up to step": self.exact, "steps beyond it": self.n_steps, **self.beyond}
        return record_table(self.sentence, numbers | {"episodes": self.n_episodes, "cut": self.n_cut})._repr_html_()


def rung_use(runs: Runs, bins: int = BINS) -> RungUse | None:
    """Return which rungs of a ladder served the steps of runs, and how many episodes were cut; None without a ladder.

    The steps of the longest run are divided into at most so many bins of equal width.
    """
    check_runs("runs", runs)
    if not len(runs):
        raise SettingError("there is no run to measure; give the Runs of an experiment")
    bins = whole("bins", bins)
    ladders = [(run, run.rungs, run.cuts) for run in runs if run.rungs is not None and run.cuts is not None]
    if not ladders:
        return None
    exact, longest = runs.exact_horizon(SHARE), int(runs.lengths.max())
    width = max(1, -(-longest // bins))
    n_bins = max(1, -(-longest // width))
    served, beyond = np.zeros((len(NAMES), n_bins)), np.zeros(len(NAMES))
    ended, cut = np.zeros(n_bins), np.zeros(n_bins)
    n_cut = n_finished = 0
    for run, rungs, cuts in ladders:
        for rung in range(len(NAMES)):
            at = rungs == rung
            served[rung] += _in_bins(at, width, n_bins)
            beyond[rung] += np.count_nonzero(at[exact:])
        # An episode that ended after s steps ended in the bin of step s; one that was cut had no answer for step s+1.
        ended += np.bincount((run.ends - 1) // width, minlength=n_bins)
        cut += np.bincount(np.maximum(cuts - 1, 0) // width, minlength=n_bins)
        n_finished += int(np.count_nonzero(run.ends > exact))
        n_cut += int(np.count_nonzero(cuts >= exact))
    with np.errstate(invalid="ignore"):
        shares, cut_share = served / served.sum(axis=0), cut / (cut + ended)
    n_steps = int(beyond.sum())
    return RungUse(
        exact=exact,
        n_steps=n_steps,
        beyond={name: float(count / max(1, n_steps)) for name, count in zip(NAMES, beyond, strict=True)},
        n_episodes=n_finished + n_cut,
        n_cut=n_cut,
        edges=np.minimum(width * np.arange(n_bins + 1), longest),
        shares=shares,
        cut=cut_share,
    )


def _in_bins(at: np.ndarray, width: int, n_bins: int) -> np.ndarray:
    """Return in how many steps of each bin this is True."""
    n_full = len(at) // width
    counts = np.zeros(n_bins)
    counts[:n_full] = np.count_nonzero(at[: n_full * width].reshape(n_full, width), axis=1)
    if n_full < n_bins:
        counts[n_full] = np.count_nonzero(at[n_full * width :])
    return counts


def _known(share: float) -> float | None:
    return float(share) if np.isfinite(share) else None
