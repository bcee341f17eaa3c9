"""What the log's own episodes earned beside those of a learner, and how well that is known."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.evaluation import Halves
from understudy.runs import Runs
from understudy.runs.logged import why_unknown
from understudy.trust.decisions import first_of_later_half
from understudy.trust.windows import Windows

AGAIN = "a model serves rows again and again, and a learner that meets their luck again profits from it"


@dataclass(frozen=True, eq=False)
class LoggedEarnings:
    """What an episode of the log earned beside each of K windows of a learner's, with its standard error.

    It is the same for all windows, but where runs met the log in its own order: there it is that of the stretch of the
    log that they met in each window, since a world may change along the log.
    """

    mean: np.ndarray  # (K,)
    error: np.ndarray  # (K,)
    in_all: np.ndarray  # (K,): of all windows so far
    error_in_all: np.ndarray  # (K,)
    later: float  # of the later half of the windows
    error_of_later: float
    least: np.ndarray  # (K,): the least error of what runs earned in each window, however little they differ
    least_in_all: np.ndarray  # (K,)
    least_of_later: float
    skew: float  # of the log's mean
    n: int  # episodes that are known
    single: float  # the share of the spread of the log's returns that is due to one episode, the furthest from the mean
    cut: float  # by how much the mean may be off, since some of its episodes were cut off and count up to there
    bias: float  # by how much what runs earned may be off, since they were accepted by too low a bound

    @property
    def slack(self) -> float:
        """By how much the difference may be off for reasons that no spread shows."""
        return self.cut + self.bias

    def quantiles(self, level: float) -> tuple[float, float]:
        """Return how many errors the truth may lie above the log's mean, and below it.

        Where few episodes earn much, a log that has met few of them looks poor, and its spread looks small, too. The
        interval is wider by the skewness of the mean as that of a number of rare events is: by (z^2 + 1) / 2 of it.
        """
        from scipy.stats import t

        quantile = float(t.ppf((1 + level) / 2, max(1, self.n - 1)))
        more = (quantile**2 + 1) / 2
        return quantile + more * max(0.0, self.skew), quantile + more * max(0.0, -self.skew)

    def around(
        self, mean: np.ndarray | float, width: np.ndarray | float, error: np.ndarray | float, level: float
    ) -> tuple[Any, Any]:
        """Return the interval of a difference from the log's mean, where what runs earned lies within `width`."""
        above, below = self.quantiles(level)
        return mean - np.hypot(width, above * error) - self.slack, mean + np.hypot(width, below * error) + self.slack


def logged_earnings(found: Halves, windows: Windows) -> LoggedEarnings:
    """Return what the log's episodes earned beside these windows. Raise `LogError` where that is not known."""
    about = found.runs.about
    if about.simulator_name == "model":
        raise LogError(f"{AGAIN}; compare it with the log by psrs or qbe", "compare")
    if about.log_return is None:
        raise LogError(why_unknown(about.log_cut_off, about.log_episodes), "compare")
    told = about.log_returns
    if told is None:
        raise LogError(
            "how well it is known what an episode of the log earned is not in these results: they are of one episode, "
            "of numbers that no float can square, or of an earlier version; make the runs again, in another folder",
            "compare",
        )
    n = about.log_return_of or about.log_episodes or 2
    deviation, widest = float(told["error"]) * n**0.5, told["high"] - told["low"]
    biases = [run.stopped.bias or 0.0 for run in found.runs]
    if found.in_log_order:
        earned, episodes = _along(found.runs, windows.ends, told)
    else:
        episodes = np.full(windows.n, float(n))
        earned = about.log_return * episodes
    later = first_of_later_half(windows.n)
    # Out of log order each window has all of the log beside it, in log order the stretch that was met in it.
    starts = np.append(0, episodes[:-1]) if found.in_log_order else np.zeros(windows.n)
    had = np.append(0, earned[:-1]) if found.in_log_order else np.zeros(windows.n)
    least, least_in_all, least_of_later = least_errors(found.runs, windows.ends, deviation, n)
    beside, in_all = episodes - starts, earned / episodes
    n_later = episodes[-1] - starts[later]
    return LoggedEarnings(
        mean=np.divide(earned - had, beside, out=in_all.copy(), where=beside > 0),  # at the log's end none may be left
        error=deviation / np.maximum(beside, 1.0) ** 0.5,
        in_all=in_all,
        error_in_all=deviation / episodes**0.5,
        later=float((earned[-1] - had[later]) / n_later if n_later > 0 else in_all[-1]),
        error_of_later=float(deviation / max(1.0, n_later) ** 0.5),
        least=least,
        least_in_all=least_in_all,
        least_of_later=least_of_later,
        skew=told["skew"],
        single=told["single"],
        n=n,
        cut=(about.log_cut_off or 0) / n * widest,
        bias=float(np.mean(biases)) * widest if biases else 0.0,
    )


def least_errors(runs: Runs, ends: np.ndarray, deviation: float, n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the least standard error of what runs earned in each window, in all so far, and in the later half.

    Runs share the rows of one log. A mean of episodes that ended with so many different rows of it is not known better
    than the mean of as many of the log's own episodes, however little runs differ: where none of them met a rare
    outcome, their spread is zero. Without row numbers, each run may have met other ones, of all `n` that the log has;
    `deviation` is that of what one of them earned.
    """
    later = int(ends[first_of_later_half(len(ends)) - 1]) if len(ends) > 1 else 0
    begins = np.append(0, ends[:-1])
    kept = all(run.has_rows for run in runs)
    last = [run.rows[run.ends[: ends[-1]] - 1] for run in runs] if kept else []

    def error(begin: int, end: int) -> float:
        n_met = min(n, len(runs) * (end - begin))
        if kept:
            n_met = len(np.unique(np.concatenate([rows[begin:end] for rows in last])))
        return deviation / max(1, n_met) ** 0.5

    return (
        np.array([error(begin, end) for begin, end in zip(begins, ends, strict=True)]),
        np.array([error(0, end) for end in ends]),
        error(later, int(ends[-1])),
    )


def _along(runs: Runs, ends: np.ndarray, told: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return what the log's episodes earned up to where runs were at the end of each window, and how many these are."""
    if not all(run.has_rows for run in runs):
        raise LogError(
            "runs met the log in its own order, and which of its rows they met was not kept; make them with their rows",
            "compare",
        )
    furthest = [np.maximum.accumulate(run.rows)[run.ends - 1] for run in runs]  # states wait at places of their own
    reached = np.array([np.median([rows[end - 1] for rows in furthest if len(rows) >= end]) for end in ends])
    # Each window ends at least an episode after the one before, so that it has a stretch of the log beside it.
    least = told["rows"][0] / told["episodes"][0] * np.arange(1, len(ends) + 1)
    rows = least + np.maximum.accumulate(np.maximum(reached + 1.0 - least, 0.0))
    counts = [0.0, *told["rows"]]
    earned, episodes = (np.interp(rows, counts, [0.0, *told[name]]) for name in ("earned", "episodes"))
    return earned, episodes
