"""Which columns of a table hold which column of a log."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations
from typing import Any

import numpy as np

from understudy.errors import LogError, SettingError
from understudy.logs.arrays import short_repr
from understudy.logs.arrow_columns import DEEPEST
from understudy.logs.columns import REQUIRED
from understudy.logs.labels import listing

Names = str | Sequence[str] | None

SPREADABLE = ("observation", "next_observation", "propensity")
"""The columns of a log that may be spread over several columns of a table."""

BY_VALUE = ("terminated", "truncated")
"""The columns of a log that may be given as a column and the values of it that mean yes: `terminated="end=left"`."""

MAY_SHARE = (
    {"observation", "next_observation"}, {"observation", "step"}, {"next_observation", "step"},
    {"observation", "episode"}, {"next_observation", "episode"},
)  # fmt: skip
"""Columns of a log that may come from one column of a table; what is observed is known before action and outcome."""


@dataclass(frozen=True)
class Selection:
    """The columns of a table that hold one column of a log."""

    role: str  # which column of the log
    names: tuple[str, ...]
    stacked: bool = False  # each column is one entry of an array
    numbered: bool = False  # the names are like `observation_0_3`, and their numbers tell where each entry goes
    values: tuple[str, ...] = ()  # of the column that mean yes, where it does not hold truth values

    def title(self, name: str) -> str:
        """Return what a message calls one of the columns."""
        return self.role if name == self.role else f"{self.role} column {name}"

    def shaped(self, stacked: np.ndarray) -> np.ndarray:
        """Return columns that are side by side, (N, names, ...), with each entry where the number in its name says."""
        if not self.numbered:
            return stacked
        indices = [_indices(self.role, name) for name in self.names]
        shape = tuple(max(index) + 1 for index in zip(*indices, strict=False))
        distinct = len(set(map(len, indices))) == 1 and len(set(indices)) == len(indices)
        if not distinct or math.prod(shape) != len(indices) or len(shape) > DEEPEST:
            raise LogError(
                f"{listing(self.names)} do not fill an array of shape {short_repr(shape)}; name the columns with "
                f"{self.role}="
            )
        return stacked.reshape(len(stacked), *shape, *stacked.shape[2:])


def select(table: Any, wanted: Mapping[str, Names]) -> dict[str, Selection]:
    """Return the selection of each column of a log; `wanted` has the names that were given, or None, for each.

    Without a given name, a column is found under its own name, or under `observation_0, observation_1, ...`; one that
    is not required may be missing.
    """
    _refuse_missing(table, wanted)
    selections = {role: _select(table, role, names) for role, names in wanted.items()}
    found = {role: selection for role, selection in selections.items() if selection is not None}
    for one, other in combinations(found, 2):
        by_values = bool(found[one].values and found[other].values)  # one column tells how episodes ended
        if (
            not by_values
            and {one, other} not in MAY_SHARE
            and (both := set(found[one].names) & set(found[other].names))
        ):
            raise SettingError(
                f"the column {min(both)} is named as {one} and as {other}; name another column for one of them"
            )
    return found


def _refuse_missing(table: Any, wanted: Mapping[str, Names]) -> None:
    """Raise `LogError` where two or more columns are missing, and name all: one by one would take as many tries."""
    missing = {role: name for role, names in wanted.items() for name in _missing(table, role, names)}
    if len(missing) < 2:
        return  # said with more words about it
    hints = []
    for role, name in missing.items():
        close = get_close_matches(name, table.column_names, n=1)
        hints.append(f"{name} may be {close[0]}" if close else f"say {role}= which {name} is")
    raise LogError(
        f"there are no columns {', '.join(missing.values())}: the columns are {listing(table.column_names)}; "
        f"{', '.join(hints)}"
    )


def _missing(table: Any, role: str, names: Any) -> list[str]:
    """Return the name of a column of this role that the table does not have, the first of several; [] for none."""
    if names is None:
        names = [role] if role in REQUIRED and not _spread_columns(table, role) else []
    names = [names] if isinstance(names, str) else names if isinstance(names, list | tuple) else []
    there = [name.strip() for name in table.column_names]
    absent = [name for name in names if isinstance(name, str) and name.strip() not in there]
    return [] if role in BY_VALUE and "=" in "".join(absent) else absent[:1]


def _spread_columns(table: Any, role: str) -> list[str]:
    """Return the columns that are named `observation_0_3`, and so on."""
    return [name for name in table.column_names if re.fullmatch(rf"{role}(_[0-9]{{1,9}})+", name)]


def _select(table: Any, role: str, wanted: Names) -> Selection | None:
    if wanted is not None:
        if role in BY_VALUE and isinstance(wanted, str) and wanted not in table.column_names and "=" in wanted:
            name, values = _column_and_values(table.column_names, wanted)
            return Selection(role, tuple(checked_names(table, role, name)), values=values)
        names = checked_names(table, role, wanted)
        if len(set(names)) < len(names) and role != "propensity":  # equal propensities may be in one column
            raise SettingError(f"{role} names {max(names, key=names.count)} more than once; name each column once")
        if len(names) > 1 and role not in SPREADABLE:
            raise SettingError(f"{role} is one column, not {len(names)}; name one")
        return Selection(role, tuple(names), stacked=role in SPREADABLE and not isinstance(wanted, str))
    if role in table.column_names:
        return Selection(role, tuple(checked_names(table, role, role)))
    spread = _spread_columns(table, role)
    if spread and role in SPREADABLE:
        names = checked_names(table, role, sorted(spread, key=lambda name: _indices(role, name)))
        return Selection(role, tuple(names), stacked=True, numbered=True)
    if role in REQUIRED:
        raise _no_such_column(table, role, role)
    return None


def _column_and_values(names: Sequence[str], wanted: str) -> tuple[str, tuple[str, ...]]:
    """Return the column and the values that `column=value,value` means; names of columns may have signs of equality.

    >>> _column_and_values(["end"], "end=left,bought")
    ('end', ('left', 'bought'))
    """
    parts = wanted.split("=")
    splits = [("=".join(parts[:at]), "=".join(parts[at:])) for at in range(1, len(parts))]
    name, values = next((split for split in splits if split[0] in names), splits[0])
    return name, tuple(values.split(","))


def checked_names(table: Any, role: str, wanted: Any) -> list[str]:
    """Return the given name or names as a list. Raise unless the table has exactly one column of each name."""
    wanted = wanted.values() if isinstance(wanted, Mapping) else wanted
    wanted = [wanted] if isinstance(wanted, str) or not isinstance(wanted, Iterable) else list(wanted)
    if not all(isinstance(name, str) for name in wanted):
        raise SettingError(f"{role}={short_repr(wanted)} does not name columns; give a name, or a list of names")
    if not wanted:
        raise SettingError(f"{role}=[] names no column; leave it out, or name one")
    count = Counter(table.column_names)
    for name in wanted:
        if count[name] != 1:
            raise _no_such_column(table, role, name)
    return wanted


def _no_such_column(table: Any, role: str, name: str) -> LogError:
    """Return the error for a name that no column has, or more than one."""
    names = table.column_names
    if name in names:
        return LogError(f"there are {names.count(name)} columns named {name}; rename all but one")
    if spaced := [other for other in names if other.strip() == name.strip()]:
        return LogError(f"there is no column {name}: it is named {spaced[0]!r}, with spaces; remove them from the name")
    close = get_close_matches(name, names, n=1)
    which = "reward= which it is, or cost= where less is better" if role == "reward" else f"{role}= which it is"
    hint = f"did you mean {close[0]}?" if close else f"say {which}"
    return LogError(f"there is no column {name}: the columns are {listing(names)}; {hint}")


def _indices(role: str, name: str) -> tuple[int, ...]:
    """Return the numbers in a name such as `observation_0_3`."""
    return tuple(int(index) for index in name.removeprefix(role).split("_")[1:])


def names_of_features(selection: Selection, stored: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the names of the columns that observations come from; None if they are `observation`, or numbered so.

    A file that we wrote has the one column `observation`; the names it had before are `stored` in its metadata.
    """
    if stored is not None and selection.names == ("observation",):
        return tuple(stored)
    numbered = all(re.fullmatch(r"observation(_\d+)*", name) for name in selection.names)
    return None if numbered else selection.names
