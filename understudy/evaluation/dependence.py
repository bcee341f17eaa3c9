"""Whether episodes that follow each other in a log are alike, so that halves of it differ less than they should."""

from math import sqrt

import numpy as np

from understudy.logs import Log
from understudy.logs.complete import n_complete

FEWEST = 20
"""Episodes below which likeness of neighbors cannot be told from chance."""

LARGEST_SCORE = 4.0
"""The z-score beyond which neighbors are taken to be alike: by chance one log in 30,000 shows as much."""


def dependence_of_episodes(log: Log) -> str | None:
    """Return a sentence where returns or lengths of neighboring episodes are alike; None where nothing is found.

    Episodes of one user, of one day, or of a logger that learns are: halves are drawn as if episodes were independent,
    and intervals from them are then too narrow. The test is the rank correlation of each episode with the next, up to
    the first that is not finished: after it only those that ended soon are whole.
    """
    n = n_complete(log)
    if n < FEWEST:
        return None
    lengths = np.diff(log.starts[: n + 1])
    returns = np.add.reduceat(log.reward[: log.starts[n]], log.starts[:n])
    scores = {"returns": neighbor_score(returns), "lengths": neighbor_score(lengths)}
    what = max(scores, key=lambda name: scores[name])
    if scores[what] < LARGEST_SCORE:
        return None
    return (
        f"The {what} of episodes that follow each other in the log are alike (z = {scores[what]:.1f}): halves are "
        "drawn as if episodes were independent, so intervals are too narrow; look for drift, or a logger that learns."
    )


def neighbor_score(values: np.ndarray) -> float:
    """Return the correlation of ranks of neighbors as a z-score; 0 where all values are equal.

    >>> bool(neighbor_score(np.arange(100)) > 9), neighbor_score(np.ones(100))
    (True, 0.0)
    """
    _, ranks = np.unique(np.round(values, 9), return_inverse=True)
    ranks = ranks - ranks.mean()
    total = float(ranks @ ranks)
    if total == 0.0:
        return 0.0
    return float(ranks[1:] @ ranks[:-1]) / total * sqrt(len(ranks))
