"""Whether a claim holds, by the intervals and verdicts of sets, and the words for them."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def error_of(line: Mapping[str, Any], digits: int = 4) -> str:
    """Return the debiased error of a set in words."""
    if line.get("95%") is None:
        return f"{line['set']}: undecided"
    low, high = line["95%"]
    return f"{line['set']} {low:.{digits}f} to {high:.{digits}f}, {line['verdict']}"


def all_equivalent(lines: Iterable[Mapping[str, Any]]) -> bool | None:
    """True if every set is equivalent to real, False if one is different, else None."""
    verdicts = {line.get("verdict") for line in lines}
    return False if "different" in verdicts else True if verdicts == {"equivalent"} else None


def all_longer(intervals: Iterable[tuple[float, float]]) -> bool | None:
    """True if all intervals of ratios are above one, False if one is below, else None."""
    lows, highs = zip(*intervals, strict=True)
    return True if min(lows) > 1 else False if min(highs) < 1 else None


def smaller(mine: tuple[float, float] | None, theirs: tuple[float, float] | None) -> bool | None:
    """True if one interval is below another, False if it is above, None if they meet or one is missing."""
    if mine is None or theirs is None:
        return None
    return True if mine[1] < theirs[0] else False if mine[0] > theirs[1] else None


def mean_with_interval(values: np.ndarray) -> tuple[float, tuple[float, float]]:
    """Return a mean over independent runs, and its 95% interval (Student's); NaN are left out."""
    from scipy import stats

    values = np.asarray(values)[np.isfinite(values)]
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), (float(values.mean() - half), float(values.mean() + half))


def listed(names: Any) -> str:
    """Return names as they stand in a sentence."""
    names = list(names)
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
