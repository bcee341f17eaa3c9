"""Logs from and to Parquet and CSV files, and from any table that speaks Arrow."""

import csv
import gzip
import io
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from understudy.errors import LogError, visible
from understudy.logs import arrays, columns, tables
from understudy.logs.columns import COLUMNS, REQUIRED
from understudy.logs.labels import checked, in_order, listed, positions_of, spelled
from understudy.logs.log import Log
from understudy.logs.metadata import from_metadata, refuse_more_than_fit, to_metadata
from understudy.logs.tables import CSV, PARQUET
from understudy.storage import write_whole

Names = str | Sequence[str] | None

WIDE = ("observation", "next_observation", "propensity")  # may be spread over columns
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
    ends: str | None = None,
) -> Log:
    """A log from a Parquet or CSV file, or from a pandas, polars or Arrow table.

    Each column is named, or found under its own name; observations and propensities may be lists of names, or
    spread over `observation_0, observation_1, ...`; propensities also a mapping from each action's label to its
    column. Propensity columns that are named like the actions belong to the actions of their names, whatever their
    order. With `order_by`, rows are sorted by those columns (text that spells numbers as numbers) and the rows of an
    episode brought together. `actions`, `n_actions` and `ends` are as in `Log.from_columns`.

    In a CSV, actions and episodes are told apart by their text: 7 and 007 are two of them. Only an empty cell is
    missing there.
    """
    asked: dict[str, Any] = {
        "observation": observation, "action": action, "reward": reward, "next_observation": next_observation,
        "terminated": terminated, "truncated": truncated, "episode": episode, "step": step, "propensity": propensity,
    }  # fmt: skip
    actions = None if actions is None else checked(actions)
    if isinstance(propensity, Mapping):
        if actions is not None and actions != tuple(propensity):
            raise LogError("propensity names the actions already, in another order than actions=; give one of them")
        actions = list(propensity)
    is_path = isinstance(source, str | os.PathLike)
    try:
        table = tables.load_file(tables.path_of(source), _told_by_text(asked)) if is_path else tables.load_frame(source)
        return _log(table, asked, order_by, actions, n_actions, ends)
    except LogError as error:
        if is_path and visible(tables.named(source)) not in str(error):
            raise LogError(f"{tables.named(source)}: {error}", error.rule) from None
        raise


def write(log: Log, path: str | os.PathLike) -> None:
    """Write a log to a Parquet or CSV file, all of it or nothing.

    Parquet keeps everything. CSV keeps the values only. Read again, labels that no row took, small dtypes and the
    log's notes are lost, and so is what was derived: a `next_observation` that was taken from the next row counts as
    recorded then (to `exo_psrs`, for one). Labels that would come back in another order than their propensities, or
    not at all, are refused.
    """
    target = tables.path_of(path)
    name = target.name.lower()
    if not name.endswith(PARQUET + CSV):
        raise LogError(
            f"{tables.named(target)}: a log is written as {', '.join(PARQUET + CSV)}; give the file one of these "
            "endings"
        )

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

    if name.endswith(CSV):
        _refuse_lost_labels(log)
    try:
        write_whole(target, write_content)
    except (OSError, pa.ArrowException) as error:
        raise LogError(
            f"{tables.named(target)} cannot be written ({tables.reason(error)}); check the folder, its rights and its "
            "space"
        ) from None


def _log(
    table: Any,
    asked: dict[str, Names],
    order_by: Names,
    actions: Sequence[str] | None,
    n_actions: int | None,
    ends: str | None,
) -> Log:
    resolved = {role: _resolve(table, role, wanted) for role, wanted in asked.items()}
    names = {role: found for role, found in resolved.items() if found}
    columns.common_length({role: table.column(found[0]) for role, found in names.items()})
    by = None if order_by is None else _named(table, "order_by", order_by)
    order = None if by is None else _order(table, by)
    known = from_metadata(table) if asked["action"] in (None, "action") else {}
    notes: tuple[str, ...] = tuple(known.get("notes", ()))
    asked_actions, actions = (
        actions,
        _labels(actions, known.get("actions"), "propensity" in names and asked["propensity"] is None),
    )
    n_actions = known.get("n_actions") if n_actions is None else n_actions
    if isinstance(asked["propensity"], Sequence) and len(names["propensity"]) > 1:
        names["propensity"], actions = _by_name(table, names, actions, asked_actions is not None)
    given: dict[str, Any] = {
        role: _column(table, role, found, actions, asked[role] is None) for role, found in names.items()
    }
    if by is not None and order is not None:
        order, how = _gathered(order, given.get("episode"))
        given = {role: values[order] for role, values in given.items()}
        if np.any(order[1:] < order[:-1]):
            notes += (f"order: rows were sorted by {', '.join(by)}{how}; row numbers here count from 0 in that order",)
    log = Log.from_columns(**given, actions=actions, n_actions=n_actions, ends=ends)
    n_observations = known.get("n_observations") if asked["observation"] is None else None
    refuse_more_than_fit(n_observations, log.observation)
    derived = [name for name in known.get("derived") or () if asked[name] is None and name not in log.derived]
    return replace(
        log,
        notes=notes + log.notes,
        max_episode_steps=known.get("max_episode_steps", log.max_episode_steps),
        spec=replace(
            log.spec,
            n_observations=_larger(log.spec.n_observations, n_observations),
            features=_features(names["observation"], known.get("features")),
        ),
        derived=(*derived, *log.derived),
    )


def _told_by_text(asked: dict[str, Names]) -> list[str]:
    """The columns of actions and episodes, whose values are names even where they look like numbers."""
    wanted = [role if (name := asked[role]) is None else name for role in ("action", "episode")]
    return [name for one in wanted for name in ([one] if isinstance(one, str) else _strings(one))]


def _strings(names: Any) -> list[str]:
    return [name for name in names if isinstance(name, str)] if isinstance(names, Iterable) else []


def _features(names: Sequence[str], known: list[str] | None) -> tuple[str, ...] | None:
    """The columns that observations come from, where they are not named `observation` or `observation_0, ...`."""
    if known is not None and list(names) == ["observation"]:
        return tuple(known)
    return None if all(re.fullmatch(r"observation(_\d+)*", name) for name in names) else tuple(names)


def _labels(actions: Sequence[str] | None, stored: list[str] | None, beside_propensities: bool) -> Sequence[str] | None:
    """The labels to read with: those asked for, or those stored in the file, in whose order its propensities are."""
    if actions is None or stored is None:
        return stored if actions is None else actions
    if beside_propensities and list(actions) != stored:
        raise LogError(
            f"the file has its propensities in the order of its actions, {listed(stored)}, and actions= is another; "
            "leave it out, or name the propensity columns"
        )
    return actions


def _larger(one: int | None, other: int | None) -> int | None:
    return one if one is None or other is None else max(one, other)


def _resolve(table: Any, role: str, wanted: Names) -> list[str] | tuple[str, ...] | None:
    """The names of the columns that hold this one; None where it may be, and is, missing."""
    if wanted is not None:
        found = _named(table, role, wanted)
        if len(set(found)) < len(found) and role != "propensity":  # a logger that drew evenly may have one column
            raise LogError(f"{role} names {max(found, key=found.count)} more than once; name each column once")
        if len(found) > 1 and role not in WIDE:
            raise LogError(f"{role} is one column, not {len(found)}; name one")
        return found[0:1] if isinstance(wanted, str) else tuple(found)
    if role in table.column_names:
        return _named(table, role, role)
    spread = [name for name in table.column_names if re.fullmatch(rf"{role}(_[0-9]{{1,9}})+", name)]
    if spread and role in WIDE:
        return tuple(_named(table, role, sorted(spread, key=lambda name: _indices(role, name))))
    if role in REQUIRED:
        raise _absent(table, role, role)
    return None


def _named(table: Any, role: str, wanted: Any) -> list[str]:
    wanted = wanted.values() if isinstance(wanted, Mapping) else wanted
    wanted = [wanted] if isinstance(wanted, str) or not isinstance(wanted, Iterable) else list(wanted)
    if not all(isinstance(name, str) for name in wanted):
        raise LogError(f"{role}={arrays.shown(wanted)} does not name columns; give a name, or a list of names")
    if not wanted:
        raise LogError(f"{role}=[] names no column; leave it out, or name one")
    there = Counter(table.column_names)
    for name in wanted:
        if there[name] != 1:
            raise _absent(table, role, name)
    return wanted


def _absent(table: Any, role: str, name: str) -> LogError:
    there = table.column_names
    if name in there:
        return LogError(f"there are {there.count(name)} columns named {name}; rename all but one")
    close = get_close_matches(name, there, n=1)
    hint = f"did you mean {close[0]}?" if close else f"say {role}= which it is"
    return LogError(f"there is no column {name}: the columns are {listed(there)}; {hint}")


def _indices(role: str, name: str) -> tuple[int, ...]:
    return tuple(int(index) for index in name.removeprefix(role).split("_")[1:])


def _column(
    table: Any, role: str, names: list[str] | tuple[str, ...], actions: Sequence[str] | None, found: bool
) -> np.ndarray:
    """A list of one name is that column; a tuple of names is a column for each entry, in the order it was asked for.

    Names that were found are of the form `observation_0_3`, and are laid out by these numbers.

    They are brought to their dtypes before rows are sorted, so that what is refused is named by its place in the file.
    """
    held = {name: tables.values(name, table.column(name)) for name in names}
    if role in ("observation", "next_observation"):
        _refuse_text(role, held)
    held = {name: _cleaned(role, name, part, actions) for name, part in held.items()}
    if isinstance(names, list):
        return held[names[0]]
    if len({part.shape for part in held.values()}) > 1:
        raise LogError(f"{role} cannot be made of {listed(names)}, which differ in shape")
    alike = arrays.one_dtype({f"{role} column {name}": part for name, part in held.items()})
    held = dict(zip(held, alike, strict=True))
    parts = [held[name] for name in names]  # a column of propensities may stand for several actions
    return _shaped(role, names, parts) if found else np.stack(parts, axis=1)


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


def _shaped(role: str, names: tuple[str, ...], parts: list[np.ndarray]) -> np.ndarray:
    """Entries named `observation_0_3`, in the order of these numbers, laid out as an array."""
    indices = [_indices(role, name) for name in names]
    shape = tuple(max(index) + 1 for index in zip(*indices, strict=False))
    alike = len(set(map(len, indices))) == 1 and len(set(indices)) == len(indices)
    if not alike or math.prod(shape) != len(indices) or len(shape) > tables.DEEPEST:
        raise LogError(
            f"{listed(names)} do not fill an array of shape {arrays.shown(shape)}; name the columns with {role}="
        )
    return np.stack(parts, axis=1).reshape(len(parts[0]), *shape, *parts[0].shape[1:])


def _by_name(
    table: Any, names: Mapping[str, Sequence[str]], labels: Sequence[str] | None, asked: bool
) -> tuple[tuple[str, ...], Sequence[str] | None]:
    """Propensity columns in the order of the actions they are named after, where they are, and the labels to read with.

    Labels that the user asked for in another order contradict the names, and are refused.
    """
    given, title = tuple(names["propensity"]), names["action"][0]
    if len(set(given)) < len(given):
        return given, labels
    known = labels
    if known is None:
        codes, known = columns.action_codes(tables.values(title, table.column(title)), None, title)
        every = [str(code) for code in range(len(given))]
        if known is None and None not in positions_of(every, given):
            return _sorted_after(every, given), None
        known = [str(code) for code in np.unique(codes)] if known is None else list(known)
        if set(known) < set(given) or (codes.max() >= len(given) and None not in positions_of(known, given)):
            known = list(in_order(list(given), "propensity"))  # some were never taken, or they are numbers with gaps
    if len(known) != len(given) or None in positions_of(known, given, spelled):
        return given, labels
    ordered = _sorted_after(known, given)
    if asked and ordered != given:
        raise LogError(
            f"the propensity columns {listed(given)} are named after the actions, and actions= has these in another "
            f"order, {listed(known)}; give both in one order"
        )
    return ordered, known


def _sorted_after(labels: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(names[at] for at in positions_of(labels, names, spelled) if at is not None)


def _order(table: Any, names: list[str]) -> np.ndarray:
    """Row numbers sorted by these columns, rows that are equal in them as they stand."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        keys = {name: tables.sort_key(name, table.column(name)) for name in names}
        return pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys]).to_numpy()
    except (pa.ArrowException, NotImplementedError):
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
    arrow = {name: tables.listed(column) for name, column in held.items()}
    if log.spec.actions is not None:
        arrow["action"] = pa.DictionaryArray.from_arrays(_labeled(log), list(log.spec.actions))
    table = pa.table(arrow).replace_schema_metadata(to_metadata(log))
    pq.write_table(table, file, write_page_checksum=True)


def _labeled(log: Log) -> np.ndarray:
    """The action codes of a log with labels, each of which has one."""
    nameless = (log.action < 0) | (log.action >= log.spec.n_actions)
    if nameless.any():
        row = arrays.first(nameless)
        raise LogError(f"action {log.action[row]} in row {row} has no label; fix the column before writing")
    return log.action


def _refuse_lost_labels(log: Log) -> None:
    """Refuse labels that reading a CSV would not bring back, or not in the order of their propensities."""
    if log.spec.actions is None:
        return
    taken = np.unique(_labeled(log))
    text = io.StringIO()
    csv.writer(text).writerows([("action", "code"), *((log.spec.actions[code], code) for code in taken)])
    try:
        values = tables.values("action", tables.parse_csv(text.getvalue().encode(), ["action"]).column("action"))
        codes, labels = columns.action_codes(values, None)
        lost = None if labels is None or set(labels) <= {*log.spec.actions, *columns.TRUTH_VALUES} else "changed"
    except LogError as error:
        lost = str(error)
    if lost is None and log.propensity is not None and log.propensity.ndim == 2 and codes.tolist() != taken.tolist():
        whole = labels is None or len(labels) == log.spec.n_actions
        lost = "in another order than their propensities" if whole else None
    if lost is not None:
        raise LogError(
            f"labels {listed(log.spec.actions)} would not come back from a CSV ({lost}); write Parquet instead"
        )


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
            column = np.array(log.spec.actions, object)[_labeled(log)]
        for index in np.ndindex(column.shape[1:]):
            names.append("_".join([name, *map(str, index)]))
            held.append(column[(slice(None), *index)])
    return names, held
