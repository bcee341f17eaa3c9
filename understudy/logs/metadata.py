"""What a Parquet file keeps about a log in its metadata, beside the columns."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.errors import LogError, SettingError
from understudy.logs.action_features import ActionFeatures, are_action_features
from understudy.logs.coding import Coding
from understudy.logs.labels import checked_labels
from understudy.logs.log import Log
from understudy.logs.propensities import PropensitySource
from understudy.logs.selection import Selection, names_of_features
from understudy.logs.spec import Spec
from understudy.storage import parse_json

KEY = b"understudy"
DERIVABLE = ("terminated", "step", "next_observation")


def to_metadata(log: Log) -> dict[bytes, bytes]:
    """Return the metadata that `write` stores in a Parquet file."""
    return {KEY: json.dumps(known_of(log)).encode()}


def known_of(log: Log) -> dict[str, Any]:
    """Return what is known of a log beside its columns, as JSON holds it."""
    return {
        "actions": log.spec.actions,
        "n_actions": log.spec.n_actions,
        "n_observations": log.spec.n_observations,
        "max_episode_steps": log.max_episode_steps,
        "notes": log.notes,
        "derived": log.derived,
        "features": log.spec.features,
        "action_column": log.spec.action_column,
        "reward_column": log.spec.reward_column,
        "action_features": None if log.spec.action_features is None else log.spec.action_features.to_json(),
        "coding": None if log.spec.coding is None else log.spec.coding.to_json(),
        "propensity_source": None if log.propensity_source is None else log.propensity_source.to_json(),
    }


def from_metadata(table: Any) -> dict[str, Any]:
    """Return what `to_metadata` stored in this table, or {}. Raise `LogError` for what it cannot have stored."""
    text = (table.schema.metadata or {}).get(KEY)
    if text is None:
        return {}
    try:
        return checked(parse_json(text))
    except ValueError:
        raise LogError(_DAMAGED, "file") from None


def checked(known: Any) -> dict[str, Any]:
    """Return what `known_of` returned once. Raise `ValueError` for what it cannot have returned."""
    if not isinstance(known, dict) or not all(test(known.get(name)) for name, test in FIELDS.items()):
        raise ValueError("it is not what is known of a log")
    return {name: known.get(name) for name in FIELDS}


def with_known(columns: dict[str, np.ndarray], known: dict[str, Any]) -> Log:
    """Return the log of these columns and of what `known_of` told. Raise `ValueError` where they do not fit."""
    observation, coding = columns["observation"], None
    if known["coding"] is not None:
        coding = Coding.from_json(known["coding"])
        if not coding.accepts(observation[:1]) or not coding.accepts(columns["next_observation"][:1]):
            raise ValueError("observations are not in their coding")
    n_actions, of_actions, propensity = known["n_actions"], known["action_features"], columns.get("propensity")
    n_features = 0 if of_actions is None else len(next(iter(of_actions.values())))
    if known["n_observations"] is not None and (observation.ndim > 1 or observation.dtype.kind not in "iu"):
        raise ValueError("observations are not codes")
    if (of_actions is not None and n_features != n_actions) or (
        known["actions"] is not None and len(known["actions"]) != n_actions
    ):
        raise ValueError("labels or features are of other actions")
    if propensity is not None and propensity.ndim == 2 and propensity.shape[1] != n_actions:
        raise ValueError("propensities are of other actions")
    spec = Spec(
        n_actions,
        None if known["actions"] is None else tuple(known["actions"]),
        observation.shape[1:],
        observation.dtype,
        known["n_observations"],
        None if known["features"] is None else tuple(known["features"]),
        coding,
        None if of_actions is None else ActionFeatures.from_json(of_actions),
        known["action_column"],
        known["reward_column"],
    )
    given: dict[str, Any] = {"propensity": None, **columns}
    source = known["propensity_source"]
    return Log(
        **given,
        spec=spec,
        max_episode_steps=known["max_episode_steps"],
        notes=tuple(known["notes"]),
        derived=tuple(known["derived"] or ()),
        propensity_source=None if source is None else PropensitySource.from_json(source),
    )


def refuse_more_than_fit(n_observations: int | None, observation: np.ndarray) -> None:
    """Raise `LogError` for a stored number of observations that does not fit into the dtype of the column."""
    if n_observations is not None:
        integers = observation.ndim == 1 and observation.dtype.kind in "iu"
        if not integers or n_observations - 1 > np.iinfo(observation.dtype).max:
            raise LogError(_DAMAGED, "file")


def stored_coding(known: Any, observations: Mapping[str, np.ndarray]) -> Coding:
    """Return a stored coding. Raise `LogError` where observations and next observations cannot be in it."""
    coding = Coding.from_json(known)
    if not all(map(coding.accepts, observations.values())):
        raise LogError(_DAMAGED, "file")
    return coding


def with_stored(
    log: Log,
    stored: dict[str, Any],
    notes: tuple[str, ...],
    wanted: dict[str, Any],
    observation: Selection,
    acted_name: str,
    earned_name: str,
) -> Log:
    """Return the log with what the file's metadata tells about it beyond its columns.

    `acted_name` and `earned_name` are the columns of actions and rewards.
    """
    n_observations = stored.get("n_observations") if wanted["observation"] is None else None
    refuse_more_than_fit(n_observations, log.observation)
    largest = log.spec.n_observations
    if largest is not None and n_observations is not None:
        largest = max(largest, n_observations)
    of_actions = stored.get("action_features")
    if of_actions is not None and log.spec.n_actions != len(next(iter(of_actions.values()))):
        of_actions = None  # other actions were given
    features = names_of_features(observation, stored.get("features"))
    derived = [name for name in stored.get("derived") or () if wanted[name] is None and name not in log.derived]
    return replace(
        log,
        notes=notes + log.notes,
        max_episode_steps=stored.get("max_episode_steps", log.max_episode_steps),
        spec=replace(
            log.spec,
            n_observations=largest,
            features=log.spec.features or features,
            action_features=None if of_actions is None else ActionFeatures.from_json(of_actions),
            action_column=stored.get("action_column") if wanted["action"] in (None, "action") else acted_name,
            reward_column=stored.get("reward_column") if wanted["reward"] in (None, "reward") else earned_name,
        ),
        derived=(*derived, *log.derived),
    )


def stored_source(stored: dict[str, Any], wanted: Any) -> PropensitySource | None:
    """Return where a file's metadata says that its propensities came from; None where other columns are wanted."""
    source = stored.get("propensity_source") if wanted in (None, "propensity") else None
    return None if source is None else PropensitySource.from_json(source)


_DAMAGED = "the metadata stored beside the columns is damaged; write the file again"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 2**64


def _is_limit(value: Any) -> bool:
    return value is None or (_is_count(value) and value < 2**63)


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _are_labels(value: list[str]) -> bool:
    try:
        return bool(checked_labels(value))
    except SettingError:
        return False


def _is_coding(value: Any) -> bool:
    try:
        return value is None or bool(Coding.from_json(value))
    except (SettingError, AttributeError, KeyError, TypeError, ValueError):
        return False


def _can_be_written(text: str) -> bool:
    """True if UTF-8 can hold the text; it cannot hold half of a surrogate pair."""
    return text == text.encode(errors="replace").decode()


def _is_source(value: Any) -> bool:
    try:
        return value is None or PropensitySource.from_json(value) is not None
    except ValueError:
        return False


def _is_name(value: Any) -> bool:
    """True for the name of a column, or None."""
    return value is None or (isinstance(value, str) and _can_be_written(value))


FIELDS: dict[str, Callable[[Any], bool]] = {
    "actions": lambda value: value is None or (_are_strings(value) and _are_labels(value)),
    "n_actions": _is_count,
    "n_observations": lambda value: value is None or _is_count(value),
    "max_episode_steps": _is_limit,
    "notes": _are_strings,
    "features": lambda value: value is None or (_are_strings(value) and all(map(_can_be_written, value))),
    "action_column": _is_name,
    "reward_column": _is_name,
    "action_features": lambda value: value is None or are_action_features(value),
    "coding": _is_coding,
    "derived": lambda value: value is None or (_are_strings(value) and set(value) <= set(DERIVABLE)),
    "propensity_source": _is_source,
}
"""What is stored, and the test of a stored value."""
