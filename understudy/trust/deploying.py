"""Whether deploying a learner is better than going on with the policy that logged, and from which step on."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.evaluation import Halves
from understudy.evaluation.intervals import interval_of
from understudy.trust.against_log import AgainstLog, against_log, earned_by_log
from understudy.trust.decisions import first_of_later_half, later_halves
from understudy.trust.windows import windows_of_episodes

LEVEL = 0.95
"""The level of the test."""


@dataclass(frozen=True, eq=False, repr=False)
class DeployedLearner:
    """A learner beside the policy that logged, decided by one test, as far as the log can be believed.

    The test is about what an episode earns in the later half of the episodes compared: `mean` more than the log's own,
    between `low` and `high` with a probability of 95 %, the luck of the log included. Where it has decided, windows of
    episodes are tested from the last to the first until one is not decided in the same way: each is tested only if all
    after it were, so the chance that any of these claims is wrong stays that of one test.
    """

    learner: str
    against: AgainstLog  # window by window
    mean: float
    low: float
    high: float
    first: int  # the first episode of the later half
    begins: int | None  # place of the window from which on every window is decided; None where not even the last is

    @property
    def better(self) -> bool:
        """True if the learner earns more than the policy that logged."""
        return bool(self.low > 0)

    @property
    def worse(self) -> bool:
        """True if the learner earns less than the policy that logged."""
        return bool(self.high < 0)

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
        """The step from which on the verdict holds, 0 from the first episode on; None where that cannot be told.

        It is the step at which the median run began the first of these episodes.
        """
        if self.begins is None or self.verdict == "not told":
            return None
        return int(self.against.difference.steps[self.begins - 1]) if self.begins else 0

    def __str__(self) -> str:
        between = f"{self.low:.3g} to {self.high:.3g}"
        begin = "" if self.from_step is None else f" from step {self.from_step:,} on"
        return (
            f"{self.learner} against the policy that logged: {self.verdict}{begin}; over episodes {self.first:,} to "
            f"{self.last:,} it earns {between} more an episode than the log's {self.against.logged:.3g}"
        )

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values, None for what is not known."""
        numbers = {name: getattr(self, name) for name in ("mean", "low", "high")}
        return {
            "learner": self.learner, "verdict": self.verdict, "from_step": self.from_step, "level": LEVEL,
            "episodes": [self.first, self.last], "step": int(self.against.difference.steps[-1]),
            **{name: float(value) if np.isfinite(value) else None for name, value in numbers.items()},
            "against_log": self.against.to_json(),
        }  # fmt: skip


def deploying(name: str, found: Halves, upto: int | None = None) -> DeployedLearner:
    """Return a learner beside the policy that logged, by the episodes that runs finished by step `upto`, if given.

    Give the step up to which the log can be believed. Raise `LogError` where no episode can be compared.
    """
    from scipy.stats import norm

    logged, error = earned_by_log(found)
    windows = windows_of_episodes({name: found}, upto)
    against = against_log(name, found, windows)
    mean, low, high = interval_of(later_halves(windows.readings[name]), LEVEL).final
    width = float(np.hypot((high - low) / 2, norm.ppf((1 + LEVEL) / 2) * error))
    mean -= logged
    low, high = mean - width, mean + width
    difference, n = against.difference, windows.n
    told = difference.low > 0 if low > 0 else difference.high < 0 if high < 0 else np.zeros(n, bool)
    begins = 0 if told.all() else n - int(np.argmin(told[::-1]))
    first = windows.first(first_of_later_half(n))
    return DeployedLearner(name, against, mean, low, high, first, begins if begins < n else None)
