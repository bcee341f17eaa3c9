"""The mean return of a log, counted in the way in which returns of runs are counted."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from understudy.logs import Log
from understudy.logs.blocks import one_later, slices
from understudy.logs.complete import n_complete
from understudy.logs.once import once_for_each_log

MOST_CUT_OFF = 0.1
"""The largest share of episodes that may have been cut off; with more of them, the mean would say too little."""

PARTS = 64
"""Places in a log up to which it is told what was earned."""

SUMMED = 1 << 22
"""Rows whose rewards are added together; the sums of longer logs are added up."""


class Logged(NamedTuple):
    """The mean return of a log's episodes, and how many of them were cut off before they were over."""

    mean: float | None  # None where too many were cut off, or a float cannot hold it
    n_cut_off: int
    n_episodes: int  # those that the mean is of: all, or those before the first unfinished one


def logged_return(log: Log, max_episode_steps: int | None) -> Logged:
    """Return the mean return of the log's episodes under this time limit, to compare a learner's with.

    An episode that goes on beyond the limit counts up to it. Where an export cut some off, the mean is that of the
    episodes before the first of them, if these are at least half of the log: none of them is partial, as none of a run
    is. Otherwise one that was cut off counts up to there, since leaving it out would leave out a long one; where more
    than a tenth were cut off, there is no mean. The reward of a last row that was dropped, since no next observation
    was logged, counts.

    >>> log = Log.from_columns(observation=[0] * 4, action=[0] * 4, reward=[1, 2, 4, 8], next_observation=[0] * 4,
    ...     terminated=[False, False, True, True])
    >>> logged_return(log, None), logged_return(log, 2).mean
    (Logged(mean=7.5, n_cut_off=0, n_episodes=2), 5.5)
    """
    n, longest = log.n_episodes, _longest(log)
    limit = longest + 1 if max_episode_steps is None else max_episode_steps
    n_cut_off = _sum_cut_off(log, n, limit)
    if n_cut_off and (complete := n_complete(log)) < n:
        n, n_cut_off = complete, _sum_cut_off(log, complete, limit)
    if n_cut_off > MOST_CUT_OFF * n:
        return Logged(None, n_cut_off, n)
    dropped, n_rows = _dropped(log, n, limit), int(log.starts[n])
    if longest <= limit:
        return Logged(_ratio([log.reward[:n_rows], dropped], n), n_cut_off, n)
    parts = (slice(at, min(at + SUMMED, n_rows)) for at in range(0, n_rows, SUMMED))
    earned = (np.where(_steps(log, part) < limit, log.reward[part], 0.0) for part in parts)
    return Logged(_ratio([*earned, dropped], n), n_cut_off, n)


@once_for_each_log
def spread_of_returns(log: Log, max_episode_steps: int | None, logged: Logged) -> dict[str, Any] | None:
    """Return how the returns vary whose mean `logged_return` found.

    None where it found none, of a single episode, and where no float holds a square.

    - `error`: the standard error of their mean.
    - `skew`: the skewness of that mean, of which an interval for it has to be the wider on one side.
    - `single`: the share of the sum of squared deviations that is due to one episode, the largest.
    - `low`, `high`: the least and the most that an episode earned.
    - `rows`, `episodes`, `earned`: what was earned in all up to 64 places in the log, in rows and in episodes.

    >>> log = Log.from_columns(observation=[0] * 4, action=[0] * 4, reward=[1, 2, 4, 8], next_observation=[0] * 4,
    ...     terminated=[False, False, True, True])
    >>> found = spread_of_returns(log, None, logged_return(log, None))
    >>> found["error"], found["low"], found["high"], found["rows"], found["earned"]
    (0.5, 7.0, 8.0, [3, 4], [7.0, 15.0])
    """
    n = logged.n_episodes
    if logged.mean is None or n < 2:
        return None
    limit = _longest(log) + 1 if max_episode_steps is None else max_episode_steps
    places = np.unique(np.linspace(0, n, min(n, PARTS) + 1).astype(np.int64))[1:]
    squares, cubes, largest, low, high = 0.0, 0.0, 0.0, math.inf, -math.inf
    earned = np.zeros(len(places))
    with np.errstate(over="ignore", invalid="ignore"):
        for block in slices(n):
            returns = np.asarray(_returns(log, block, limit))
            apart = returns - logged.mean
            squares, cubes = squares + float(np.square(apart).sum()), cubes + float((apart**3).sum())
            largest = max(largest, float(np.abs(apart).max()))
            low, high = min(low, float(returns.min())), max(high, float(returns.max()))
            part = np.searchsorted(places, np.arange(block.start, block.stop), side="right")
            earned += np.bincount(part, weights=returns, minlength=len(places))
        error = math.sqrt(squares / (n - 1) / n)
        skew = cubes / squares**1.5 if 0 < squares < math.inf else 0.0
        single = largest**2 / squares if 0 < squares < math.inf else 0.0
    if not np.isfinite([error, skew, single, *earned]).all():
        return None
    return {
        "error": error, "skew": skew, "single": single, "low": low, "high": high,
        "rows": log.starts[places].tolist(), "episodes": places.tolist(), "earned": np.cumsum(earned).tolist(),
    }  # fmt: skip


def why_unknown(n_cut_off: int | None, n_episodes: int | None) -> str:
    """Return why there is no mean return of a log with so many episodes, and what to do, as a part of a sentence."""
    if not n_cut_off or n_episodes is None:
        return "what an episode of the log earned is not known"
    return (
        f"what an episode of the log earned is not known, since {n_cut_off:,} of {n_episodes:,} were cut off before "
        "they were over; where a time limit ended them, mark the last row as truncated, and log next_observation, what "
        "was seen after it; where the recording stopped, put episodes in the order in which they began, with order_by="
    )


def logged_reward(log: Log) -> float | None:
    """Return the mean reward of a row of the log; None where a float cannot hold it."""
    return _ratio([log.reward], len(log))


def _returns(log: Log, episodes: slice, limit: int) -> np.ndarray:
    """Return what each of some episodes earned within a time limit, the reward of a dropped last row included."""
    starts = log.starts[episodes.start : episodes.stop + 1]
    rows = slice(int(starts[0]), int(starts[-1]))
    within = log.reward[rows]
    if (n_rows := np.diff(starts)).max() > limit:
        within = np.where(_steps(log, rows) < limit, within, 0.0)
    returns = np.add.reduceat(within, starts[:-1] - rows.start)
    if log.dropped_reward is None:
        return returns
    dropped = log.dropped_reward[episodes]
    return returns + np.where(np.isnan(dropped) | (n_rows >= limit), 0.0, dropped)


def _longest(log: Log) -> int:
    return max(int(_lengths(log, episodes).max()) for episodes in slices(log.n_episodes))


def _lengths(log: Log, episodes: slice) -> np.ndarray:
    """Return how many steps some episodes had; one that was dropped counts."""
    n_rows = log.starts[one_later(episodes)] - log.starts[episodes]
    return n_rows if log.dropped_reward is None else n_rows + ~np.isnan(log.dropped_reward[episodes])


def _dropped(log: Log, n: int, limit: int) -> np.ndarray:
    """Return the rewards of dropped last rows of the first n episodes, where they are within this time limit."""
    if log.dropped_reward is None:
        return np.empty(0)
    dropped = log.dropped_reward[:n]
    return dropped[~np.isnan(dropped) & (np.diff(log.starts[: n + 1]) < limit)]


def _sum_cut_off(log: Log, n: int, limit: int) -> int:
    """Return how many of the first n episodes the recording cut off before this time limit."""
    return sum(_n_cut_off(log, episodes, limit) for episodes in slices(n))


def _n_cut_off(log: Log, episodes: slice, limit: int) -> int:
    """Return how many of some episodes the recording cut off before this time limit."""
    terminated = log.terminated[log.starts[one_later(episodes)] - 1]
    return int((~terminated & (_lengths(log, episodes) < limit)).sum())


def _steps(log: Log, rows: slice) -> np.ndarray:
    """Return the numbers of some rows within their episodes, from 0 up."""
    first, last = np.searchsorted(log.starts, [rows.start, rows.stop - 1], side="right") - 1
    begins = log.starts[first : last + 2]
    return np.arange(rows.start, rows.stop) - np.repeat(begins[:-1], np.diff(np.clip(begins, rows.start, rows.stop)))


def _ratio(rewards: Iterable[np.ndarray], n: int) -> float | None:
    """Return the sum of all rewards divided by n; None where a float cannot hold it."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(sum(part.sum() for part in rewards) / n)
    return mean if math.isfinite(mean) else None
