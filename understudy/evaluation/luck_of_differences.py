"""The luck of one log in the difference of two mean curves, of which one or both come from that log."""

import numpy as np

from understudy.evaluation.halves import Halves
from understudy.evaluation.intervals import allowed_for
from understudy.evaluation.luck_of_one_log import Luck, Moments, luck_of_one_log
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
        ordered = any(Halves(side).in_log_order for side in sharing)
        lucks = [
            luck_of_one_log(spread + other_spread, difference, np.minimum(going, other_going), in_log_order=ordered)
        ]
    else:
        ordered_sides = [Halves(side).in_log_order for side in sharing]
        lucks = [luck_of_one_log(*one, in_log_order=ordered) for one, ordered in zip(found, ordered_sides, strict=True)]
    variance, error = (
        np.sum(parts, axis=0) for parts in ([one.variance for one in lucks], [one.error for one in lucks])
    )
    seen, fewest = min(luck.n_seen for luck in lucks), min(luck.fewest_degrees for luck in lucks)
    return allowed_for(Luck(variance, error, seen, fewest)) if seen else None


def on_same_halves(one: Runs, other: Runs) -> bool:
    """True if two sets of runs are on the same halves of one log."""
    return [half.about.rows_of_log for half in one.halves] == [half.about.rows_of_log for half in other.halves]


def _moments(runs: Runs, probe: str, points: np.ndarray) -> tuple[np.ndarray, Moments, np.ndarray]:
    """Return the variance of runs at some steps, the moments of halves there, and the share of their runs going."""
    readings = Halves(runs).readings(probe)
    at = np.isin(readings.steps, points)
    n_runs = np.isfinite(readings.whole[:, at]).sum(axis=0)
    return Moments.of(readings.whole[:, at]).noise * n_runs, Moments.of(readings.halves[:, :, at]), readings.going[at]
