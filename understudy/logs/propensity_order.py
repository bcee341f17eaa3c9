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

    `actions` are those of the rows, as `action_codes` takes them, and `name` is that of their column. Columns that
    are not named after actions stay as they are. Raise `SettingError` where the user gave labels in another order than
    the columns.
    """
    given = propensity.names
    if len(set(given)) < len(given):
        return propensity, labels
    known = labels
    if known is None:
        codes, found = action_codes(actions, None, name)
        if found is None and None not in positions_of(all_codes := [str(code) for code in range(len(given))], given):
            return replace(propensity, names=_in_order_of(all_codes, given)), None
        known = [str(code) for code in np.unique(codes)] if found is None else list(found)
        has_gaps = codes.max() >= len(given) and None not in positions_of(known, given)
        if has_gaps or set(known) < set(given):  # numbers with gaps between them, or actions that no row took
            known = list(sorted_labels(list(given), "propensity"))
    if len(known) != len(given) or None in positions_of(known, given, spelled_value):
        return propensity, labels
    ordered = _in_order_of(known, given)
    if labels_given and ordered != given:
        raise SettingError(
            f"the propensity columns {listing(given)} are named after the actions, and actions= has these in another "
            f"order, {listing(known)}; give both in one order"
        )
    return replace(propensity, names=ordered), known


def _in_order_of(labels: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the names in the order of the labels they are equal to, or spell the value of."""
    return tuple(names[at] for at in positions_of(labels, names, spelled_value) if at is not None)
