"""The luck of one log in the difference of two mean curves, of which one or both come from that log."""

import numpy as np

from understudy.evaluation.halves import Halves
from understudy.evaluation.intervals import ALLOWANCE
from understudy.evaluation.luck_of_one_log import FEWEST_DEGREES, Luck, Moments, luck_of_one_log
from understudy.runs import Runs


def luck_of_difference(runs: Runs, reference: Runs, probe: str, points: np.ndarray) -> Luck | None:
    """Return the variance of the difference of two mean curves that is due to logs, at these steps.

    It is 0 where runs are independent, real or each with a log of its own. None where a set of runs shares a log and
    has no halves, by which the log's luck could be told. Two simulators on the same halves of one log share its luck:
    what counts is how much their difference varies among halves.
    """
    sharing = [side for side in (runs, reference) if not side.about.independent]
    if not sharing:
        return Luck(np.zeros(len(points)), np.zeros(len(points)), len(points))
    if not all(side.halves for side in sharing):
        return None
    found = [_moments(side, probe, points) for side in sharing]
    if len(found) == 2 and on_same_halves(runs, reference):
        (spread, means, going), (other_spread, other_means, other_going) = found
        difference = Moments(means.mean - other_means.mean, means.noise + other_means.noise)
        lucks = [luck_of_one_log(spread + other_spread, difference, np.minimum(going, other_going))]
    else:
        lucks = [luck_of_one_log(spread, means, going) for spread, means, going in found]
    variance = np.sum([luck.variance for luck in lucks], axis=0)
    error = np.sum([luck.error for luck in lucks], axis=0)
    seen = min(luck.n_seen for luck in lucks)
    return Luck(ALLOWANCE * variance, ALLOWANCE**2 * error, seen) if seen else None


def on_same_halves(one: Runs, other: Runs) -> bool:
    """True if two sets of runs are on the same halves of one log."""
    return [half.about.log for half in one.halves] == [half.about.log for half in other.halves]


def _moments(runs: Runs, probe: str, points: np.ndarray) -> tuple[np.ndarray, Moments, np.ndarray]:
    """Return the variance of runs at some steps, the moments of halves there, and the share of their runs going."""
    readings = Halves(runs).readings(probe)
    at = np.isin(readings.steps, points)
    n_runs = np.isfinite(readings.whole[:, at]).sum(axis=0)
    return Moments.of(readings.whole[:, at]).noise * n_runs, Moments.of(readings.halves[:, :, at]), readings.going[at]


def with_luck(ours: np.ndarray, theirs: np.ndarray, luck: Luck) -> tuple[np.ndarray, np.ndarray, float | None]:
    """Return two samples of curves whose spread includes the luck, and the degrees of freedom of the whole noise.

    Without luck they are as given, and the degrees of freedom those of the samples: None.

    The luck shifts a whole curve, much as the spread of a run does: so the deviations of runs from their mean are
    stretched, at each point, until the noise of the difference of means has the variance of both.
    """
    if not luck.variance.any():
        return ours, theirs, None
    noises = [np.var(side, axis=0, ddof=1) / len(side) for side in (ours, theirs)]
    noise = sum(noises)
    stretch = np.sqrt(1 + np.divide(luck.variance, noise, out=np.zeros(len(noise)), where=noise > 0))
    total = float(np.sum(noise + luck.variance))
    known = sum(
        2 * float(np.sum(part)) ** 2 / (len(side) - 1) for part, side in zip(noises, (ours, theirs), strict=True)
    )
    degrees = 2 * total**2 / (float(np.sum(np.sqrt(luck.error))) ** 2 + known)
    ours, theirs = (side.mean(axis=0) + stretch * (side - side.mean(axis=0)) for side in (ours, theirs))
    return ours, theirs, max(degrees, FEWEST_DEGREES)
