"""The trusted horizon: up to which step half of the log gives the same answer as the whole."""

from dataclasses import dataclass

import numpy as np

from understudy.digits import digits
from understudy.evaluation.intervals import HalvedReadings
from understudy.evaluation.luck_of_one_log import Moments
from understudy.tables import record_table

SHARE_GOING = 0.9
"""Halves are compared with the whole while at least this share of their runs is going: later ones are of survivors."""

SHARE_OF_WHOLE = 0.99
"""The same for runs on the whole log. With all of them the horizon would be that of the shortest run, and the shorter
the more runs are made; one in a hundred says little of a mean."""

ERROR_RATE = 0.05
"""How often a difference as large as the margin would be taken for a smaller one, at one reading."""

MOST_TIMES = 10
"""How many times as many halves are worth a try: where it takes more, a larger log is the cheaper way."""


@dataclass(frozen=True)
class Trusted:
    """The step up to which an answer can be trusted not to depend on how much was logged, and why not further."""

    steps: int  # 0 where no reading can be trusted
    margin: float
    reason: str  # "difference", "noise", "halves end", "runs end", or "too short" where runs have one reading
    difference: float  # of halves and whole, at the reading after which it is not trusted, or at the last
    error: float  # half the width of that difference's interval

    @property
    def more_halves(self) -> float | None:
        """How many times as many halves and runs would bring the error within the margin; None for too many.

        The error falls with the root of their number. They are at least twice as many: the readings after the next one
        need to be told, too.
        """
        room = self.margin - abs(self.difference)
        times = (self.error / room) ** 2 if room > 0 else float("inf")
        return max(times, 2.0) if times <= MOST_TIMES else None

    @property
    def why(self) -> str:
        """Why it ends there, in words that go on after "trusted to step N"."""
        way = "more halves would tell" if self.more_halves is not None else "a larger log would tell"
        return {
            "difference": f"then halves of the log and the whole differ by {digits(self.difference)}, more than the "
            "margin",
            "noise": f"then the difference of halves and whole is known to {digits(self.error, 2)} only: {way}",
            "too short": "runs are too short to be compared: of one reading there is no range to take a margin from",
            "halves end": "then halves of the log have no answer, so that nothing more can be compared",
            "runs end": "which is as far as the runs go",
        }[self.reason]

    def __str__(self) -> str:
        return f"trusted to step {self.steps:,} at margin {digits(self.margin)}; {self.why}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return record_table("Trusted horizon", vars(self) | {"why": self.why})._repr_html_()


def trusted_horizon(readings: HalvedReadings, margin: float) -> Trusted:
    """Return how far halves and whole agree within a margin, by a test of equivalence at each reading.

    Up to the horizon, and at every reading, a difference as large as the margin is ruled out at a rate of 5%. That
    applies to every simulator, also to those that never run out. It is a heuristic: errors that half a log and a whole
    log share are not seen.
    """
    enough, difference, error = difference_of_means(readings)
    agrees = enough & (np.abs(difference) + error <= margin)
    n_trusted = len(agrees) if agrees.all() else int(np.argmin(agrees))
    if n_trusted == len(agrees):
        reason, at = "runs end", n_trusted - 1
    else:
        at = n_trusted
        beyond = np.abs(difference[at]) - error[at] > margin
        reason = "halves end" if not enough[at] else "difference" if beyond else "noise"
    steps = int(readings.steps[n_trusted - 1]) if n_trusted else 0
    return Trusted(steps, float(margin), reason, float(difference[at]), float(error[at]))


def difference_of_means(readings: HalvedReadings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of each reading whether enough halves have it, their mean less that of the whole, and its error.

    The error is half the width of a two-sided 90% interval, so that tests on both sides err at a rate of 5% each.
    """
    from scipy.stats import t

    whole, halves = Moments.of(readings.whole), Moments.of(readings.halves)
    n_halves = np.isfinite(halves.mean).sum(axis=0)
    enough = (n_halves >= 3) & (readings.going >= SHARE_GOING)
    middle = np.where(np.isfinite(halves.mean), halves.mean, 0.0).sum(axis=0) / np.maximum(n_halves, 1)
    squares = np.where(np.isfinite(halves.mean), (halves.mean - middle) ** 2, 0.0).sum(axis=0)
    variance = squares / np.maximum(n_halves - 1, 1) / np.maximum(n_halves, 1)
    error = t.ppf(1 - ERROR_RATE, np.maximum(n_halves - 1, 1)) * np.sqrt(variance + whole.noise)
    return enough, middle - whole.mean, error
