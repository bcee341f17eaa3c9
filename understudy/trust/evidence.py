"""Evidence that runs on a ladder can be believed, each up to the first reading at which it no longer holds."""

from dataclasses import dataclass

import numpy as np

from understudy.digits import digits
from understudy.evaluation import Halves
from understudy.evaluation.intervals import ALLOWANCE, HalvedReadings
from understudy.evaluation.luck_of_one_log import Moments
from understudy.evaluation.trusted import ERROR_RATE, SHARE_GOING, difference_of_means
from understudy.runs import Runs

SHARE_OF_PART = 0.8
"""Where halves of the log have no answer any more, parts of this share of its episodes are compared with the whole."""

OF_WHOLE = 1.0 / (1.0 / SHARE_OF_PART - 1.0)
"""How many times the difference of part and whole the error of the whole is, where errors go as one over the log; and
how many times their squared difference its variance is. For halves both are 1."""

OF_WHOLE_IN_LOG_ORDER = 1.0 / (1.0 - SHARE_OF_PART)
"""How many times the squared difference of parts the variance of the whole is where all runs read the log in its own
order. Then runs on a part read as many episodes as runs on the whole, the first ones, and two parts have the share of a
part of these in common. For halves that is 2, as in `luck_of_one_log`."""

AS_FAR = "which is as far as runs go"

MOST_CUT = 0.1
"""The largest share of episodes that may have been cut, over all runs: the law of episodes is off by no more."""


@dataclass(frozen=True)
class Evidence:
    """One reason to believe runs up to a step, and why not further."""

    name: str
    steps: int  # up to which it speaks for the runs; 0 where it speaks against the first reading
    why: str  # why not further, in words
    limits: bool = True  # False where it is silent about what follows, instead of speaking against it

    def __str__(self) -> str:
        return f"{self.name}: to step {self.steps:,}, {self.why}"


@dataclass(frozen=True, eq=False)
class ReadingsAfter:
    """Readings of a probe on the whole log, on halves of it, and on larger parts, after the exact part of runs."""

    halves: HalvedReadings
    parts: HalvedReadings  # the same of parts of SHARE_OF_PART
    half_width: np.ndarray  # (K,): of the mean's 95% interval, the log's luck included

    @property
    def steps(self) -> np.ndarray:
        return self.halves.steps


def readings_after(found: Halves, parts: np.ndarray, lengths: np.ndarray, probe: str, exact: int) -> ReadingsAfter:
    """Return the readings after the exact part. `parts` are readings on parts of the log, (P, r, K), and the lengths of
    these runs, (P, r)."""
    halves, interval = found.readings(probe, SHARE_GOING), found.interval(probe, share=SHARE_GOING)
    n = len(halves.steps)
    going = (lengths[:, :, None] >= halves.steps).mean(axis=(0, 1))
    of_parts = HalvedReadings(halves.steps, halves.whole, parts[:, :, :n], going, halves.in_log_order)
    half_width = (interval.high - interval.low) / 2
    beyond = halves.steps > interval.reach  # what halves do not show, parts do
    half_width = np.where(beyond, 2.0 * np.sqrt(Moments.of(halves.whole).noise + luck_of_parts(of_parts)), half_width)
    later = (halves.steps > exact) & np.isfinite(halves.whole).any(axis=0)
    return ReadingsAfter(halves.at(later), of_parts.at(later), half_width[later])


def luck_of_parts(parts: HalvedReadings) -> np.ndarray:
    """Return the variance of the whole log's mean that is due to the log, from parts that share most of it."""
    moments = Moments.of(parts.halves)
    known = np.isfinite(moments.mean)
    n_parts = known.sum(axis=0)
    middle = np.where(known, moments.mean, 0.0).sum(axis=0) / np.maximum(n_parts, 1)
    squares = np.where(known, (moments.mean - middle) ** 2, 0.0).sum(axis=0) / np.maximum(n_parts - 1, 1)
    noise = np.where(known, moments.noise, 0.0).sum(axis=0) / np.maximum(n_parts, 1)
    of_whole = OF_WHOLE_IN_LOG_ORDER if parts.in_log_order else OF_WHOLE
    return np.where(n_parts > 2, ALLOWANCE * of_whole * np.maximum(squares - noise, 0.0), np.nan)


def interval_evidence(readings: ReadingsAfter, margin: float) -> Evidence:
    """Return how far the interval of the mean, the log's luck included, is within the margin to each side."""
    wide = ~(readings.half_width <= margin)  # NaN counts as wide
    at = int(wide.argmax()) if wide.any() else len(wide)
    name = "the interval of the mean"
    if at == len(wide):
        return Evidence(name, _last(readings.steps), AS_FAR)
    wide_by = readings.half_width[at]
    why = (
        f"then it is {digits(wide_by)} wide to each side"
        if np.isfinite(wide_by)
        else "then nothing tells how wide it is"
    )
    return Evidence(name, _before(readings.steps, at), why)


def less_log_evidence(readings: ReadingsAfter, margin: float) -> Evidence:
    """Return how far less log gives the same answer: halves of it, and beyond what they reach, larger parts.

    An error that goes as one over the log is as large as the difference of halves and whole, and OF_WHOLE times as
    large as that of parts and whole.
    """
    enough, difference, error = difference_of_means(readings.halves)
    enough_parts, of_parts, error_of_parts = difference_of_means(readings.parts)
    agrees = enough & (np.abs(difference) + error <= margin)
    agrees |= ~enough & enough_parts & (OF_WHOLE * (np.abs(of_parts) + error_of_parts) <= margin)
    at = len(agrees) if agrees.all() else int(np.argmin(agrees))
    name = "less log"
    if at == len(agrees):
        return Evidence(name, _last(readings.steps), AS_FAR)
    if enough[at]:
        why = f"then halves and whole are {digits(difference[at], sign=True)} apart (known to {digits(error[at], 2)})"
    elif enough_parts[at]:
        why = (
            f"then {SHARE_OF_PART:.0%} of the log and the whole are {digits(of_parts[at], sign=True)} apart (known to "
            f"{digits(error_of_parts[at], 2)}), and the error may be {OF_WHOLE:.0f} times as large"
        )
    else:
        why = f"then {SHARE_OF_PART:.0%} of the log have no answer"
    return Evidence(name, _before(readings.steps, at), why)


def cut_evidence(runs: Runs, every: int, exact: int) -> Evidence:
    """Return how far few episodes were cut, over all runs."""
    last = runs.horizon(SHARE_GOING)
    steps = np.arange(every, last + 1, every)
    cut = np.zeros(len(steps))
    ended = np.zeros(len(steps))
    for run in runs:
        cut += 0 if run.cuts is None else np.searchsorted(run.cuts, steps, side="right")
        ended += np.searchsorted(run.ends, steps, side="right")
    recent = np.diff(cut, prepend=0), np.diff(ended, prepend=0)  # in each window alone
    share = np.maximum(cut / (cut + ended + len(runs)), recent[0] / (sum(recent) + len(runs)))  # one is under way
    many = (share > MOST_CUT) & (steps > exact)
    at = int(many.argmax()) if many.any() else len(steps)
    name = "episodes cut"
    if at == len(steps):
        return Evidence(name, int(steps[-1]) if len(steps) else 0, AS_FAR)
    return Evidence(name, _before(steps, at), f"then {share[at]:.1%} of the episodes were cut")


def agreement(name: str, runs: Runs, varied: Runs, probe: str, margin: float, exact: int) -> Evidence:
    """Return how far runs of the same seeds agree within a margin, by a test of equivalence at each reading.

    Runs of seeds that only one of the two has are left out: there may be fewer varied runs, and some may have failed.
    Where the varied runs end earlier, or have no reading, they say nothing about what follows.
    """
    from scipy.stats import t

    last = min(runs.horizon(SHARE_GOING), varied.horizon(SHARE_GOING))
    steps, ours = runs.curve(probe)
    seeds = np.array([run.seed for run in runs]), np.array([run.seed for run in varied])
    _, here, there = np.intersect1d(*seeds, return_indices=True)
    ours, theirs = ours[here], varied.curve(probe)[1][there]
    n = int(min((steps <= last).sum(), theirs.shape[1]))
    steps, difference = steps[:n], theirs[:, :n] - ours[:, :n]
    count = np.isfinite(difference).sum(axis=0)
    middle = np.where(np.isfinite(difference), difference, 0.0).sum(axis=0) / np.maximum(count, 1)
    variance = np.where(np.isfinite(difference), (difference - middle) ** 2, 0.0).sum(axis=0) / np.maximum(count - 1, 1)
    error = t.ppf(1 - ERROR_RATE, np.maximum(count - 1, 1)) * np.sqrt(variance / np.maximum(count, 1))
    known = count > 1
    apart = known & (np.abs(middle) + error > margin) & (steps > exact)
    if apart.any():
        at = int(apart.argmax())
        why = f"then the curves are {digits(middle[at], sign=True)} apart (known to {digits(error[at], 2)})"
        return Evidence(name, _before(steps, at), why)
    compared = int(steps[known][-1]) if known.any() else 0
    if compared == _last(runs.curve(probe)[0][runs.curve(probe)[0] <= runs.horizon(SHARE_GOING)]):
        return Evidence(name, compared, AS_FAR)
    return Evidence(name, compared, "and then there is nothing to compare with", limits=False)


def reading_evidence(readings: np.ndarray, steps: np.ndarray, last: int, exact: int) -> Evidence | None:
    """Return how far a probe has readings, where runs go further than that; None where it has them to the end."""
    known = np.isfinite(readings).any(axis=0) & (steps <= last)
    read = int(steps[known][-1]) if known.any() else 0
    if read == _last(steps[steps <= last]):
        return None
    return Evidence("readings", max(read, min(exact, last)), "then the probe has none")


def _last(steps: np.ndarray) -> int:
    return int(steps[-1]) if len(steps) else 0


def _before(steps: np.ndarray, at: int) -> int:
    return int(steps[at - 1]) if at else 0
