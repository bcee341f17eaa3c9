"""Whether deploying a learner is better than going on with the logging policy, and from which step on."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from understudy.digits import digits, span_of
from understudy.evaluation import Halves
from understudy.evaluation.intervals import Interval, interval_of
from understudy.runs.nouns import one_of
from understudy.trust.against_log import LEVEL, UNKNOWN, AgainstLog, against_log
from understudy.trust.decisions import first_of_later_half, later_halves
from understudy.trust.logged_earnings import logged_earnings
from understudy.trust.onsets import Onset, onset
from understudy.trust.windows import windows_of_episodes


@dataclass(frozen=True, eq=False, repr=False)
class DeployedLearner:
    """A learner beside the logging policy, decided by one test, as far as the log can be believed.

    The test is about what an episode earns in the later half of the episodes compared: `mean` more than the log's own,
    between `low` and `high` with a probability of 95%, the luck of the log included. Where it has decided, `begins` is
    the window of episodes from which on the verdict holds in every window, and `half_gain` that from which on at least
    half of the gain is there: between two windows with the same probability, and by the mean over runs.
    """

    learner: str
    against: AgainstLog  # window by window
    mean: float
    low: float
    high: float
    first: int  # the first episode of the later half
    begins: Onset | None  # None where neither is better
    half_gain: Onset | None  # None where nothing is gained
    n_runs: int  # on the whole log
    share_of_runs: float  # of the variance of `mean`: what more runs would take away
    n_learners: int = 1  # that are judged together: intervals hold for all of them at once

    @property
    def better(self) -> bool:
        """True if the learner earns more than the logging policy."""
        return bool(self.low > 0)

    @property
    def worse(self) -> bool:
        """True if the learner earns less than the logging policy."""
        return bool(self.high < 0)

    @property
    def is_known(self) -> bool:
        """True if halves of the log show its luck, so that there is an interval."""
        return bool(np.isfinite([self.low, self.high]).all())

    @property
    def verdict(self) -> str:
        """The result of the test: "better", "worse" or "not told"."""
        return "better" if self.better else "worse" if self.worse else "not told"

    @property
    def last(self) -> int:
        """The last episode that was compared."""
        return int(self.against.last[-1])

    @property
    def from_step(self) -> int | None:
        """The step from which on the verdict holds at the latest, 0 for the first episode; None where it is not told.

        It is the step at which the median run began the first of these episodes.
        """
        return None if self.begins is None else self.begun(self.begins.latest)

    @property
    def noun(self) -> str:
        """What an episode is called: "decision", where each is a single one."""
        return self.against.noun

    @property
    def since(self) -> str:
        """From when on the verdict holds, in words, where that is told."""
        if self.from_step and self.begins is not None and self.begins.latest:
            single = f"decision {int(self.against.first[self.begins.latest]):,}"
            return f"from {single if self.noun == 'decision' else f'step {self.from_step:,}'} on at the latest"
        n = int(self.against.last[0])
        return f"from its first {n:,} {self.noun}s on" if n > 1 else f"from its first {self.noun} on"

    def begun(self, place: int | None) -> int | None:
        """Return the step at which the median run began a window of episodes, 0 for the first one."""
        return None if place is None else int(self.against.difference.steps[place - 1]) if place else 0

    def __str__(self) -> str:
        begin = "" if self.from_step is None else f" {self.since}"
        over = span_of(self.noun, self.first, self.last)
        if not self.is_known:
            return f"{self.learner} against the logging policy: not told over {over}, since {UNKNOWN}"
        low, high = (digits(abs(value)) for value in (self.low, self.high))
        much = f"{low} less to {high} more" if self.low < 0 < self.high else f"{low} to {high} more"
        if self.worse:
            much = f"{high} to {low} less"
        return (
            f"{self.learner} against the logging policy: {self.verdict}{begin}; over "
            f"{over} it earns {much} {one_of(self.noun)} than "
            f"the log's {digits(self.against.logged)}{self._cut_off}"
        )

    __repr__ = __str__

    @property
    def _cut_off(self) -> str:
        n = self.against.cut_off
        return f", of whose episodes {n:,} {'was' if n == 1 else 'were'} cut off, and count up to there" if n else ""

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values, None for what is not known."""
        numbers = {name: getattr(self, name) for name in ("mean", "low", "high")}
        return {
            "learner": self.learner, "verdict": self.verdict, "from_step": self.from_step, "level": self.against.level,
            "begins": self._steps(self.begins), "half_gain": self._steps(self.half_gain),
            "episodes": [self.first, self.last], "step": int(self.against.difference.steps[-1]),
            **{name: float(value) if np.isfinite(value) else None for name, value in numbers.items()},
            "against_log": self.against.to_json(),
        }  # fmt: skip

    def _steps(self, found: Onset | None) -> dict[str, int | None] | None:
        return None if found is None else {name: self.begun(place) for name, place in asdict(found).items()}


def deploying(name: str, found: Halves, upto: int | None = None, n_learners: int = 1) -> DeployedLearner:
    """Return a learner beside the logging policy, by the episodes that runs finished by step `upto`, if given.

    Give the step up to which the log can be believed, and how many learners are judged: the one that looks best was
    lucky, too, so the level is corrected for their number. Raise `LogError` where no episode can be compared.
    """
    from scipy.stats import norm

    windows = windows_of_episodes({name: found}, upto)
    logged, readings = logged_earnings(found, windows), windows.readings[name]
    level = 1 - (1 - LEVEL) / n_learners
    against = against_log(name, found, windows, level, logged)
    later, quantile = interval_of(later_halves(readings), level), float(norm.ppf((1 + level) / 2))
    mean, low, high = later.final
    width = float(np.maximum((high - low) / 2, quantile * logged.least_of_later))
    mean -= logged.later
    low, high = map(float, logged.around(mean, width, logged.error_of_later, level))
    variances = np.square([later.from_runs[-1], max(later.from_log[-1], logged.least_of_later), logged.error_of_later])
    difference = against.difference
    begins = onset(difference) if low > 0 else onset(_turned(difference)) if high < 0 else None
    half_gain = onset(_less_half(difference, mean, width)) if low > 0 else None
    first = windows.first(first_of_later_half(windows.n))
    return DeployedLearner(
        name, against, mean, low, high, first, begins, half_gain, len(found.runs),
        float(variances[0] / max(variances.sum(), np.finfo(float).tiny)), n_learners,
    )  # fmt: skip


def _turned(curve: Interval) -> Interval:
    """Return a curve upside down."""
    return replace(curve, mean=-curve.mean, low=-curve.high, high=-curve.low)


def _less_half(difference: Interval, gain: float, width: float) -> Interval:
    """Return what each window earns more than the log, less half of the gain, with its interval.

    `width` is that of what runs earn in the later half. The interval is that of independent parts. The same luck moves
    a window and the gain, so it is wide rather than narrow; but for the log's own mean, of which the gain has half.
    """
    mean = difference.mean - gain / 2
    low, high = difference.mean - difference.low, difference.high - difference.mean
    return replace(difference, mean=mean, low=mean - np.hypot(low, width / 2), high=mean + np.hypot(high, width / 2))
