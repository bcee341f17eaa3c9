"""Logs from and to Parquet and CSV files, and from any table that speaks Arrow."""

import csv
import gzip
import io
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from understudy.logs import columns, tables
from understudy.logs.columns import COLUMNS, REQUIRED, LogError
from understudy.logs.log import Log
from understudy.logs.tables import CSV, PARQUET
from understudy.storage import parse_json, write_whole

Names = str | Sequence[str] | None

WIDE = ("observation", "next_observation", "propensity")  # may be spread over columns
METADATA = b"understudy"
KEPT = {
    "actions": list | None,
    "n_actions": int,
    "n_observations": int | None,
    "max_episode_steps": int | None,
    "notes": list,
    "features": list | None,
}
CHUNK = 10_000  # rows of CSV written together


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
) -> Log:
    """A log from a Parquet or CSV file, or from a pandas, polars or Arrow table.

    Each column is named, or found under its own name; observations and propensities may be lists of names, or
    spread over `observation_0, observation_1, ...`; propensities also a mapping from each action's label to its
    column. With `order_by`, rows are sorted by those columns and the rows of an episode brought together.
    """
    asked: dict[str, Any] = {
        "observation": observation, "action": action, "reward": reward, "next_observation": next_observation,
        "terminated": terminated, "truncated": truncated, "episode": episode, "step": step, "propensity": propensity,
    }  # fmt: skip
    if isinstance(propensity, Mapping):
        if actions is not None and list(actions) != list(propensity):
            raise LogError("propensity names the actions already, in another order than actions=; give one of them")
        asked["propensity"], actions = list(propensity.values()), list(propensity)
    is_path = isinstance(source, str | os.PathLike)
    try:
        table = tables.load_file(Path(source)) if is_path else tables.load_frame(source)
        return _log(table, asked, order_by, actions, n_actions)
    except LogError as error:
        if is_path and str(source) not in str(error):
            raise LogError(f"{source}: {error}", error.rule) from None
        raise


def write(log: Log, path: str | os.PathLike) -> None:
    """Write a log to a Parquet or CSV file, all of it or nothing.

    Parquet keeps everything. CSV keeps the values: labels that no row took, and small dtypes, are not in it.
    """
    target = Path(path)
    name = target.name.lower()
    if not name.endswith(PARQUET + CSV):
        raise LogError(f"{target}: a log is written as {', '.join(PARQUET + CSV)}; give the file one of these endings")

    def write_content(beside: Path) -> None:
        with open(beside, "xb") as file:
            if name.endswith(PARQUET):
                _write_parquet(log, file)
            elif name.endswith(".gz"):
                with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as packed:
                    _write_csv(log, packed)
            else:
                _write_csv(log, file)

    import pyarrow as pa

    try:
        write_whole(target, write_content)
    except (OSError, pa.ArrowException) as error:
        reason = (isinstance(error, OSError) and error.strerror) or tables.reason(error)
        raise LogError(f"{target} cannot be written ({reason}); check the folder, its rights and its space") from None


def _log(
    table: Any,
    asked: dict[str, Names],
    order_by: Names,
    actions: Sequence[str] | None,
    n_actions: int | None,
) -> Log:
    resolved = {role: _resolve(table, role, wanted) for role, wanted in asked.items()}
    names = {role: found for role, found in resolved.items() if found}
    columns.common_length({role: table.column(found[0]) for role, found in names.items()})
    by = None if order_by is None else _named(table, "order_by", order_by)
    order = None if by is None else _order(table, by)
    known = _metadata(table) if not asked["action"] else {}
    notes: tuple[str, ...] = tuple(known.get("notes", ()))
    if actions is None and n_actions is None:
        actions, n_actions = known.get("actions"), known.get("n_actions")
    given: dict[str, Any] = {role: _column(table, role, found, actions) for role, found in names.items()}
    if by is not None and order is not None:
        order, how = _gathered(order, given.get("episode"))
        given = {role: values[order] for role, values in given.items()}
        if np.any(order[1:] < order[:-1]):
            notes += (f"order: rows were sorted by {', '.join(by)}{how}; row numbers here count from 0 in that order",)
    log = Log.from_columns(**given, actions=actions, n_actions=n_actions)
    return replace(
        log,
        notes=notes + log.notes,
        max_episode_steps=known.get("max_episode_steps", log.max_episode_steps),
        spec=replace(
            log.spec,
            n_observations=_larger(log.spec.n_observations, known.get("n_observations")),
            features=_features(names["observation"], known.get("features")),
        ),
    )


def _features(names: Sequence[str], known: list[Any] | None) -> tuple[str, ...] | None:
    """The columns that observations come from, where they are not named `observation` or `observation_0, ...`."""
    if known is not None and list(names) == ["observation"]:
        if not all(isinstance(name, str) and name == name.encode(errors="replace").decode() for name in known):
            raise LogError("the metadata stored beside the columns is damaged; write the file again", "file")
        return tuple(known)
    return None if all(re.fullmatch(r"observation(_\d+)*", name) for name in names) else tuple(names)


def _larger(one: int | None, other: int | None) -> int | None:
    return one if one is None or other is None else max(one, other)


def _metadata(table: Any) -> dict[str, Any]:
    """What `write` stored beside the columns."""
    text = (table.schema.metadata or {}).get(METADATA)
    if text is None:
        return {}
    try:
        known = parse_json(text)
        whole = all(isinstance(known.get(name), kinds) for name, kinds in KEPT.items())
    except (AttributeError, ValueError):
        whole = False
    if not whole:
        raise LogError("the metadata stored beside the columns is damaged; write the file again", "file")
    return known


def _resolve(table: Any, role: str, wanted: Names) -> list[str] | tuple[str, ...] | None:
    """The names of the columns that hold this one; None where it may be, and is, missing."""
    if wanted is not None:
        found = _named(table, role, wanted)
        if len(found) > 1 and role not in WIDE:
            raise LogError(f"{role} is one column, not {len(found)}; name one")
        return found[0:1] if isinstance(wanted, str) else tuple(found)
    if role in table.column_names:
        return _named(table, role, role)
    spread = [name for name in table.column_names if re.fullmatch(rf"{role}(_\d+)+", name)]
    if spread and role in WIDE:
        return tuple(sorted(spread, key=lambda name: _indices(role, name)))
    if role in REQUIRED:
        raise _absent(table, role, role)
    return None


def _named(table: Any, role: str, wanted: str | Sequence[str]) -> list[str]:
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    if not wanted:
        raise LogError(f"{role}=[] names no column; leave it out, or name one")
    for name in wanted:
        if table.column_names.count(name) != 1:
            raise _absent(table, role, name)
    return wanted


def _absent(table: Any, role: str, name: str) -> LogError:
    there = table.column_names
    if name in there:
        return LogError(f"there are {there.count(name)} columns named {name}; rename all but one")
    close = get_close_matches(name, there, n=1)
    hint = f"did you mean {close[0]}?" if close else f"say {role}= which it is"
    return LogError(f"there is no column {name}: the columns are {', '.join(there)}; {hint}")


def _indices(role: str, name: str) -> tuple[int, ...]:
    return tuple(int(index) for index in name.removeprefix(role).split("_")[1:])


def _column(
    table: Any, role: str, names: list[str] | tuple[str, ...], actions: Sequence[str] | None = None
) -> np.ndarray:
    """A list of one name is that column; a tuple of names is a column for each entry.

    They are brought to their dtypes before rows are sorted, so that what is refused is named by its place in the file.
    """
    parts = [tables.values(name, table.column(name)) for name in names]
    if role in ("observation", "next_observation"):
        _refuse_text(role, dict(zip(names, parts, strict=True)))
    parts = [_cleaned(role, name, part, actions) for name, part in zip(names, parts, strict=True)]
    if isinstance(names, list):
        return parts[0]
    try:
        stacked = np.stack(parts, axis=1)
    except ValueError:
        raise LogError(f"{role} cannot be made of {', '.join(names)}, which differ in shape") from None
    if all(re.fullmatch(rf"{role}(_\d+)+", name) for name in names):
        return _shaped(role, names, stacked)
    return stacked


def _cleaned(role: str, name: str, values: np.ndarray, actions: Sequence[str] | None) -> np.ndarray:
    """A column of the file in its dtype. Labels and ids stay as they are: their codes depend on the order of rows."""
    title = role if name == role else f"{role} column {name}"
    if role == "action":
        columns.action_codes(values, actions, title)
        return values
    cleaned = columns.CLEAN[role](title, values)
    return values if role == "episode" else cleaned


def _refuse_text(role: str, parts: dict[str, np.ndarray]) -> None:
    words = {name: word for name, part in parts.items() if (word := columns.text_in(part))}
    if words:
        name, word = next(iter(words.items()))
        several = len(words) > 1
        raise LogError(
            f"{role} column{'s' * several} {', '.join(words)} hold{'s' * (not several)} text ({word}); turn "
            f"{'them' if several else 'it'} into numbers first, for example "
            f"frame[{name!r}].astype('category').cat.codes"
        )


def _shaped(role: str, names: tuple[str, ...], stacked: np.ndarray) -> np.ndarray:
    """Entries named `observation_0_3` laid out as an array."""
    indices = [_indices(role, name) for name in names]
    shape = tuple(max(index) + 1 for index in zip(*indices, strict=False))
    if sorted(indices) != list(np.ndindex(shape)):
        raise LogError(f"{', '.join(names)} do not fill an array of shape {shape}; name the columns with {role}=")
    order = [indices.index(index) for index in np.ndindex(shape)]
    return stacked[:, order].reshape(len(stacked), *shape)


def _order(table: Any, names: list[str]) -> np.ndarray:
    import pyarrow as pa
    import pyarrow.compute as pc

    for name in names:
        empty = pc.is_null(table.column(name), nan_is_null=True).to_numpy()
        if empty.any():
            raise LogError(f"order_by column {name} has no value in row {columns.first(empty)}; fill it in")
    try:
        return pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names]).to_numpy()
    except pa.ArrowException:
        raise LogError(f"rows cannot be sorted by {', '.join(names)}; give order_by numbers, dates or text") from None


def _gathered(order: np.ndarray, episode: np.ndarray | None) -> tuple[np.ndarray, str]:
    """The order with the rows of each episode together, episodes by first appearance, and what to say of it."""
    if episode is None:
        return order, ""
    ids = columns.episode_ids("episode", episode)[order]
    _, first, codes = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))[codes]
    if np.all(rank[1:] >= rank[:-1]):
        return order, ""
    return order[np.argsort(rank, kind="stable")], " and, since episodes overlapped, gathered by episode"


def _write_parquet(log: Log, file: BinaryIO) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    held = {name: getattr(log, name) for name in COLUMNS if getattr(log, name) is not None}
    arrays = {name: tables.listed(column) for name, column in held.items()}
    if log.spec.actions is not None:
        arrays["action"] = pa.DictionaryArray.from_arrays(_labeled(log), list(log.spec.actions))
    known = {
        "actions": log.spec.actions,
        "n_actions": log.spec.n_actions,
        "n_observations": log.spec.n_observations,
        "max_episode_steps": log.max_episode_steps,
        "notes": log.notes,
        "features": log.spec.features,
    }
    table = pa.table(arrays).replace_schema_metadata({METADATA: json.dumps(known).encode()})
    pq.write_table(table, file)


def _labeled(log: Log) -> np.ndarray:
    """The action codes of a log with labels, each of which has one."""
    nameless = (log.action < 0) | (log.action >= log.spec.n_actions)
    if nameless.any():
        row = columns.first(nameless)
        raise LogError(f"action {log.action[row]} in row {row} has no label; fix the column before writing")
    return log.action


def _write_csv(log: Log, file: Any) -> None:
    """In plain Python: `repr` keeps floats apart from integers, which Arrow's writer does not."""
    names, held = _spread(log)
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(names)
    for at in range(0, len(log), CHUNK):
        writer.writerows(zip(*(column[at : at + CHUNK].tolist() for column in held), strict=True))
    text.detach()


def _spread(log: Log) -> tuple[list[str], list[np.ndarray]]:
    """Names and one-dimensional columns, an array's entries named `observation_0_3`."""
    names, held = [], []
    for name in COLUMNS:
        column = getattr(log, name)
        if column is None:
            continue
        if name == "action" and log.spec.actions is not None:
            column = np.array(log.spec.actions)[_labeled(log)]
        for index in np.ndindex(column.shape[1:]):
            names.append("_".join([name, *map(str, index)]))
            held.append(column[(slice(None), *index)])
    return names, held
