"""Several logs joined into one."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from understudy.errors import LogError, SettingError
from understudy.logs.arrays import short_repr
from understudy.logs.columns import common_length
from understudy.logs.log import Log
from understudy.logs.propensities.source import joined_source
from understudy.logs.spec import Spec
from understudy.logs.times import TIMES


def concatenate(logs: Sequence[Log]) -> Log:
    """Return one log with the rows of all, in this order. Episodes are renumbered, so that no two logs share an id.

    >>> log = Log.from_columns(observation=[0, 1], action=[0, 1], reward=[0, 1], terminated=[False, True])
    >>> concatenate([log, log]).episode
    array([0, 0, 1, 1])
    """
    logs = list(logs)
    if not logs:
        raise SettingError("there is no log to concatenate; give at least one")
    for position, log in enumerate(logs):
        _refuse_unlike(logs[0], log, position)
    joined = {name: np.concatenate([log.columns[name] for log in logs]) for name in logs[0].columns}
    joined["episode"] = _renumbered([log.episode for log in logs])
    common_length(joined)
    notes = tuple(dict.fromkeys(note for log in logs for note in log.notes))
    return replace(
        logs[0],
        **joined,
        spec=_joined_spec(logs),
        max_episode_steps=_common_limit(logs),
        notes=notes,
        derived=_derived(logs),
        propensity_source=joined_source([log.propensity_source for log in logs]),
        dropped_reward=_dropped_reward(logs),
        source_row=None,
    )


def _refuse_unlike(one: Log, other: Log, position: int) -> None:
    """Raise `LogError` if the logs differ in their actions, or in what an observation or a propensity is."""
    for name in ("n_actions", "actions", "observation_shape", "observation_dtype"):
        mine, theirs = getattr(one.spec, name), getattr(other.spec, name)
        if mine != theirs:
            raise LogError(f"{name} is {mine} in log 0 and {theirs} in log {position}; make them alike first")
    if one.spec.coding != other.spec.coding:
        raise LogError(
            f"observations are coded in one way in log 0 ({_shown(one)}) and in another in log {position} "
            f"({_shown(other)}); read that one with like=, log 0"
        )
    mine, theirs = (None if log.propensity is None else log.propensity.ndim for log in (one, other))
    if mine != theirs:
        kinds = {None: "no", 1: "chosen-action", 2: "full"}
        raise LogError(
            f"log 0 has {kinds[mine]} propensities and log {position} {kinds[theirs]} ones; make them alike first"
        )
    for name in TIMES:
        if (name in one.columns) != (name in other.columns):
            has, lacks = (0, position) if name in one.columns else (position, 0)
            raise LogError(
                f"log {has} has {name}, and log {lacks} has none; read both with {name}=, or both without it"
            )


def _shown(log: Log) -> str:
    return short_repr(str(log.spec.coding or "as numbers"))


def _renumbered(ids: list[np.ndarray]) -> np.ndarray:
    offset, renumbered = 0, []
    for episode in ids:
        distinct, codes = np.unique(episode, return_inverse=True)
        renumbered.append(codes.astype(np.int64) + offset)
        offset += len(distinct)
    return np.concatenate(renumbered)


def _joined_spec(logs: list[Log]) -> Spec:
    sizes = [log.spec.n_observations for log in logs]
    features = {log.spec.features for log in logs}
    of_actions = {log.spec.action_features for log in logs}
    acted, earned = ({getattr(log.spec, name) for log in logs} for name in ("action_column", "reward_column"))
    return replace(
        logs[0].spec,
        n_observations=None if None in sizes else max(size for size in sizes if size),
        features=features.pop() if len(features) == 1 else None,
        action_features=of_actions.pop() if len(of_actions) == 1 else None,
        action_column=acted.pop() if len(acted) == 1 else None,
        reward_column=earned.pop() if len(earned) == 1 else None,
    )


def _common_limit(logs: list[Log]) -> int | None:
    """Return the time limit of all logs with truncated episodes; None if they differ or an episode is longer."""
    limits = {log.max_episode_steps for log in logs if log.truncated.any()}
    limit = limits.pop() if len(limits) == 1 else None
    longest = max(np.diff(log.starts).max() for log in logs)
    return None if limit is not None and longest > limit else limit


def _dropped_reward(logs: list[Log]) -> np.ndarray | None:
    """Return the rewards of dropped last rows of all episodes; None where no log has any."""
    if all(log.dropped_reward is None for log in logs):
        return None
    every = (np.full(log.n_episodes, np.nan) if log.dropped_reward is None else log.dropped_reward for log in logs)
    return np.concatenate(list(every))


def _derived(logs: list[Log]) -> tuple[str, ...]:
    """Return what was derived in any of the logs, except `step`: one log that has it is enough for it to be checked."""
    derived = dict.fromkeys(name for log in logs for name in log.derived)
    if not all("step" in log.derived for log in logs):
        derived.pop("step", None)
    return tuple(derived)
