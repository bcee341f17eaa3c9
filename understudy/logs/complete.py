"""The part of a log before its first unfinished episode.

Where a log was exported while episodes were under way, its last episodes are a selection: those that happened to end
soon are finished, and the long ones are not. So shares of ends, returns and lengths seem to change towards the end of
the log, though nothing did. The episodes before the first unfinished one all had the time that they took.
"""

import numpy as np

from understudy.logs.log import Log

FEWEST = 20
"""Episodes that must be left; and half of all."""


def n_complete(log: Log) -> int:
    """Return how many episodes come before the first unfinished one; all where none is, or where too few are left.

    >>> def log_of(*lasts):
    ...     nothing = [0] * len(lasts)
    ...     columns = {"observation": nothing, "action": nothing, "reward": nothing, "next_observation": nothing}
    ...     return Log.from_columns(**columns, episode=range(len(lasts)), terminated=lasts)
    >>> n_complete(log_of(*[True] * 30, False, True, False)), n_complete(log_of(True, False, True))
    (30, 3)
    """
    if not log.unfinished.any():
        return log.n_episodes
    before = int(np.argmax(log.unfinished))
    return before if before >= max(FEWEST, log.n_episodes / 2) else log.n_episodes


def complete_part(log: Log) -> Log:
    """Return the episodes before the first unfinished one, as `n_complete` counts them."""
    n = n_complete(log)
    return log if n == log.n_episodes else log.select(np.arange(n))
