"""Columns of observations that hold more than numbers, coded: next observations by the same coding."""

from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from typing import Any, NamedTuple

import numpy as np

from understudy.errors import LogError, SettingError
from understudy.logs.arrays import as_array
from understudy.logs.arrow_columns import values_to_arrow
from understudy.logs.coded_values import as_logged, coded_values
from understudy.logs.coding import UNSEEN, Coding, stacked
from understudy.logs.column_coding import FALSE_TRUE, NUMBERS, ColumnCoding
from understudy.logs.findings import counted
from understudy.logs.labels import listing
from understudy.logs.periods import is_period, refuse_other_periods
from understudy.logs.recognition import needs_coding, recognize
from understudy.logs.texts import is_category, plain_array

ROLES = ("observation", "next_observation")


class Given(NamedTuple):
    """A column of observations, or of next observations, as it was given."""

    name: str
    title: str  # what messages call it
    values: Any  # an Arrow column


class CodingRules(NamedTuple):
    """What the user says about how observations are to be coded."""

    categories: tuple[str, ...] = ()  # columns that are categories, whatever they look like
    like: Coding | None = None  # the coding of another log, to be used here
    unseen: str | None = None  # what becomes of categories that `like` does not have

    def texts(self, observed: Sequence[str], following: Sequence[str]) -> list[str]:
        """Return the columns of observations and next observations whose texts are labels, whatever they spell.

        Both are given in one order.
        """
        kinds = () if self.like is None else [column.kind for column in self.like.columns]
        found = [at for at, kind in enumerate(kinds) if kind == "category"]
        for names in (observed, following):
            found += [at for at, name in enumerate(names) if name in self.categories]
        return [names[at] for names in (observed, following) for at in sorted(set(found)) if at < len(names)]


def coding_rules(categories: Any, unseen: str | None, like: Coding | None) -> CodingRules:
    """Return what the user says about the coding of observations. Raise `SettingError` where it cannot be followed."""
    names = (categories,) if isinstance(categories, str) else categories
    names = () if names is None else tuple(names) if isinstance(names, Sequence) else (None,)
    if not all(isinstance(name, str) for name in names):
        raise SettingError("categories= does not name columns; give a name, or a list of names")
    if names and like is not None:
        raise SettingError("like= tells which columns are categories; leave categories= out")
    if unseen not in (None, *UNSEEN):
        raise SettingError(f"unseen={unseen!r} is unknown; give one of {', '.join(UNSEEN)}")
    return CodingRules(names, like, unseen)


def refuse_other_names(rules: CodingRules, given: Mapping[str, Sequence[Given]]) -> None:
    """Raise `SettingError` for categories that are not columns of observations."""
    known = [column.name for columns in given.values() for column in columns]
    if other := [name for name in rules.categories if name not in known]:
        raise SettingError(f"categories= names {other[0]}, and observations are {listing(known)}; name one of these")


def code_observations(
    given: Mapping[str, Sequence[Given]], rules: CodingRules
) -> tuple[dict[str, list[np.ndarray]], Coding | None] | None:
    """Return the columns of `ROLES` as numbers, and their coding; None if all of them are numbers that need none.

    The coding is None where text spelled nothing but numbers and truth values.
    """
    columns = [column for role in ROLES for column in given.get(role, ())]
    if rules.like is None and not any(c.name in rules.categories or needs_coding(_kind(c)) for c in columns):
        return None
    observed, following = given["observation"], given.get("next_observation")
    if following is not None and len(following) != len(observed):
        raise LogError(
            f"observation has {counted(len(observed), 'column')} and next_observation {len(following)}; give both the "
            "same, in one order"
        )
    pairs = list(zip(observed, following, strict=True)) if following is not None else [(one,) for one in observed]
    if rules.like is not None and len(pairs) != len(rules.like.columns):
        raise LogError(
            f"observation has {counted(len(pairs), 'column')}, and the log it is to be coded like has "
            f"{len(rules.like.columns)}; give {listing(rules.like.names)}"
        )
    unseen = rules.unseen or ("error" if rules.like is None else rules.like.unseen)
    coded: dict[str, list[np.ndarray]] = {role: [] for role in ROLES if role in given}
    found = []
    for at, pair in enumerate(pairs):  # one after the other, since a column of text is large
        arrays = [plain_array(column.values) for column in pair]
        found.append(_recognized(pair, arrays, rules) if rules.like is None else rules.like.columns[at])
        for role, column, array in zip(coded, pair, arrays, strict=True):
            coded[role].append(_coded(column, array, found[-1], unseen))
    coding = Coding(tuple(found), unseen)
    return coded, coding if rules.like is not None or any(map(_is_coded, coding.columns)) else None


def code_given(given: Mapping[str, Any]) -> tuple[dict[str, Any], Coding | None, tuple[str, ...] | None]:
    """Return observations of `Log.from_columns` that are not numbers as numbers, their coding and their names.

    A mapping has a column under each name. Whatever needs no coding is left out of the dict that is returned.
    """
    roles = [role for role in ROLES if role in given]
    mappings = [isinstance(given[role], Mapping) for role in roles]
    if any(mappings) and not all(mappings):
        raise SettingError("observation and next_observation must both be mappings of columns, or both be arrays")
    if "observation" not in given or not (all(mappings) or any(_is_not_numeric(role, given[role]) for role in roles)):
        return {}, None, None
    if all(mappings):
        columns = {role: _of_mapping(role, given[role], given["observation"]) for role in roles}
    else:
        columns = {role: _of_array(role, given[role]) for role in roles}
    _refuse_unequal_lengths([column for role in roles for column in columns[role]])
    coded, coding = code_observations(columns, CodingRules()) or (_as_logged(columns), None)
    names = [column.name for column in columns["observation"]]
    arrays = {role: stacked(dict(zip(names, coded[role], strict=True))) for role in roles}
    return arrays, coding, tuple(names) if all(mappings) else None


def _as_logged(columns: Mapping[str, Sequence[Given]]) -> dict[str, list[np.ndarray]]:
    return {
        role: [as_logged(column.name, column.title, plain_array(column.values)) for column in parts]
        for role, parts in columns.items()
    }


def _refuse_unequal_lengths(columns: Sequence[Given]) -> None:
    if len({len(column.values) for column in columns}) > 1:
        lengths = listing([f"{column.title} {len(column.values):,}" for column in columns])
        raise LogError(f"columns differ in length: {lengths}; give each one value a row", "lengths")


def _recognized(pair: Sequence[Given], arrays: Sequence[Any], rules: CodingRules) -> ColumnCoding:
    parts = {column.title: array for column, array in zip(pair, arrays, strict=True)}
    return recognize(pair[0].name, parts, any(column.name in rules.categories for column in pair))


def _coded(column: Given, array: Any, coding: ColumnCoding, unseen: str) -> np.ndarray:
    numbers = coded_values(coding, column.title, array, unseen)
    if numbers.ndim > 1:
        raise LogError(f"{column.title} holds lists, beside columns that are coded; give each of its entries a column")
    return numbers


def _is_coded(column: ColumnCoding) -> bool:
    return column.kind not in NUMBERS and (column.kind, column.labels) != ("truth", FALSE_TRUE)


def _kind(column: Given) -> Any:
    """Return the Arrow type of a column's values, of what categories are if they are not text."""
    import pyarrow as pa

    kind = column.values.type
    if is_period(kind):
        refuse_other_periods(column.title, kind)
        return pa.date32()
    if is_category(kind):
        return pa.large_string()
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    return kind.value_type if pa.types.is_run_end_encoded(kind) or pa.types.is_dictionary(kind) else kind


def _is_not_numeric(role: str, values: Any) -> bool:
    """True for text and dates, alone or among other objects."""
    array = as_array(role, values)
    if array.dtype == object:
        return any(isinstance(item, str | date | time | timedelta) for item in array.flat)
    return array.dtype.kind in "UMm"


def _of_mapping(role: str, columns: Mapping[str, Any], names: Mapping[str, Any]) -> list[Given]:
    if not columns or set(columns) != set(names) or not all(isinstance(name, str) for name in columns):
        raise SettingError(f"{role} must have a column for each of {listing([str(name) for name in names])}")
    titles = {name: f"{role} column {name}" for name in names}
    return [Given(name, titles[name], values_to_arrow(titles[name], columns[name])) for name in names]


def _of_array(role: str, values: Any) -> list[Given]:
    array = as_array(role, values)
    if array.ndim == 1:
        return [Given(role, role, values_to_arrow(role, values))]
    flat = array.reshape(len(array), -1)
    names = [f"{role}_{entry}" for entry in range(flat.shape[1])]
    return [Given(name, name, values_to_arrow(name, flat[:, entry].tolist())) for entry, name in enumerate(names)]
