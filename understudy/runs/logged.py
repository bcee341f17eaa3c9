"""What the episodes of a log earned, counted as a simulator counts its own."""

import math

import numpy as np

from understudy.logs import Log

MOST_CENSORED = 0.1
"""The share of episodes whose return may be unknown; with more, those that are known would be a choice among them."""


def logged_return(log: Log, max_episode_steps: int | None) -> float | None:
    """The mean return of the log's episodes under this time limit: what a learner's is to be compared with.

    An episode that goes on beyond the limit counts up to it. One that the log cut off earlier has an unknown return: it
    is left out, and where that happens to more than a tenth of the episodes there is no answer (None).

    >>> log = Log.from_columns(observation=[0] * 4, action=[0] * 4, reward=[1, 2, 4, 8], next_observation=[0] * 4,
    ...     terminated=[False, False, True, True])
    >>> logged_return(log, None), logged_return(log, 2)
    (7.5, 5.5)
    """
    lengths = np.diff(log.starts)
    limit = int(lengths.max()) + 1 if max_episode_steps is None else max_episode_steps
    known = log.terminated[log.starts[1:] - 1] | (lengths >= limit)
    if np.mean(~known) > MOST_CENSORED:
        return None
    place = np.arange(len(log)) - np.repeat(log.starts[:-1], lengths)
    with np.errstate(over="ignore", invalid="ignore"):  # sums of the largest floats
        returns = np.add.reduceat(np.where(place < limit, log.reward, 0.0), log.starts[:-1])
        mean = float(returns[known].mean())
    return mean if math.isfinite(mean) else None
