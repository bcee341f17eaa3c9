"""Named features, of which a row has some and not others, as columns of a table."""

from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.logs.arrays import EXACT

Value = float | int | str
Features = Iterable[tuple[str, Value]]

MOST_FEATURES = 1000
"""The most different features: each is a column, with a value in every row."""

ABSENT = "(none)"
"""The text in rows that do not have a feature whose values are text. A number that a row does not have is 0."""


class FeatureColumns:
    """Features collected row by row.

    A number that occurs twice in a row is added up, as Vowpal Wabbit does.

    >>> columns = FeatureColumns()
    >>> columns.add(0, 1, [("page", "home"), ("age", 31)])
    >>> columns.add(1, 2, [("age", 0.5), ("age", 1)])
    >>> {name: column.to_pylist() for name, column in columns.to_arrow(n_rows=2).items()}
    {'page': ['home', '(none)'], 'age': [31.0, 1.5]}
    """

    def __init__(self) -> None:
        self._numbers: dict[str, _Numbers] = {}
        self._texts: dict[str, _Texts] = {}
        self._names: dict[str, None] = {}  # in order of appearance

    def add(self, row: int, line: int, features: Features) -> None:
        """Add the features of a row, which come in the order of rows; `line` is where the file has them."""
        for name, value in features:
            columns: Any = self._texts if isinstance(value, str) else self._numbers
            column = columns.get(name)
            if column is None:
                column = columns[name] = self._new_column(name, line, value)
            column.add(row, line, name, value)

    def _new_column(self, name: str, line: int, value: Value) -> "_Numbers | _Texts":
        if name in self._names:
            kind, other = ("text", "a number") if isinstance(value, str) else ("a number", "text")
            raise LogError(f"the feature {name} is {kind} in line {line} and {other} before; make it one of them")
        if len(self._names) == MOST_FEATURES:
            raise LogError(
                f"there are more than {MOST_FEATURES:,} different features by line {line}; keep those that matter, or "
                "write texts that take many values as name=value, which is one feature"
            )
        self._names[name] = None
        return _Texts() if isinstance(value, str) else _Numbers()

    @property
    def names(self) -> list[str]:
        """The names of the features, in order of appearance."""
        return list(self._names)

    def to_arrow(self, n_rows: int) -> dict[str, Any]:
        """Return a column for each feature."""
        return {name: (self._texts.get(name) or self._numbers[name]).to_arrow(n_rows) for name in self._names}


class _Numbers:
    """Numbers of some rows."""

    def __init__(self) -> None:
        self.rows, self.values, self.whole = array("q"), array("d"), True

    def add(self, row: int, line: int, name: str, value: float | int) -> None:
        if isinstance(value, int) and abs(value) > EXACT:
            raise LogError(f"the feature {name} is {value} in line {line}, which would be rounded; write it as text")
        self.whole = self.whole and isinstance(value, int)
        if self.rows and self.rows[-1] == row:
            self.values[-1] += value
        else:
            self.rows.append(row)
            self.values.append(value)

    def to_arrow(self, n_rows: int) -> Any:
        import pyarrow as pa

        column = np.zeros(n_rows, np.int64 if self.whole else np.float64)
        column[np.frombuffer(self.rows, np.int64)] = np.frombuffer(self.values)
        return pa.array(column)


class _Texts:
    """Texts of some rows, each distinct one kept once."""

    def __init__(self) -> None:
        self.rows, self.codes, self.code = array("q"), array("q"), {ABSENT: 0}

    def add(self, row: int, line: int, name: str, value: str) -> None:
        if self.rows and self.rows[-1] == row:
            raise LogError(
                f"the feature {name} has two values in line {line}; keep one, or write them as features of their own, "
                "without ="
            )
        self.rows.append(row)
        self.codes.append(self.code.setdefault(value, len(self.code)))

    def to_arrow(self, n_rows: int) -> Any:
        import pyarrow as pa

        codes = np.zeros(n_rows, np.int64)
        codes[np.frombuffer(self.rows, np.int64)] = np.frombuffer(self.codes, np.int64)
        return pa.array(list(self.code), pa.large_string()).take(pa.array(codes))
