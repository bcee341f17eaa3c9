"""What is found out about a log once, however many runs ask for it."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

if TYPE_CHECKING:
    from understudy.logs.log import Log

Found = TypeVar("Found")
Asked = ParamSpec("Asked")


def once_for_each_log(
    function: Callable[Concatenate["Log", Asked], Found],
) -> Callable[Concatenate["Log", Asked], Found]:
    """Return a function of a log that passes through the log at the first call, and not again: a log never changes.

    What was found is kept for as long as the log is, in this process, for each of what else was asked.
    """
    known: WeakKeyDictionary[Log, dict[Any, Found]] = WeakKeyDictionary()

    @wraps(function)
    def ask(log: "Log", *asked: Asked.args, **named: Asked.kwargs) -> Found:
        found, key = known.setdefault(log, {}), (asked, tuple(named.items()))
        if key not in found:
            found[key] = function(log, *asked, **named)
        return found[key]

    return ask


@once_for_each_log
def reward_range(log: "Log") -> tuple[float, float]:
    """Return the smallest and the largest reward of a log."""
    return float(log.reward.min()), float(log.reward.max())


@once_for_each_log
def observation_range(log: "Log") -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest value of each entry of a log's observations and next observations."""
    return range_of(log.observation, log.next_observation)


def range_of(*columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest value of each entry of a row, over some columns.

    >>> range_of(np.array([[0, 5], [1, 7]]), np.array([[3, 6]]))
    (array([0, 5]), array([3, 7]))
    """
    return (
        np.min([column.min(axis=0) for column in columns], axis=0),
        np.max([column.max(axis=0) for column in columns], axis=0),
    )
