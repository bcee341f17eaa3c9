"""How close simulated curves are to a reference, and how far that can be told from noise."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.runs import Runs


class CensoringWarning(UserWarning):
    """An average over the runs that were still going, which differ from those that had stopped."""


@dataclass(frozen=True)
class Fidelity:
    """The distance between the mean curves of a probe in two sets of runs, up to a horizon.

    `rmse`, `mean_error` and `max_error` are the paper's, and never 0: `floor` is what the RMSE of a perfect simulator
    would be about, from the spread of runs alone. Where runs are independent, `squared_error` is the mean squared
    distance with that noise taken off, with an interval, and the verdict compares it with the margin's square.
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
        """Whether the curves are equivalent at the stated margin. Not knowing is not enough."""
        return self.verdict == "equivalent"

    def __str__(self) -> str:
        text = (
            f"{self.probe} up to step {self.horizon:,}: RMSE {self.rmse:.4g} (floor {self.floor:.2g}), "
            f"mean error {self.mean_error:.4g}, max error {self.max_error:.4g}"
        )
        if self.interval is not None and self.margin is not None:
            low, high = (np.sqrt(max(0.0, end)) for end in self.interval)
            text += (
                f"; noise taken off, the error is between {low:.3g} and {high:.3g} ({self.level:.0%}): "
                f"{self.verdict} at margin {self.margin:.3g}"
            )
        return f"{text}. {self.note}" if self.note else text

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return dict(vars(self)) | {"interval": None if self.interval is None else list(self.interval)}


ONE_LOG = (
    "No verdict: these runs share one log, so the luck of that log is in all of them and cannot be told from a bias; "
    "give each run a log of its own, experiment(lambda seed: simulator), to claim fidelity"
)


def fidelity(
    runs: Runs,
    reference: Runs,
    probe: str | None = None,
    *,
    horizon: int | None = None,
    margin: float | None = None,
    level: float = 0.95,
) -> Fidelity:
    """Compare the mean curve of a probe, by default the first, with that of reference runs, usually real ones.

    The horizon is the largest step that every run reached, or the one asked for; beyond the former, averages are over
    survivors, which is said and warned of. The margin is in the probe's units, by default a tenth of the range of the
    reference's mean curve.
    """
    probe = _common_probe(runs, reference) if probe is None else probe
    (steps, ours), (theirs_steps, theirs) = runs.curve(probe), reference.curve(probe)
    points = np.intersect1d(steps, theirs_steps)
    common = int(min(runs.lengths.min(), reference.lengths.min()))
    horizon = common if horizon is None else int(horizon)
    points = points[points <= horizon]
    if not len(points):
        raise ValueError(f"no reading of {probe!r} is shared up to step {horizon:,}; probe more often than every that")
    ours = ours[:, np.isin(steps, points)].reshape(len(runs), len(points), -1)
    theirs = theirs[:, np.isin(theirs_steps, points)].reshape(len(reference), len(points), -1)

    reached = np.concatenate([runs.lengths >= horizon, reference.lengths >= horizon])
    note = ""
    if not reached.all():
        note = f"{(~reached).sum()} of {len(reached)} runs had stopped before step {horizon:,}: averages of survivors"
        warnings.warn(f"fidelity of {probe!r}: {note}", CensoringWarning, stacklevel=2)
    usable = _usable(runs, ours, points) & _usable(reference, theirs, points)
    if not usable.any():
        raise ValueError(f"{probe!r} has no reading up to step {horizon:,} that all runs share; it may be NaN throughout")
    ours, theirs = ours[:, usable], theirs[:, usable]

    error = np.nanmean(ours, axis=0) - np.nanmean(theirs, axis=0)
    noise = _noise(ours) + _noise(theirs)
    result = {
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
    if not (_independent(runs) and _independent(reference)):
        return Fidelity(**result, note=ONE_LOG)
    if min(len(runs), len(reference)) < 3:
        return Fidelity(**result, note="No verdict: fewer than three runs tell nothing of their spread")
    if margin is None:
        margin = 0.1 * float(np.ptp(theirs.mean(axis=0)))
    squared, interval = squared_distance(ours.reshape(len(ours), -1), theirs.reshape(len(theirs), -1), level)
    verdict = "equivalent" if interval[1] < margin**2 else "different" if interval[0] > margin**2 else "undecided"
    return Fidelity(**result, squared_error=squared, interval=interval, margin=float(margin), verdict=verdict)


def squared_distance(ours: np.ndarray, theirs: np.ndarray, level: float) -> tuple[float, tuple[float, float]]:
    """The mean squared difference between two expected curves, (R, K) samples of each, unbiased, and its interval.

    What is left of the noise has, for normal curves, variance 4 d'Sd + 2 tr(SS) with d the difference and S the
    covariance of its estimate. Both terms are taken from the runs; since d is noisy too this is on the safe side, most
    of all where d is 0. Quantiles are Student's with the smaller set's degrees of freedom.
    """
    from scipy import stats

    difference = ours.mean(axis=0) - theirs.mean(axis=0)
    n_points = len(difference)
    squared = float(np.mean(difference**2 - _noise(ours[:, :, None])[:, 0] - _noise(theirs[:, :, None])[:, 0]))
    variance = 4 * (_along(ours, difference) + _along(theirs, difference)) + 2 * _trace_of_square(ours, theirs)
    width = stats.t.ppf(0.5 + level / 2, min(len(ours), len(theirs)) - 1) * np.sqrt(variance) / n_points
    return squared, (max(0.0, squared - width), max(0.0, squared + width))


def _along(curves: np.ndarray, direction: np.ndarray) -> float:
    """d'Sd of one set: the variance of its mean in a direction."""
    return float((curves @ direction).var(ddof=1) / len(curves))


def _trace_of_square(ours: np.ndarray, theirs: np.ndarray) -> float:
    """tr(SS), S the sum of the two means' covariances; by inner products of runs, which are fewer than points."""
    one, other = (curves - curves.mean(axis=0) for curves in (ours, theirs))
    n, m = len(one) - 1, len(other) - 1
    cross = np.sum((one @ other.T) ** 2) / (n * m) / (len(one) * len(other))
    return float(_own_trace(one) / len(one) ** 2 + _own_trace(other) / len(other) ** 2 + 2 * cross)


def _own_trace(centered: np.ndarray) -> float:
    """tr(CC) of one set's covariance C, less what the sampling of C adds to it."""
    n = len(centered) - 1
    gram = centered @ centered.T / n
    square, trace = np.sum(gram**2), np.trace(gram)
    return max(0.0, float(n**2 / ((n + 2) * (n - 1)) * (square - trace**2 / n)))


def _noise(curves: np.ndarray) -> np.ndarray:
    """The variance of the mean at each point."""
    n = np.sum(np.isfinite(curves), axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a single survivor has no variance
        return np.where(n > 1, np.nanvar(curves, axis=0, ddof=1) / n, np.nan if len(curves) > 1 else 0.0)


def _usable(runs: Runs, curves: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points at which every run that had got so far has a reading."""
    going = runs.lengths[:, None] >= points[None, :]
    read = np.isfinite(curves).all(axis=2)
    return going.any(axis=0) & (read | ~going).all(axis=0)


def _independent(runs: Runs) -> bool:
    return bool(runs.about.get("own_logs")) or runs.about.get("kind") == "real"


def _common_probe(runs: Runs, reference: Runs) -> str:
    shared = [name for name in runs.probes if name in reference.probes]
    if not shared:
        raise ValueError("the two sets of runs have no probe in common; give both the same probes=")
    return shared[0]
