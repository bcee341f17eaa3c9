"""Options that simulators share, checked."""

from collections.abc import Mapping
from typing import Any

from understudy.contracts import Log
from understudy.errors import ContractError, LogError, SettingError
from understudy.logs.propensities.advice import next_moves
from understudy.settings import steps_of

LOG_LIMIT = "log"
"""The value of `max_episode_steps` that means: the length at which all truncated episodes of the log were cut off."""


def option_code(option: str, value: Any, choices: Mapping[Any, int]) -> int:
    """Return the code of a choice, or raise `SettingError` where it is not one of them.

    >>> option_code("order", "episode", {"log": 0, "episodes": 1})
    Traceback (most recent call last):
    understudy.errors.SettingError: order='episode' is not one of 'log', 'episodes'
    """
    if value not in choices:
        raise SettingError(f"{option}={value!r} is not one of {', '.join(map(repr, choices))}")
    return choices[value]


def time_limit(log: Log | None, given: Any) -> int | None:
    """Return a simulator's own time limit for an episode, or None; `LOG_LIMIT` gives the log's."""
    if isinstance(given, str) and given == LOG_LIMIT:
        given = log.max_episode_steps if log is not None else None
    return steps_of("max_episode_steps", given)


def require_log(log: Any) -> None:
    """Raise `ContractError` where something else than a log was given."""
    if not isinstance(log, Log):
        raise ContractError(f"a {type(log).__name__} is not a log; make one with us.read or us.Log.from_columns")


def require_propensities(log: Log, name: str) -> None:
    """Raise `LogError` where a log lacks the propensities that rejection sampling needs."""
    if isinstance(log, Log) and (log.propensity is None or log.propensity.ndim == 1):
        found = "no propensities" if log.propensity is None else "the propensity of the chosen action only"
        raise LogError(
            f"{name} compares the learner's policy with the logged one, action by action, and this log has {found}; "
            f"{next_moves(log)}"
        )
