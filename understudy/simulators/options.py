"""What users may ask of simulators, and what they are told when it cannot be."""

from collections.abc import Mapping
from typing import Any

from understudy.contracts import Log
from understudy.errors import LogError, SettingError
from understudy.settings import steps_of

LOGS_OWN = "log"
"""As `max_episode_steps`: the limit on which all truncated episodes of the log agree, where they do."""


def chosen(option: str, value: str, choices: Mapping[str, int]) -> int:
    """The code of a choice.

    >>> chosen("order", "episode", {"log": 0, "episodes": 1})
    Traceback (most recent call last):
    understudy.errors.SettingError: order='episode' is not one of 'log', 'episodes'
    """
    if value not in choices:
        raise SettingError(f"{option}={value!r} is not one of {', '.join(map(repr, choices))}")
    return choices[value]


def time_limit(log: Log | None, asked: Any) -> int | None:
    """The simulator's own time limit for an episode."""
    if isinstance(asked, str) and asked == LOGS_OWN:
        asked = log.max_episode_steps if log is not None else None
    return steps_of("max_episode_steps", asked)


def need_propensities(log: Log, name: str) -> None:
    """Raise `LogError` where a log lacks what rejection sampling needs."""
    if isinstance(log, Log) and (log.propensity is None or log.propensity.ndim == 1):
        found = "no propensities" if log.propensity is None else "the propensity of the chosen action only"
        raise LogError(
            f"{name} compares the learner's policy with the logged one, action by action, and this log has {found}; "
            "give the probabilities of all actions, or use qbe, which needs none"
        )
