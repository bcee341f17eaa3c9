"""The luck of one log, estimated from that log alone: how far its mean curve may be off, by runs on halves of it.

All runs replay one log, so what that log happens to hold shifts all of them alike, and their spread does not show it.
Random halves of its episodes do: a half differs from the whole about as much as the whole differs from the truth, since
a half has twice the variance of the whole and shares half of it. So the variance among the means of halves, less the
part that is due to runs, estimates the variance of the whole's mean that is due to the log.
"""

from dataclasses import dataclass

import numpy as np

SHARE_GOING = 0.75
"""Readings of halves are used where at least this share of their runs is still going: later ones are of survivors."""

SHARE_READ = 0.75
"""... and where at least this share of halves has two readings or more, by which their own noise is known."""

STEADY_SHARE = 0.5
"""The share of luck in the variance of a reading up to which the whole variance is told by the spread of runs. Beyond
it runs have used up most of the log and hardly differ, so the whole variance is that which was seen before."""

FEWEST_DEGREES = 5.0
"""Degrees of freedom below which an interval would say little more than that nothing is known; or one less than halves,
where these are few."""


@dataclass(frozen=True, eq=False)
class Moments:
    """The mean of readings over runs, and the variance of that mean which is due to runs; NaN without two readings."""

    mean: np.ndarray  # (..., K)
    noise: np.ndarray  # (..., K)

    @classmethod
    def of(cls, readings: np.ndarray) -> "Moments":
        """Return the moments of readings, (..., R, K) with NaN where a run has none."""
        known = np.isfinite(readings)
        n = known.sum(axis=-2)
        mean = np.where(known, readings, 0.0).sum(axis=-2) / np.maximum(n, 1)
        squares = np.where(known, readings - mean[..., None, :], 0.0) ** 2
        variance = squares.sum(axis=-2) / np.maximum(n - 1, 1)
        return cls(np.where(n > 0, mean, np.nan), np.where(n > 1, variance / np.maximum(n, 1), np.nan))


@dataclass(frozen=True, eq=False)
class Luck:
    """The variance of a mean curve that is due to its log, with the variance of that estimate; both (K,)."""

    variance: np.ndarray
    error: np.ndarray
    n_seen: int  # readings, from the first, at which halves were still going; beyond them it is extrapolated
    fewest_degrees: float = FEWEST_DEGREES


def luck_of_one_log(spread: np.ndarray, halves: Moments, going: np.ndarray, *, in_log_order: bool = False) -> Luck:
    """Return the variance of a mean curve that is due to its log.

    `spread`, (K,), is the variance of single runs on the whole log; `halves` has the moments of runs on each half,
    (H, K); `going`, (K,), is the share of these runs that reached each reading.

    Runs on one log resemble each other the more, the more of the log they have used: what two of them share is a part
    of their variance that begins at some level and grows in proportion to the steps. That line is fitted, without
    negative coefficients, to the readings that halves reach. Beyond them it is continued with care: what grows is taken
    to grow with the square of the steps, since learners that settle down forget their own luck and keep the log's. The
    error is a jackknife over halves.

    With `in_log_order` all runs read the same first episodes, and two halves share half of these, so halves show only
    half of the luck: it is doubled.
    """
    n_halves, n_readings = halves.mean.shape
    time = np.arange(1, n_readings + 1) / n_readings
    read = np.isfinite(halves.noise)
    seen = (going >= SHARE_GOING) & (read.mean(axis=0) >= SHARE_READ) & np.isfinite(spread)
    fewest = min(FEWEST_DEGREES, max(n_halves - 1.0, 1.0))
    if n_halves < 3 or not seen.any():
        return Luck(np.full(n_readings, np.nan), np.full(n_readings, np.nan), 0, fewest)

    def fitted(keep: np.ndarray) -> np.ndarray:
        among = variance_among(Moments(halves.mean[keep][:, seen], halves.noise[keep][:, seen]))
        return continued(time, seen, spread, 2 * among if in_log_order else among)

    every = np.arange(n_halves)
    variance = fitted(every)
    without_one = np.stack([fitted(every != half) for half in every])
    error = (n_halves - 1) / n_halves * ((without_one - without_one.mean(axis=0)) ** 2).sum(axis=0)
    error = np.maximum(error, 2 * variance**2 / (n_halves - 1))  # never better known than a variance of so many numbers
    return Luck(variance, error, int(np.flatnonzero(seen)[-1]) + 1, fewest)


def variance_among(halves: Moments) -> np.ndarray:
    """Return the variance among the means of halves, less the part that is due to runs: unbiased, so maybe negative."""
    known = np.isfinite(halves.noise)
    n = known.sum(axis=0)
    total = np.where(known, halves.mean, 0.0).sum(axis=0) / np.maximum(n, 1)
    squares = np.where(known, (halves.mean - total) ** 2, 0.0).sum(axis=0) / np.maximum(n - 1, 1)
    return squares - np.where(known, halves.noise, 0.0).sum(axis=0) / np.maximum(n, 1)


def continued(time: np.ndarray, seen: np.ndarray, spread: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Return the variance due to the log at all readings, (K,), from that at the readings which halves reach."""
    from scipy.optimize import nnls

    whole = spread[seen] + np.maximum(among, 0.0)
    share = np.divide(among, whole, out=np.zeros(len(whole)), where=whole > 0)
    level, slope = nnls(np.stack([np.ones(len(share)), time[seen]], axis=1), share)[0]
    beyond = np.maximum(time / time[seen][-1], 1.0)
    line = np.minimum(level + slope * time * beyond, 1.0)

    total = np.full(len(time), np.nan)
    total[seen] = whole
    steady = (line <= STEADY_SHARE) & np.isfinite(spread)
    total[steady] = spread[steady] / (1 - line[steady])
    known = np.isfinite(total)
    last = np.maximum.accumulate(np.where(known, np.arange(len(time)), np.flatnonzero(known)[0]))
    return line * total[last]


def degrees_of_freedom(noise: np.ndarray, n_runs: np.ndarray | int, luck: Luck) -> np.ndarray:
    """Return the degrees of freedom of the sum of the variance due to runs and that due to the log (Satterthwaite)."""
    spread = 2 * noise**2 / np.maximum(np.asarray(n_runs) - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = 2 * (noise + luck.variance) ** 2 / (spread + luck.error)
    return np.maximum(np.where(np.isnan(degrees), np.inf, degrees), luck.fewest_degrees)
