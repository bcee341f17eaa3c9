"""Logs read from Parquet and CSV files, and from any table that can be converted to Arrow."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from understudy.errors import LogError, SettingError, visible
from understudy.logs.arrays import NoValueError
from understudy.logs.coded_observations import (
    ROLES,
    CodingRules,
    coding_rules,
)
from understudy.logs.columns import (
    COLUMNS,
    REQUIRED,
    common_length,
)
from understudy.logs.costs import negated, notes_on_reward
from understudy.logs.ends_by_value import notes_on_other_words
from understudy.logs.episodes import ranks_by_first_appearance
from understudy.logs.formats.loaded import LoadedTable
from understudy.logs.labels import checked_labels, listing
from understudy.logs.loading import load
from understudy.logs.log import Log, assemble
from understudy.logs.metadata import from_metadata, stored_source, with_stored
from understudy.logs.missing_values import all_missing
from understudy.logs.on_disk import is_log_folder, kept_on_disk, open_log, source_of
from understudy.logs.propensities import PropensityOptions
from understudy.logs.propensity_order import order_propensities
from understudy.logs.recoding import in_form, spec_of
from understudy.logs.row_order import sorted_rows, with_episodes_together
from understudy.logs.selection import BY_VALUE, Names, checked_names, select
from understudy.logs.source_files import shown_path
from understudy.logs.spec import Spec
from understudy.logs.table_columns import actions_of, clean_columns, observations_of
from understudy.logs.times import TIMES


def read(
    source: Any,
    *,
    observation: Names = None,
    action: Names = None,
    reward: Names = None,
    cost: Names = None,
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
    on_disk: str | os.PathLike | None = None,
) -> Log:
    """Return a log from files, a mapping of columns, a pandas, polars or Arrow table or dataset, or what DuckDB reads.

    Each column is found under its own name, or under the name given here; observations and propensities may be lists
    of names, or spread over `observation_0, observation_1, ...`; propensities also a mapping from each action's label
    to its column. Propensity columns that are named like the actions belong to the actions of their names, whatever
    their order. Where a column tells in words how episodes ended, the words are named, too:
    `terminated="end=left,bought", truncated="end=timeout"`; rows with other words, or none, did not end them. Of what
    was paid, `cost` names the column in place of `reward`: its sign is changed. With
    `order_by`, rows are sorted by those columns (text that spells numbers as numbers) and the rows of an episode
    brought together. `actions`, `n_actions`, `ends`, `n_samples` and `renormalize` are as in `Log.from_columns`, and so
    are `time` and `arrival`, except that these are read only where they are named here, or where the file is a Parquet
    file of ours.

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

    A folder, a pattern such as "logs/*.parquet", or a list of paths stands for Parquet files that are read as one log.
    Those of folders and patterns are sorted by path, numbers in it as numbers (part-9 before part-10); a list keeps its
    order. Rows are counted through all files, and an episode may go on in the next one. Names of folders such as
    `day=2024-05-01` are columns, too; what begins with a dot or `_` is left out of folders. Of Parquet only those
    columns are read that the log needs, each into its place, so that little more memory is used than the log itself.

    Files are Parquet, CSV, Open Bandit's CSV, Vowpal Wabbit's text and dsjson, and HDF5 in D4RL's form; text may be
    compressed (.gz, .zst, .bz2). The format is known by the name or content, or is given as `format`, one of "parquet",
    "csv", "open-bandit", "vw", "dsjson", "hdf5" and "minari" (then `source` is the id of a Minari data set, or the data
    set). A format may know which column is which: what is said here comes first. `progress` is shown for large sources;
    True and False show it always and never.

    With `on_disk`, a folder, the log is not in memory: its columns are written there, and mapped. Later calls with the
    same files and options open it without reading them, and so does `read(folder)` by itself; where a file has changed,
    the log is made again. Use it for logs that do not fit into memory, or that several processes work on.
    """
    given: dict[str, Any] = {
        "observation": observation, "action": action, "reward": reward, "cost": cost,
        "next_observation": next_observation, "terminated": terminated, "truncated": truncated,
        "episode": episode, "step": step, "propensity": propensity, "time": time, "arrival": arrival,
        "order_by": order_by, "actions": actions, "n_actions": n_actions,
        "ends": ends, "categories": categories, "coding": coding, "unseen": unseen, "like": like, "format": format,
        "n_samples": n_samples, "renormalize": renormalize or None,
    }  # fmt: skip
    if is_log_folder(source):
        if told := [name for name, value in {**given, "on_disk": on_disk}.items() if value is not None]:
            raise SettingError(f"{shown_path(source)} is a log on disk already; leave {told[0]}= out")
        return open_log(source)
    if on_disk is not None:
        given = {name: value for name, value in given.items() if value is not None}
        return kept_on_disk(on_disk, source_of(source, given), lambda: read(source, progress=progress, **given))
    like_spec = None if like is None else spec_of(read(like) if isinstance(like, str | os.PathLike) else like)
    rules = coding_rules(categories, unseen, None if like_spec is None else like_spec.coding)
    wanted: dict[str, Any] = {role: given[role] for role in (*COLUMNS, *TIMES)}
    if cost is not None:
        if reward is not None:
            raise SettingError("reward= and cost= are both given; give the one that the log has")
        wanted["reward"] = cost
    labels: Sequence[str] | None = None if actions is None else checked_labels(actions)
    if isinstance(propensity, Mapping):
        if labels is not None and labels != tuple(propensity):
            raise SettingError("propensity names the actions already, in another order than actions=; give one of them")
        labels = list(propensity)
    form = rules.like.form if coding is None and rules.like is not None else coding
    options = _Options(
        rules, form, like_spec, order_by, labels, n_actions, ends, PropensityOptions(n_samples, renormalize),
        cost is not None,
    )  # fmt: skip
    observed, following = (_columns_of_names(wanted, [role]) for role in ROLES)
    if observation is None and rules.like is not None:
        observed = list(rules.like.names)
    try:
        loaded = load(
            source,
            format,
            names=[
                part for names in wanted.values() for name in _strings_in(names) for part in {name, name.split("=")[0]}
            ],
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
    has_costs: bool  # in place of rewards


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
    acted_name = selections["action"].names[0]
    try:
        acted = actions_of(table, selections["action"])
        if isinstance(wanted["propensity"], Sequence) and len(selections["propensity"].names) > 1:
            selections["propensity"], labels = order_propensities(
                selections["propensity"], acted, acted_name, labels, labels_given=options.labels is not None
            )
        columns, found_labels, episodes_are_codes = clean_columns(table, selections, acted, labels)
        as_stored = stored if wanted["observation"] in (None, "observation") else {}
        observed, coding = observations_of(table, selections, options.rules, as_stored.get("coding"))
    except NoValueError as error:
        raise all_missing(table, selections, error) from None
    columns |= observed
    if options.has_costs:
        columns["reward"] = negated(columns["reward"])
    earned = notes_on_reward(selections["reward"].names[0], columns["reward"], options.has_costs)
    found_coding = as_stored.get("coding") is None and options.rules.like is None
    notes: tuple[str, ...] = (*stored.get("notes", ()), *earned)
    if sort_names is not None and order is not None:
        order, how = with_episodes_together(order, columns.get("episode"))
        if np.any(order[1:] < order[:-1]):
            for role in columns:  # one after the other, so that only one column is there twice
                columns[role] = columns[role][order]
            if episodes_are_codes:
                columns["episode"] = ranks_by_first_appearance(columns["episode"])
            columns["source_row"] = order.astype(np.int32)  # messages name rows as in the file
            notes += (f"order: rows were sorted by {', '.join(sort_names)}{how}",)
    words: dict[str, list[str]] = {}
    for role in BY_VALUE:
        if role in selections and selections[role].values:
            words.setdefault(selections[role].names[0], []).extend(selections[role].values)
    if options.ends is None:  # else it was said how all others ended
        notes += tuple(notes_on_other_words(table, words, columns))
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
        owned=True,  # what came from memory is a read-only view of Arrow's
    )
    earned_name = ("-" if options.has_costs else "") + selections["reward"].names[0]
    log = with_stored(log, stored, notes, wanted, selections["observation"], acted_name, earned_name)
    return in_form(log, options.form)


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
