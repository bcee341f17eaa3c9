"""Logs read from Parquet and CSV files, and from any table that can be converted to Arrow."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from understudy.errors import LogError, SettingError, visible
from understudy.logs.action_kinds import refuse_slate_column
from understudy.logs.arrays import common_dtype, one_value_per_row
from understudy.logs.arrow_columns import is_number, to_numpy
from understudy.logs.coded_observations import (
    ROLES,
    CodingRules,
    Given,
    code_observations,
    coding_rules,
    refuse_other_names,
)
from understudy.logs.coding import Coding
from understudy.logs.columns import (
    CLEAN,
    REQUIRED,
    action_codes,
    common_length,
    flags,
    id_codes,
    integer_ids,
    propensity_array,
)
from understudy.logs.episodes import ranks_by_first_appearance
from understudy.logs.formats.loaded import LoadedTable
from understudy.logs.labels import checked_labels, listing
from understudy.logs.loading import load
from understudy.logs.log import Log, assemble
from understudy.logs.metadata import from_metadata, stored_coding, stored_source, with_stored
from understudy.logs.propensities import PropensityOptions
from understudy.logs.propensity_order import order_propensities
from understudy.logs.recoding import in_form, recoded, spec_of
from understudy.logs.row_order import sorted_rows, with_episodes_together
from understudy.logs.selection import Names, Selection, checked_names, select
from understudy.logs.source_files import shown_path
from understudy.logs.spec import Spec
from understudy.logs.texts import CodedTexts, coded_texts, is_text
from understudy.logs.times import TIMES, seconds


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
    time: Names = None,
    arrival: Names = None,
    order_by: Names = None,
    actions: Sequence[str] | None = None,
    n_actions: int | None = None,
    ends: str | None = None,
    categories: Names = None,
    coding: str | None = None,
    unseen: str | None = None,
    like: Log | Spec | str | os.PathLike | None = None,
    format: str | None = None,  # noqa: A002 - as everybody calls it
    progress: bool | None = None,
    n_samples: int | None = None,
    renormalize: bool = False,
) -> Log:
    """Return a log from a file, a mapping of columns, a pandas, polars or Arrow table, or what DuckDB reads.

    Each column is found under its own name, or under the name given here; observations and propensities may be lists
    of names, or spread over `observation_0, observation_1, ...`; propensities also a mapping from each action's label
    to its column. Propensity columns that are named like the actions belong to the actions of their names, whatever
    their order. With `order_by`, rows are sorted by those columns (text that spells numbers as numbers) and the rows of
    an episode brought together. `actions`, `n_actions`, `ends`, `n_samples` and `renormalize` are as in
    `Log.from_columns`, and so are `time` and `arrival`, except that these are read only where they are named here, or
    where the file is a Parquet file of ours.

    Observations that are not numbers are coded, and `log.spec.coding` says how: truth values (true and false, yes and
    no) as 0 and 1; dates as days since the first one, or seconds where they have times; other text as categories, coded
    0, 1, ... in sorted order, or in that of pandas' or Arrow's own categories. Text that spells numbers is numbers, and
    007 is text. Columns named in `categories` are categories whatever they look like. One column of categories alone is
    a single code a row; several columns are a matrix. With `coding="one-hot"` each label has a column of 0 and 1, as
    linear learners and networks need it; states are the same in both.

    With `like`, another log or the Parquet file that one was written to, observations and actions are coded as there. A
    category that it does not have is an error, or with `unseen="other"` gets a code that all such values share. Without
    `like`, that code is kept free for `log.spec.encode`, which codes new rows.

    In a CSV, actions, episodes and categories with different texts are different: 7 and 007 are two of them. Only an
    empty cell is a missing value there.

    Files are Parquet, CSV, Open Bandit's CSV, Vowpal Wabbit's text and dsjson, and HDF5 in D4RL's form; text may be
    compressed (.gz, .zst, .bz2). The format is known by the name or content, or is given as `format`, one of "parquet",
    "csv", "open-bandit", "vw", "dsjson", "hdf5" and "minari" (then `source` is the id of a Minari data set, or the data
    set). A format may know which column is which: what is said here comes first. `progress` is shown for large sources;
    True and False show it always and never.
    """
    like_spec = None if like is None else spec_of(read(like) if isinstance(like, str | os.PathLike) else like)
    rules = coding_rules(categories, unseen, None if like_spec is None else like_spec.coding)
    wanted: dict[str, Any] = {
        "observation": observation, "action": action, "reward": reward, "next_observation": next_observation,
        "terminated": terminated, "truncated": truncated, "episode": episode, "step": step, "propensity": propensity,
        "time": time, "arrival": arrival,
    }  # fmt: skip
    labels: Sequence[str] | None = None if actions is None else checked_labels(actions)
    if isinstance(propensity, Mapping):
        if labels is not None and labels != tuple(propensity):
            raise SettingError("propensity names the actions already, in another order than actions=; give one of them")
        labels = list(propensity)
    form = rules.like.form if coding is None and rules.like is not None else coding
    options = _Options(
        rules, form, like_spec, order_by, labels, n_actions, ends, PropensityOptions(n_samples, renormalize)
    )
    observed, following = (_columns_of_names(wanted, [role]) for role in ROLES)
    if observation is None and rules.like is not None:
        observed = list(rules.like.names)
    try:
        loaded = load(
            source,
            format,
            names=[name for names in wanted.values() for name in _strings_in(names)],
            recognize=all(wanted[role] is None for role in REQUIRED),
            progress=progress,
            as_written=_columns_of_names(wanted, ("action", "episode")),
            as_text=rules.texts(observed, following),
            observed=[*observed, *following],
        )
        return _log_of_loaded(loaded, wanted, options)
    except (LogError, SettingError) as error:
        if not isinstance(source, str | os.PathLike) or visible(shown_path(source)) in str(error):
            raise
        message = f"{shown_path(source)}: {error}"
        raise (LogError(message, error.rule) if isinstance(error, LogError) else SettingError(message)) from None


class _Options(NamedTuple):
    """What `read` was told beside the names of columns."""

    rules: CodingRules
    form: str | None
    like: Spec | None
    order_by: Names
    labels: Sequence[str] | None
    n_actions: int | None
    ends: str | None
    propensities: PropensityOptions


def _log_of_loaded(loaded: LoadedTable, wanted: dict[str, Names], options: _Options) -> Log:
    """Return the log of a table; what its format tells is used where the user says nothing else."""
    told = {role: loaded.columns.get(role) if names is None else names for role, names in wanted.items()}
    if options.rules.like is not None:
        told["observation"] = wanted["observation"]  # the columns of the other log
    same_actions = wanted["action"] is None and options.labels is None and options.n_actions is None
    if same_actions and options.like is None:
        options = options._replace(labels=loaded.actions, n_actions=loaded.n_actions)
    if options.ends is None and all(wanted[role] is None for role in ("terminated", "truncated", "episode")):
        options = options._replace(ends=loaded.ends)
    if options.order_by is None:
        options = options._replace(order_by=loaded.order_by)
    log = _log_of(loaded.table, told, options)
    if loaded.action_features is not None and same_actions:
        log = replace(log, spec=replace(log.spec, action_features=loaded.action_features))
    return replace(log, notes=loaded.notes + log.notes)


def _log_of(table: Any, wanted: dict[str, Any], options: _Options) -> Log:
    stored = from_metadata(table) if wanted["action"] in (None, "action") else {}
    named_times = any(wanted[role] is not None for role in TIMES)
    if not stored:  # a column that happens to be called time may be anything
        wanted = {role: names for role, names in wanted.items() if names is not None or role not in TIMES}
    if wanted["observation"] is None and options.rules.like is not None and stored.get("coding") is None:
        wanted = wanted | {"observation": list(options.rules.like.names)}
    selections = select(table, wanted)
    common_length({role: table.column(selection.names[0]) for role, selection in selections.items()})
    sort_names = None if options.order_by is None else checked_names(table, "order_by", options.order_by)
    order = None if sort_names is None else sorted_rows(table, sort_names)
    found_propensities = "propensity" in selections and wanted["propensity"] is None
    given_labels, n_actions = options.labels, options.n_actions
    if options.like is not None:
        given_labels = options.like.actions if given_labels is None else given_labels
        n_actions = options.like.n_actions if n_actions is None else n_actions
    labels = _labels_to_read_with(given_labels, stored.get("actions"), found_propensities)
    acted, acted_name = _actions(table, selections["action"]), selections["action"].names[0]
    if isinstance(wanted["propensity"], Sequence) and len(selections["propensity"].names) > 1:
        selections["propensity"], labels = order_propensities(
            selections["propensity"], acted, acted_name, labels, labels_given=options.labels is not None
        )
    columns, found_labels, episodes_are_codes = _clean_columns(table, selections, acted, labels)
    as_stored = stored if wanted["observation"] in (None, "observation") else {}
    observed, coding = _observations(table, selections, options.rules, as_stored.get("coding"))
    columns |= observed
    found_coding = as_stored.get("coding") is None and options.rules.like is None
    notes: tuple[str, ...] = tuple(stored.get("notes", ()))
    if sort_names is not None and order is not None:
        order, how = with_episodes_together(order, columns.get("episode"))
        if np.any(order[1:] < order[:-1]):
            for role in columns:  # one after the other, so that only one column is there twice
                columns[role] = columns[role][order]
            if episodes_are_codes:
                columns["episode"] = ranks_by_first_appearance(columns["episode"])
            by = ", ".join(sort_names)
            notes += (f"order: rows were sorted by {by}{how}; row numbers here count from 0 in that order",)
    log = assemble(
        columns,
        found_labels,
        labels_given=labels is not None,
        n_actions=stored.get("n_actions") if n_actions is None else n_actions,
        ends=options.ends,
        coding=coding,
        checks_times=named_times,  # rows of a file of ours may have been selected in any order
        categories=options.rules.categories if found_coding else () if coding is None else coding.names,
        propensities=options.propensities._replace(stored=stored_source(stored, wanted["propensity"])),
    )
    return in_form(with_stored(log, stored, notes, wanted, selections["observation"]), options.form)


def _columns_of_names(wanted: dict[str, Names], roles: Iterable[str]) -> list[str]:
    """Return the names of the columns that hold these columns of a log."""
    given = [role if (names := wanted[role]) is None else names for role in roles]
    return [name for names in given for name in _strings_in(names)]


def _strings_in(names: Any) -> list[str]:
    """Return the names that were given, as a list; for what does not name columns, see `checked_names`."""
    if isinstance(names, str | Mapping):
        return [names] if isinstance(names, str) else _strings_in(names.values())
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


def _actions(table: Any, selection: Selection) -> np.ndarray | CodedTexts:
    """Return the actions of all rows, as `action_codes` takes them."""
    name = selection.names[0]
    refuse_slate_column(selection.title(name), table.column(name))
    return _ids(name, table.column(name))


def _ids(name: str, column: Any) -> np.ndarray | CodedTexts:
    """Return a column of ids, labels or truth values: text as codes, which are small, and other values as an array."""
    return coded_texts(name, column) if is_text(column.type) else to_numpy(name, column)


def _clean_columns(
    table: Any, selections: Mapping[str, Selection], acted: np.ndarray | CodedTexts, labels: Sequence[str] | None
) -> tuple[dict[str, np.ndarray], tuple[str, ...] | None, bool]:
    """Return all columns but observations in their dtypes, the labels of actions, and if episode ids became codes.

    This comes before rows are sorted, so that messages name a value by its row in the file.
    """
    columns: dict[str, np.ndarray] = {}
    found_labels, episodes_are_codes = None, False
    for role, selection in selections.items():
        name, title = selection.names[0], selection.title(selection.names[0])
        if role == "action":
            columns[role], found_labels = action_codes(acted, labels, title)
        elif role == "episode":
            values = _ids(name, table.column(name))
            values = values if isinstance(values, CodedTexts) else one_value_per_row(title, values)
            ids = integer_ids(title, values)
            episodes_are_codes = ids is None
            columns[role] = id_codes(title, values) if ids is None else ids
        elif role in ("terminated", "truncated"):
            columns[role] = flags(title, _ids(name, table.column(name)))
        elif role in TIMES:
            columns[role] = seconds(title, table.column(name))
        elif role not in ROLES:
            columns[role] = _numbers(table, selection)
    return columns, found_labels, episodes_are_codes


def _observations(
    table: Any, selections: Mapping[str, Selection], rules: CodingRules, stored: Any
) -> tuple[dict[str, np.ndarray], Coding | None]:
    """Return observations and next observations as numbers, and how they were coded, if they were.

    `stored` is the coding in the file's metadata, if there is one.
    """
    selected = {role: selections[role] for role in ROLES if role in selections}
    given = {
        role: [Given(name, selection.title(name), table.column(name)) for name in selection.names]
        for role, selection in selected.items()
    }
    refuse_other_names(rules, given)
    found = code_observations(given, rules) if stored is None else None
    if found is not None:
        parts, coding = found
        named = {role: dict(zip(selected[role].names, parts[role], strict=True)) for role in selected}
        alone = coding is not None and len(coding.columns) == 1
        return {
            role: parts[role][0] if alone else _joined(selection, named[role]) for role, selection in selected.items()
        }, coding
    numbers = {role: _numbers(table, selection) for role, selection in selected.items()}
    return (numbers, None) if stored is None else recoded(numbers, stored_coding(stored, numbers), rules)


def _numbers(table: Any, selection: Selection) -> np.ndarray:
    """Return the columns of a selection in their dtype, stacked where they are the entries of an array."""
    names = dict.fromkeys(selection.names)  # several actions may share a propensity
    cleaned = (
        (name, CLEAN[selection.role](selection.title(name), to_numpy(name, table.column(name)))) for name in names
    )
    kinds = {table.column(name).type for name in names}
    if not selection.stacked or len(kinds) > 1 or not is_number(kinds.pop()):
        return _joined(selection, dict(cleaned))
    matrix = np.empty((0, 0))
    for name, part in cleaned:  # of one dtype, so each is put into its place before the next is read
        if not len(matrix):
            matrix = np.empty((len(part), len(selection.names)), part.dtype)
        for at in [at for at, other in enumerate(selection.names) if other == name]:
            matrix[:, at] = part
    return selection.shaped(matrix)


def _joined(selection: Selection, cleaned: dict[str, np.ndarray]) -> np.ndarray:
    """Return columns that are in their dtypes as one, stacked where they are the entries of an array."""
    role = selection.role
    if not selection.stacked:
        return cleaned[selection.names[0]]
    if len({part.shape for part in cleaned.values()}) > 1:
        raise LogError(f"{role} cannot be made of {listing(selection.names)}, which differ in shape")
    in_one_dtype = common_dtype({f"{role} column {name}": part for name, part in cleaned.items()})
    cleaned = dict(zip(cleaned, in_one_dtype, strict=True))
    stacked = selection.shaped(np.stack([cleaned[name] for name in selection.names], axis=1))
    return propensity_array(role, stacked) if role == "propensity" else stacked
