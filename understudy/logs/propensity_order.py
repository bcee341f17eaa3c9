"""Propensity columns that are named after actions, in the order of those actions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.errors import SettingError
from understudy.logs.columns import action_codes
from understudy.logs.labels import listing, positions_of, sorted_labels, spelled_value
from understudy.logs.selection import Selection


def order_propensities(
    propensity: Selection,
    actions: Any,
    name: str,
    labels: Sequence[str] | None,
    *,
    labels_given: bool,
) -> tuple[Selection, Sequence[str] | None]:
    """Return the propensity columns in the order of the actions, and the labels to read actions with.

    `actions` are those of the rows, as `action_codes` takes them, and `name` is that of their column. Columns are named
    after actions where their names are those, or what is left of them without a beginning and an end that all share:
    p_email and p_call. Others stay as they are. Raise `SettingError` where the user gave labels in another order than
    the columns.
    """
    columns = given = propensity.names
    if len(set(given)) < len(given):
        return propensity, labels
    known = labels
    if known is None:
        codes, found = action_codes(actions, None, name)
        taken = [str(code) for code in np.unique(codes)] if found is None else list(found)
    given = without_affixes(given, taken if known is None else known)
    if known is None:
        if found is None and None not in positions_of(all_codes := [str(code) for code in range(len(given))], given):
            return replace(propensity, names=_in_order_of(all_codes, given, columns)), None
        known = taken
        has_gaps = codes.max() >= len(given) and None not in positions_of(known, given)
        if has_gaps or set(known) < set(given):  # numbers with gaps between them, or actions that no row took
            known = list(sorted_labels(list(given), "propensity"))
    if len(known) != len(given) or None in positions_of(known, given, spelled_value):
        return propensity, labels
    ordered = _in_order_of(known, given, columns)
    if labels_given and ordered != columns:
        raise SettingError(
            f"the propensity columns {listing(columns)} are named after the actions, and actions= has these in another "
            f"order, {listing(known)}; give both in one order"
        )
    return replace(propensity, names=ordered), known


def without_affixes(names: tuple[str, ...], labels: Sequence[str]) -> tuple[str, ...]:
    """Return names without a beginning and an end that all have, where that leaves all of these labels; else as given.

    >>> without_affixes(("p_mail", "p_call", "p_none"), ["call", "mail"])
    ('mail', 'call', 'none')
    >>> without_affixes(("p_mail", "q_call"), ["call", "mail"])
    ('p_mail', 'q_call')
    """
    first = labels[0] if labels else ""
    for name in names:
        before, found, after = name.partition(first) if first else (name, "", "")
        alike = all(other.startswith(before) and other.endswith(after) for other in names)
        if found and alike and {f"{before}{label}{after}" for label in labels} <= set(names):
            return tuple(other.removeprefix(before).removesuffix(after) for other in names)
    return names


def _in_order_of(labels: Sequence[str], names: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns in the order of the labels that their names are equal to, or spell the value of."""
    return tuple(columns[at] for at in positions_of(labels, names, spelled_value) if at is not None)
