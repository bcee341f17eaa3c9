"""Logs read from Parquet and CSV files, and from any table that can be converted to Arrow."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.errors import LogError, SettingError, visible
from understudy.logs.arrays import common_dtype, one_value_per_row
from understudy.logs.arrow_columns import sort_key, to_numpy
from understudy.logs.columns import (
    CLEAN,
    action_codes,
    common_length,
    first_word,
    id_codes,
    integer_ids,
    propensity_array,
)
from understudy.logs.episodes import ranks_by_first_appearance
from understudy.logs.labels import checked_labels, listing
from understudy.logs.loading import checked_path, load_file, load_frame, shown_path
from understudy.logs.log import Log, assemble
from understudy.logs.metadata import from_metadata, refuse_more_than_fit
from understudy.logs.propensities import PropensityOptions, PropensitySource
from understudy.logs.propensity_order import order_propensities
from understudy.logs.selection import Names, Selection, checked_names, names_of_features, select


def read(
    source: Any,
    *,
    observation: Names = None,
    action: Names = None,
    reward: Names = None,
    next_observation: Names = None,
    terminated: Names = None,
    truncated: Names = None,
    episode: Names = None,
    step: Names = None,
    propensity: Names | Mapping[str, str] = None,
    order_by: Names = None,
    actions: Sequence[str] | None = None,
    n_actions: int | None = None,
    ends: str | None = None,
    n_samples: int | None = None,
    renormalize: bool = False,
) -> Log:
    """Return a log from a Parquet or CSV file, or from a pandas, polars or Arrow table.

    Each column is found under its own name, or under the name given here; observations and propensities may be lists
    of names, or spread over `observation_0, observation_1, ...`; propensities also a mapping from each action's label
    to its column. Propensity columns that are named like the actions belong to the actions of their names, whatever
    their order. With `order_by`, rows are sorted by those columns (text that spells numbers as numbers) and the rows of
    an episode brought together. `actions`, `n_actions`, `ends`,
    `n_samples` and `renormalize` are as in `Log.from_columns`.

    In a CSV, actions and episodes with different texts are different: 7 and 007 are two of them. Only an empty cell is
    a missing value there.
    """
    wanted: dict[str, Any] = {
        "observation": observation, "action": action, "reward": reward, "next_observation": next_observation,
        "terminated": terminated, "truncated": truncated, "episode": episode, "step": step, "propensity": propensity,
    }  # fmt: skip
    labels: Sequence[str] | None = None if actions is None else checked_labels(actions)
    if isinstance(propensity, Mapping):
        if labels is not None and labels != tuple(propensity):
            raise SettingError("propensity names the actions already, in another order than actions=; give one of them")
        labels = list(propensity)
    options = PropensityOptions(n_samples, renormalize)
    if not isinstance(source, str | os.PathLike):
        return _log_of(load_frame(source), wanted, order_by, labels, n_actions, ends, options)
    try:
        table = load_file(checked_path(source), as_written=_columns_of_names(wanted))
        return _log_of(table, wanted, order_by, labels, n_actions, ends, options)
    except (LogError, SettingError) as error:
        if visible(shown_path(source)) in str(error):
            raise
        message = f"{shown_path(source)}: {error}"
        raise (LogError(message, error.rule) if isinstance(error, LogError) else SettingError(message)) from None


def _log_of(
    table: Any,
    wanted: dict[str, Names],
    order_by: Names,
    given_labels: Sequence[str] | None,
    n_actions: int | None,
    ends: str | None,
    propensities: PropensityOptions,
) -> Log:
    selections = select(table, wanted)
    common_length({role: table.column(selection.names[0]) for role, selection in selections.items()})
    sort_names = None if order_by is None else checked_names(table, "order_by", order_by)
    order = None if sort_names is None else _sorted_rows(table, sort_names)
    stored = from_metadata(table) if wanted["action"] in (None, "action") else {}
    found_propensities = "propensity" in selections and wanted["propensity"] is None
    labels = _labels_to_read_with(given_labels, stored.get("actions"), found_propensities)
    if isinstance(wanted["propensity"], Sequence) and len(selections["propensity"].names) > 1:
        selections["propensity"], labels = order_propensities(
            table, selections["propensity"], selections["action"], labels, labels_given=given_labels is not None
        )
    columns, found_labels, episodes_are_codes = _clean_columns(table, selections, labels)
    notes: tuple[str, ...] = tuple(stored.get("notes", ()))
    if sort_names is not None and order is not None:
        order, how = _with_episodes_together(order, columns.get("episode"))
        columns = {role: column[order] for role, column in columns.items()}
        if episodes_are_codes:
            columns["episode"] = ranks_by_first_appearance(columns["episode"])
        if np.any(order[1:] < order[:-1]):
            by = ", ".join(sort_names)
            notes += (f"order: rows were sorted by {by}{how}; row numbers here count from 0 in that order",)
    log = assemble(
        columns,
        found_labels,
        labels_given=labels is not None,
        n_actions=stored.get("n_actions") if n_actions is None else n_actions,
        ends=ends,
        propensities=propensities._replace(stored=_stored_source(stored, wanted["propensity"])),
    )
    return _with_stored(log, stored, notes, wanted, selections["observation"])


def _with_stored(
    log: Log, stored: dict[str, Any], notes: tuple[str, ...], wanted: dict[str, Names], observation: Selection
) -> Log:
    """Return the log with what the file's metadata tells about it beyond its columns."""
    n_observations = stored.get("n_observations") if wanted["observation"] is None else None
    refuse_more_than_fit(n_observations, log.observation)
    largest = log.spec.n_observations
    if largest is not None and n_observations is not None:
        largest = max(largest, n_observations)
    derived = [name for name in stored.get("derived") or () if wanted[name] is None and name not in log.derived]
    return replace(
        log,
        notes=notes + log.notes,
        max_episode_steps=stored.get("max_episode_steps", log.max_episode_steps),
        spec=replace(log.spec, n_observations=largest, features=names_of_features(observation, stored.get("features"))),
        derived=(*derived, *log.derived),
    )


def _stored_source(stored: dict[str, Any], wanted: Names) -> PropensitySource | None:
    """Return where a file's metadata says that its propensities came from; None where other columns are wanted."""
    source = stored.get("propensity_source") if wanted in (None, "propensity") else None
    return None if source is None else PropensitySource.from_json(source)


def _columns_of_names(wanted: dict[str, Names]) -> list[str]:
    """Return the columns of actions and episodes, whose values are names even where they look like numbers."""
    given = [role if (names := wanted[role]) is None else names for role in ("action", "episode")]
    return [name for names in given for name in ([names] if isinstance(names, str) else _strings_in(names))]


def _strings_in(names: Any) -> list[str]:
    return [name for name in names if isinstance(name, str)] if isinstance(names, Iterable) else []


def _labels_to_read_with(
    given: Sequence[str] | None, stored: list[str] | None, propensities_in_stored_order: bool
) -> Sequence[str] | None:
    """Return the given labels, or those stored in the file. Raise `SettingError` where their orders contradict."""
    if given is None or stored is None:
        return stored if given is None else given
    if propensities_in_stored_order and list(given) != stored:
        raise SettingError(
            f"the file has its propensities in the order of its actions, {listing(stored)}, and actions= is another; "
            "leave it out, or name the propensity columns"
        )
    return given


def _clean_columns(
    table: Any, selections: Mapping[str, Selection], labels: Sequence[str] | None
) -> tuple[dict[str, np.ndarray], tuple[str, ...] | None, bool]:
    """Return the selected columns in their dtypes, the labels of actions, and whether episode ids became codes.

    This comes before rows are sorted, so that messages name a value by its row in the file.
    """
    columns: dict[str, np.ndarray] = {}
    found_labels, episodes_are_codes = None, False
    for role, selection in selections.items():
        parts = {name: to_numpy(name, table.column(name)) for name in selection.names}
        name = selection.names[0]
        if role == "action":
            columns[role], found_labels = action_codes(parts[name], labels, selection.title(name))
        elif role == "episode":
            values = one_value_per_row(selection.title(name), parts[name])
            ids = integer_ids(selection.title(name), values)
            episodes_are_codes = ids is None
            columns[role] = id_codes(selection.title(name), values) if ids is None else ids
        else:
            columns[role] = _clean_parts(selection, parts)
    return columns, found_labels, episodes_are_codes


def _clean_parts(selection: Selection, parts: dict[str, np.ndarray]) -> np.ndarray:
    """Return the columns of a selection in their dtype, stacked where they are the entries of an array."""
    role = selection.role
    if role in ("observation", "next_observation"):
        _refuse_text(role, parts)
    cleaned = {name: CLEAN[role](selection.title(name), part) for name, part in parts.items()}
    if not selection.stacked:
        return cleaned[selection.names[0]]
    if len({part.shape for part in cleaned.values()}) > 1:
        raise LogError(f"{role} cannot be made of {listing(selection.names)}, which differ in shape")
    in_one_dtype = common_dtype({f"{role} column {name}": part for name, part in cleaned.items()})
    cleaned = dict(zip(cleaned, in_one_dtype, strict=True))
    stacked = selection.stack([cleaned[name] for name in selection.names])  # several actions may share a propensity
    return propensity_array(role, stacked) if role == "propensity" else stacked


def _refuse_text(role: str, parts: dict[str, np.ndarray]) -> None:
    words = {name: word for name, part in parts.items() if (word := first_word(part))}
    if words:
        name, word = next(iter(words.items()))
        several = len(words) > 1
        raise LogError(
            f"{role} column{'s' * several} {', '.join(words)} hold{'s' * (not several)} text ({word}); turn "
            f"{'them' if several else 'it'} into numbers first, for example "
            f"frame[{name!r}].astype('category').cat.codes"
        )


def _sorted_rows(table: Any, names: list[str]) -> np.ndarray:
    """Return the row numbers sorted by these columns; rows that are equal in them keep their order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        keys = {name: sort_key(name, table.column(name)) for name in names}
        return pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys]).to_numpy()
    except (pa.ArrowException, NotImplementedError):
        raise LogError(f"rows cannot be sorted by {', '.join(names)}; give order_by numbers, dates or text") from None


def _with_episodes_together(order: np.ndarray, episode: np.ndarray | None) -> tuple[np.ndarray, str]:
    """Return the order with the rows of each episode together, episodes by first appearance, and words for a note."""
    if episode is None:
        return order, ""
    rank = ranks_by_first_appearance(episode[order])
    if np.all(rank[1:] >= rank[:-1]):
        return order, ""
    return order[np.argsort(rank, kind="stable")], " and, since episodes overlapped, gathered by episode"
