"""Which likeness suits a log."""

from understudy.contracts import Likeness, Log
from understudy.likeness.bisimulation import transitions
from understudy.likeness.metric import has_labels, observations


def suited(log: Log) -> Likeness:
    """Return the likeness that suits a log: of observations where they have numbers, else of what follows.

    >>> codes = Log.from_columns(observation=[0, 1], action=[0, 0], reward=[0, 1], ends="every-row")
    >>> suited(codes)
    transitions()
    """
    n_columns = log.observation.reshape(len(log), -1).shape[1]
    return transitions() if all(has_labels(log, n_columns, as_codes=True)) else observations()
