"""Ratios of two sets of runs, such as how many times as long one simulator lasts as another, with intervals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import SettingError
from understudy.runs import Runs
from understudy.runs.failures import check_same_failed
from understudy.tables import arrow_table, record_table

if TYPE_CHECKING:
    import pyarrow as pa

RESAMPLES = 2000


@dataclass(frozen=True, repr=False)
class Ratio:
    """A ratio with its 95% interval.

    >>> print(Ratio(1.5, 1.38, 1.6345))
    1.50 (1.38 to 1.63, 95%)
    """

    value: float
    low: float
    high: float

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends of the interval."""
        return self.low, self.high

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f}, 95%)"

    __repr__ = __str__

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table of one line, a column for each field."""
        return arrow_table({name: [value] for name, value in vars(self).items()}, dict.fromkeys(vars(self), "float64"))

    def _repr_html_(self) -> str:
        return record_table(str(self), vars(self))._repr_html_()


def ratio_of_medians(ours: Any, theirs: Any) -> Ratio:
    """Return how many times as large the median of ours is as that of theirs, with a 95% interval.

    Both are sets of runs, of which the lengths are compared, or arrays of numbers. Use it to say how much longer one
    simulator lasts than another. Run i of one set is paired with run i of the other, and the interval is found by
    resampling pairs: with `experiment(factory, ...)` and one seed for both sets, the runs of a pair have the same log,
    whose luck then cancels. Raise `SettingError` where the two are not equally many.

    >>> print(ratio_of_medians(np.array([30, 33, 36]), np.array([10, 11, 12])))
    3.00 (3.00 to 3.00, 95%)
    """
    return _ratio(np.median, ours, theirs)


def ratio_of_spreads(ours: Any, theirs: Any) -> Ratio:
    """Return how many times as large the standard deviation of ours is, otherwise as `ratio_of_medians`."""
    return _ratio(np.std, ours, theirs)


def _ratio(statistic: Callable[..., Any], ours: Any, theirs: Any) -> Ratio:
    """The ratio of a statistic of two equally long sets of values, resampled in pairs."""
    check_same_failed(*(side.failed if isinstance(side, Runs) else () for side in (ours, theirs)))
    ours, theirs = (side.lengths if isinstance(side, Runs) else np.asarray(side) for side in (ours, theirs))
    if ours.ndim != 1 or ours.shape != theirs.shape or not len(ours):
        raise SettingError(
            f"ratios are of pairs, but there are {ours.shape} and {theirs.shape} values; give two sets of equally many "
            "runs, such as runs[:20]"
        )
    pairs = np.stack([ours, theirs])
    drawn = np.random.default_rng(0).integers(len(ours), size=(RESAMPLES, len(ours)))
    low, high = np.quantile(np.divide(*statistic(pairs[:, drawn], axis=2)), [0.025, 0.975])
    return Ratio(float(np.divide(*statistic(pairs, axis=1))), float(low), float(high))
