"""How close simulated curves are to a reference, and how far that can be told from noise."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.digits import digits
from understudy.errors import CensoringWarning, SettingError
from understudy.evaluation.distances import squared_distance
from understudy.evaluation.halves import Halves
from understudy.evaluation.luck_of_differences import luck_of_difference
from understudy.evaluation.named_runs import check_runs
from understudy.runs import Runs
from understudy.settings import real, whole
from understudy.tables import arrow_table, record_table

if TYPE_CHECKING:
    import pyarrow as pa

TYPES = {
    "probe": "string", "horizon": "int64", "n_points": "int64", "n_runs": "int64", "n_reference": "int64",
    "rmse": "float64", "mean_error": "float64", "max_error": "float64", "floor": "float64", "alive": "float64",
    "squared_error": "float64", "low": "float64", "high": "float64", "level": "float64", "margin": "float64",
    "verdict": "string", "note": "string",
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Fidelity:
    """The distance between the mean curves of a probe in two sets of runs, up to a horizon.

    `rmse`, `mean_error` and `max_error` are the paper's. They are never 0: `floor` is about what the RMSE of a perfect
    simulator would be, from the spread of runs alone. Where runs are independent, `squared_error` is the mean squared
    distance with that noise taken off, `interval` is its confidence interval, and `verdict` compares the interval with
    the square of the margin.
    """

    probe: str
    horizon: int
    n_points: int  # probe readings compared
    n_runs: int
    n_reference: int
    rmse: float
    mean_error: float
    max_error: float
    floor: float
    alive: float  # share of runs, of both sets, that reached the horizon; below 1 the averages are of survivors
    squared_error: float | None = None
    interval: tuple[float, float] | None = None
    level: float = 0.95
    margin: float | None = None
    verdict: str | None = None  # "equivalent", "different" or "undecided"
    note: str = ""

    @property
    def faithful(self) -> bool:
        """True if the curves are equivalent at the margin; False where they differ, and where that is undecided."""
        return self.verdict == "equivalent"

    def __str__(self) -> str:
        text = (
            f"{self.probe} up to step {self.horizon:,}: RMSE {digits(self.rmse, 4)} (floor {digits(self.floor, 2)}), "
            f"mean error {digits(self.mean_error, 4)}, max error {digits(self.max_error, 4)}"
        )
        if self.interval is not None and self.margin is not None:
            low, high = (np.sqrt(max(0.0, end)) for end in self.interval)
            text += (
                f"; noise taken off, the error is between {digits(low)} and {digits(high)} ({self.level:.0%}): "
                f"{self.verdict} at margin {digits(self.margin)}"
            )
        return f"{text}. {self.note}" if self.note else text

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values."""
        return dict(vars(self)) | {"interval": None if self.interval is None else list(self.interval)}

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table of one line, a column for each field; `interval` is two columns, `low` and `high`."""
        low, high = self.interval or (None, None)
        values = vars(self) | {"low": low, "high": high}
        return arrow_table({name: [values[name]] for name in TYPES}, TYPES)

    def _repr_html_(self) -> str:
        return record_table("Fidelity", vars(self))._repr_html_()


ONE_LOG = (
    "No verdict: these runs share a log, so the luck of that log is in all of them and cannot be told from a bias; "
    "make them with us.halves(simulator, make, ...), which measures that luck, or give each run a log of its own, "
    "experiment(lambda seed: simulator)"
)


def fidelity(
    runs: Runs | Halves,
    reference: Runs | Halves,
    probe: str | None = None,
    *,
    horizon: int | None = None,
    margin: float | None = None,
    level: float = 0.95,
) -> Fidelity:
    """Compare the mean curve of a probe, by default the first, with that of reference runs, usually real ones.

    `horizon` is by default the largest step that every run reached. Beyond it, averages are over the runs that were
    still going: the result's note says so, and a `CensoringWarning` is issued. `margin` is in the probe's units, by
    default a tenth of the range of the reference's mean curve. `level` is that of the interval, between 0 and 1.

    Runs on one log share its luck. There is a verdict on them where `us.halves` made them: the luck that halves of the
    log show is a part of the noise then. The reference may also be another simulator's runs on the same log.
    """
    runs, reference = (side.runs if isinstance(side, Halves) else side for side in (runs, reference))
    check_runs("runs", runs)
    check_runs("reference", reference)
    level = real("level", level, 0, 1, ends=False)
    margin = None if margin is None else real("margin", margin, 0)
    horizon = None if horizon is None else whole("horizon", horizon)
    probe = _common_probe(runs, reference) if probe is None else probe
    (steps, ours), (theirs_steps, theirs) = runs.curve(probe), reference.curve(probe)
    points = np.intersect1d(steps, theirs_steps)
    if horizon is None:
        horizon = int(min(runs.lengths.min(), reference.lengths.min()))
    points = points[points <= horizon]
    if not len(points):
        raise SettingError(
            f"no reading of {probe!r} is shared up to step {horizon:,}; read probes more often, with every="
        )
    longest = int(min(runs.lengths.max(), reference.lengths.max()))  # beyond it one of the two sets has no run
    horizon = min(int(horizon), longest)
    ours = ours[:, np.isin(steps, points)].reshape(len(runs), len(points), -1)
    theirs = theirs[:, np.isin(theirs_steps, points)].reshape(len(reference), len(points), -1)

    reached = np.concatenate([runs.lengths >= horizon, reference.lengths >= horizon])
    note = ""
    if not reached.all():
        note = f"{(~reached).sum()} of {len(reached)} runs had stopped before step {horizon:,}: averages of survivors"
        warnings.warn(f"fidelity of {probe!r}: {note}", CensoringWarning, stacklevel=2)
    usable = _usable(runs, ours, points) & _usable(reference, theirs, points)
    if not usable.any():
        raise SettingError(
            f"{probe!r} has no reading up to step {horizon:,} that all runs share; it may be NaN throughout"
        )
    ours, theirs = ours[:, usable], theirs[:, usable]

    error = np.nanmean(ours, axis=0) - np.nanmean(theirs, axis=0)
    noise = _noise(ours) + _noise(theirs)
    result: dict[str, Any] = {
        "probe": probe,
        "horizon": horizon,
        "n_points": int(usable.sum()),
        "n_runs": len(runs),
        "n_reference": len(reference),
        "rmse": float(np.sqrt(np.mean(error**2))),
        "mean_error": float(np.mean(np.abs(error))),
        "max_error": float(np.max(np.abs(error))),
        "floor": float(np.sqrt(np.mean(noise))),
        "alive": float(reached.mean()),
        "level": level,
    }
    if not reached.all():
        return Fidelity(**result, note=f"No verdict: {note}")
    if min(len(runs), len(reference)) < 3:
        return Fidelity(**result, note="No verdict: fewer than three runs tell nothing of their spread")
    independent = runs.about.independent and reference.about.independent
    if ours.shape[2] > 1 and not independent:
        return Fidelity(**result, note="No verdict: the luck of one log is measured for probes of one number only")
    luck = luck_of_difference(runs, reference, probe, points[usable])
    if luck is None:
        return Fidelity(**result, note=ONE_LOG)
    if margin is None:
        margin = 0.1 * float(np.ptp(theirs.mean(axis=0)))
    ours, theirs = (side.reshape(len(side), -1) for side in (ours, theirs))
    if not independent:
        result["floor"] = float(np.sqrt(np.mean(_noise(ours) + _noise(theirs) + luck.variance)))
    squared, interval = squared_distance(ours, theirs, level, None if independent else luck)
    verdict = "equivalent" if interval[1] < margin**2 else "different" if interval[0] > margin**2 else "undecided"
    return Fidelity(**result, squared_error=squared, interval=interval, margin=float(margin), verdict=verdict)


def _noise(curves: np.ndarray) -> np.ndarray:
    """Return the variance of the mean at each point."""
    n = np.sum(np.isfinite(curves), axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a single survivor has no variance
        return np.where(n > 1, np.nanvar(curves, axis=0, ddof=1) / n, np.nan if len(curves) > 1 else 0.0)


def _usable(runs: Runs, curves: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return at which points every run that had not stopped before has a reading, (K,) bool."""
    going = runs.lengths[:, None] >= points[None, :]
    read = np.isfinite(curves).all(axis=2)
    return going.any(axis=0) & (read | ~going).all(axis=0)


def _common_probe(runs: Runs, reference: Runs) -> str:
    shared = [name for name in runs.probes if name in reference.probes]
    if not shared:
        raise SettingError("the two sets of runs have no probe in common; give both the same probes=")
    return shared[0]
