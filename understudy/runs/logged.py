"""The mean return of a log, counted in the way in which returns of runs are counted."""

import math
from typing import NamedTuple

import numpy as np

from understudy.logs import Log

MOST_CUT_OFF = 0.1
"""The largest share of episodes that may have been cut off; with more of them, the mean would say too little."""


class Logged(NamedTuple):
    """The mean return of a log's episodes, and how many of them were cut off before they were over."""

    mean: float | None  # None where too many were cut off, or a float cannot hold it
    n_cut_off: int


def logged_return(log: Log, max_episode_steps: int | None) -> Logged:
    """Return the mean return of the log's episodes under this time limit, to compare a learner's with.

    An episode that goes on beyond the limit counts up to it. One that the recording cut off earlier counts up to there:
    leaving such episodes out would leave out the long ones. Where more than a tenth were cut off there is no mean.

    >>> log = Log.from_columns(observation=[0] * 4, action=[0] * 4, reward=[1, 2, 4, 8], next_observation=[0] * 4,
    ...     terminated=[False, False, True, True])
    >>> logged_return(log, None), logged_return(log, 2).mean
    (Logged(mean=7.5, n_cut_off=0), 5.5)
    """
    lengths = np.diff(log.starts)
    limit = int(lengths.max()) + 1 if max_episode_steps is None else max_episode_steps
    n_cut_off = int((~log.terminated[log.starts[1:] - 1] & (lengths < limit)).sum())
    if n_cut_off > MOST_CUT_OFF * len(lengths):
        return Logged(None, n_cut_off)
    step = np.arange(len(log)) - np.repeat(log.starts[:-1], lengths)
    return Logged(_ratio(np.where(step < limit, log.reward, 0.0), len(lengths)), n_cut_off)


def logged_reward(log: Log) -> float | None:
    """Return the mean reward of a row of the log; None where a float cannot hold it."""
    return _ratio(log.reward, len(log))


def _ratio(rewards: np.ndarray, n: int) -> float | None:
    """Return the sum of the rewards divided by n; None where a float cannot hold it."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(rewards.sum() / n)
    return mean if math.isfinite(mean) else None
