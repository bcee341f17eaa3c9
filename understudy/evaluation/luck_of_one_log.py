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

LARGEST_SHARE = 0.95
"""The largest share of the variance of a reading that luck is taken to be: all of it would make intervals infinite."""

FEWEST_DEGREES = 5.0
"""Degrees of freedom below which an interval would say little more than that nothing is known."""


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


def luck_of_one_log(spread: np.ndarray, halves: Moments, going: np.ndarray) -> Luck:
    """Return the variance of a mean curve that is due to its log.

    `spread`, (K,), is the variance of single runs on the whole log; `halves` has the moments of runs on each half,
    (H, K); `going`, (K,), is the share of these runs that reached each reading.

    Runs on one log resemble each other the more, the more of the log they have used: what two of them share is a part
    of their variance that begins at some level and grows in proportion to the steps. That line is fitted, without
    negative coefficients, to the readings that halves reach. Beyond them it is continued with care: what grows is taken
    to grow with the square of the steps, since learners that settle down forget their own luck and keep the log's. The
    error is a jackknife over halves.
    """
    n_halves, n_readings = halves.mean.shape
    time = np.arange(1, n_readings + 1) / n_readings
    read = np.isfinite(halves.noise)
    seen = (going >= SHARE_GOING) & (read.mean(axis=0) >= SHARE_READ) & np.isfinite(spread)
    if n_halves < 3 or not seen.any():
        return Luck(np.full(n_readings, np.nan), np.full(n_readings, np.nan), 0)

    def fitted(keep: np.ndarray) -> np.ndarray:
        among = variance_among(Moments(halves.mean[keep][:, seen], halves.noise[keep][:, seen]))
        return continued(time, seen, spread, among)

    every = np.arange(n_halves)
    variance = fitted(every)
    without_one = np.stack([fitted(every != half) for half in every])
    error = (n_halves - 1) / n_halves * ((without_one - without_one.mean(axis=0)) ** 2).sum(axis=0)
    return Luck(variance, error, int(np.flatnonzero(seen)[-1]) + 1)


def variance_among(halves: Moments) -> np.ndarray:
    """Return the variance among the means of halves, less the part that is due to runs: unbiased, so maybe negative."""
    known = np.isfinite(halves.noise)
    n = known.sum(axis=0)
    total = np.where(known, halves.mean, 0.0).sum(axis=0) / np.maximum(n, 1)
    squares = np.where(known, (halves.mean - total) ** 2, 0.0).sum(axis=0) / np.maximum(n - 1, 1)
    return squares - np.where(known, halves.noise, 0.0).sum(axis=0) / np.maximum(n, 1)


def continued(time: np.ndarray, seen: np.ndarray, spread: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Return the variance due to the log at all readings, (K,), from that at the readings which halves reach.

    Where runs do not differ there is no share to fit: the variance there is what halves show, and beyond them the last
    that they showed.
    """
    from scipy.optimize import nnls

    differ = spread[seen] > 0
    share = among[differ] / (spread[seen] + np.maximum(among, 0.0))[differ]
    found = np.zeros(len(time))
    if differ.any():
        at = time[seen][differ]
        level, slope = nnls(np.stack([np.ones(len(at)), at], axis=1), share)[0]
        beyond = np.maximum(time / time[seen][-1], 1.0)
        line = np.minimum(level + slope * time * beyond, LARGEST_SHARE)
        found = line / (1 - line) * spread
    alike = np.zeros(len(time), bool)
    alike[seen] = ~differ
    found[alike] = np.maximum(among, 0.0)[~differ]
    last = np.flatnonzero(seen)[-1]
    unseen = (np.arange(len(time)) > last) & ~(spread > 0)
    found[unseen] = max(float(among[-1]), 0.0)
    return found


def degrees_of_freedom(noise: np.ndarray, n_runs: np.ndarray | int, luck: Luck) -> np.ndarray:
    """Return the degrees of freedom of the sum of the variance due to runs and that due to the log (Satterthwaite)."""
    spread = 2 * noise**2 / np.maximum(np.asarray(n_runs) - 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = 2 * (noise + luck.variance) ** 2 / (spread + luck.error)
    return np.maximum(np.where(np.isnan(degrees), np.inf, degrees), FEWEST_DEGREES)
