"""The columns of a table, in memory or in files, as arrays in the dtypes of a log."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.logs.action_kinds import refuse_slate_column
from understudy.logs.arrays import common_dtype, one_value_per_row
from understudy.logs.arrow_columns import side_by_side, to_numpy
from understudy.logs.coded_observations import ROLES, CodingRules, Given, code_observations, refuse_other_names
from understudy.logs.coding import Coding
from understudy.logs.columns import CLEAN, action_codes, flags, id_codes, integer_ids, propensity_array
from understudy.logs.ends_by_value import is_one_of
from understudy.logs.in_blocks import in_blocks, in_blocks_with
from understudy.logs.labels import listing
from understudy.logs.metadata import stored_coding
from understudy.logs.recoding import recoded
from understudy.logs.selection import BY_VALUE, Selection
from understudy.logs.texts import CodedTexts, coded_texts, is_text
from understudy.logs.times import TIMES, seconds


def actions_of(table: Any, selection: Selection) -> np.ndarray | CodedTexts:
    """Return the actions of all rows, as `action_codes` takes them."""
    name = selection.names[0]
    refuse_slate_column(selection.title(name), table.column(name))
    return _ids(name, table.column(name))


def _ids(name: str, column: Any) -> np.ndarray | CodedTexts:
    """Return a column of ids, labels or truth values: text as codes, which are small, and other values as an array."""
    return coded_texts(name, column) if is_text(column.type) else to_numpy(name, column)


def clean_columns(
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
            columns[role], found_labels = in_blocks_with(
                lambda name, values: action_codes(values, labels, name), title, acted
            )
        elif role == "episode":
            values = _ids(name, table.column(name))
            values = values if isinstance(values, CodedTexts) else one_value_per_row(title, values)
            ids = in_blocks(integer_ids, title, values)
            episodes_are_codes = ids is None
            columns[role] = id_codes(title, values) if ids is None else ids
        elif role in BY_VALUE:
            columns[role] = _truth_values(table, selection)
        elif role in TIMES:
            columns[role] = seconds(title, table.column(name))
        elif role not in ROLES:
            columns[role] = _numbers(table, selection)
    return columns, found_labels, episodes_are_codes


def _truth_values(table: Any, selection: Selection) -> np.ndarray:
    """Return a column of truth values, or where the column has one of the values that were named."""
    name, title = selection.names[0], selection.title(selection.names[0])
    if selection.values:
        return is_one_of(title, table.column(name), selection.values)
    try:
        return in_blocks(flags, title, _ids(name, table.column(name)))
    except LogError as error:
        instead = f'{selection.role}="{name}=VALUE" where VALUE is what it says then'
        raise LogError(f"{error}; or say {instead}", error.rule) from None


def observations_of(
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
    names = list(dict.fromkeys(selection.names))  # several actions may share a propensity
    clean = CLEAN[selection.role]
    matrix = side_by_side(table, names) if selection.stacked else None
    if matrix is None:
        return _joined(
            selection,
            {name: in_blocks(clean, selection.title(name), to_numpy(name, table.column(name))) for name in names},
        )
    if len(names) < len(selection.names):
        matrix = matrix[:, [names.index(name) for name in selection.names]]
    return selection.shaped(in_blocks(clean, selection.role, matrix))


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
