"""How observations are coded as numbers: one coding for each column, applied to new rows, and read back as values."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import LogError, SettingError
from understudy.logs.arrays import common_dtype
from understudy.logs.arrow_columns import values_to_arrow
from understudy.logs.arrow_streams import load_object
from understudy.logs.coded_values import coded_values
from understudy.logs.column_coding import ColumnCoding
from understudy.logs.labels import listing
from understudy.logs.texts import plain_array
from understudy.tables import arrow_table

if TYPE_CHECKING:
    import pyarrow as pa

UNSEEN = ("error", "other")
FORMS = ("codes", "one-hot")
MOST_BYTES = 2**31
"""The largest matrix of one-hot columns, 2 GiB: a million rows of 268 columns."""

TYPES = {"column": "string", "kind": "string", "code": "int64", "label": "string", "origin": "string", "unit": "string"}


@dataclass(frozen=True, repr=False)
class Coding:
    """How observations are coded as numbers.

    >>> page = ColumnCoding("page", "category", labels=("cart", "home"))
    >>> coding = Coding((page, ColumnCoding("age", "integer")))
    >>> coding.encode([("home", 31), ("cart", 20)])
    array([[ 1, 31],
           [ 0, 20]])
    >>> coding.words(np.array([1, 31]))
    {'page': 'home', 'age': '31'}
    """

    columns: tuple[ColumnCoding, ...]
    unseen: str = "error"  # what becomes of a category that has no label: an error, or the code after the last label
    form: str = "codes"  # of observations: a number for each column, or "one-hot", a column for each label

    def __post_init__(self) -> None:
        if self.unseen not in UNSEEN:
            raise SettingError(f"unseen={self.unseen!r} is unknown; give one of {', '.join(UNSEEN)}")
        if self.form not in FORMS:
            raise SettingError(f"coding={self.form!r} is unknown; give one of {', '.join(FORMS)}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def features(self) -> tuple[str, ...]:
        """The name of each entry of an observation; one-hot there is one for each label, such as `country=FR`."""
        if self.form == "codes":
            return self.names
        return tuple(name for column in self.columns for name in _entries(column))

    @property
    def n_observations(self) -> int | None:
        """How many observations there can be, where one is a single code; else None."""
        if len(self.columns) > 1 or self.form != "codes" or self.columns[0].n_codes is None:
            return None
        return self.columns[0].n_codes + (self.unseen == "other" and self.columns[0].kind == "category")

    def encode(self, rows: Any, unseen: str | None = None) -> np.ndarray:
        """Return observations from raw values, coded like those of the log.

        `rows` is a table (pandas, polars, Arrow) or a mapping that has the columns under their names, or a list of
        rows, each a sequence of values in the order of the columns, or a mapping; of one column, a list of its values.

        A category that the log does not have raises `LogError`, or, where `unseen` (or else the coding) says "other",
        gets the code after the last label; one-hot it is 0 in all columns of its labels. Numbers and dates need no
        such rule.
        """
        unseen = self.unseen if unseen is None else Coding(self.columns, unseen).unseen
        given = self._columns_of(rows)
        arrays = [plain_array(given[name]) for name in self.names]
        coded = [
            coded_values(column, column.name, array, unseen) for column, array in zip(self.columns, arrays, strict=True)
        ]
        codes = stacked(dict(zip(self.names, coded, strict=True)))
        return codes if self.form == "codes" else self._matrix(codes.reshape(len(codes), -1))

    def decode(self, observations: Any) -> "pa.Table":
        """Return observations as the values that they were coded from, an Arrow table with their columns."""
        import pyarrow as pa

        codes = self._codes(observations)
        return pa.table([column.values(codes[:, at]) for at, column in enumerate(self.columns)], names=list(self.names))

    def one_hot(self, observations: Any) -> np.ndarray:
        """Return a design matrix for linear learners, float64: of each category a column of 0 and 1 for each label.

        Numbers, truth values and dates are a column each. A category without a label is 0 in all of its columns.
        """
        return self._matrix(self._codes(observations))

    def words(self, observation: Any) -> dict[str, str]:
        """Return one observation as the name and value of each column, for people."""
        codes = self._codes(np.asarray(observation)[None])[0]
        return {column.name: column.word(code) for column, code in zip(self.columns, codes, strict=True)}

    def accepts(self, observations: np.ndarray) -> bool:
        """True if these can be observations of this coding: in their shape, and in the codes of their labels."""
        if math.prod(observations.shape[1:]) != len(self.features):
            return False
        if self.form == "one-hot":
            return True
        codes = self._codes(observations)
        most = [np.inf if c.n_codes is None else c.n_codes - (c.kind == "truth") for c in self.columns]
        labeled = np.array([column.n_codes is not None for column in self.columns])
        fits = (codes >= 0) & (codes <= most) & (codes == np.floor(codes))
        return bool(fits[:, labeled].all())

    def to_json(self) -> dict[str, Any]:
        """Return the coding as a dict of plain values."""
        return {"columns": [column.to_json() for column in self.columns], "unseen": self.unseen, "form": self.form}

    @classmethod
    def from_json(cls, known: Any) -> "Coding":
        """Return the coding that `to_json` described. Raise an error of Python's, or `SettingError`, for anything else.

        >>> coding = Coding((ColumnCoding("age", "integer"),))
        >>> Coding.from_json(coding.to_json()) == coding
        True
        """
        columns = tuple(ColumnCoding.from_json(column) for column in known["columns"])
        if not columns:
            raise ValueError("not a coding")
        return cls(columns, known["unseen"], known["form"])

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table: a line for each label of a column, or one for a column without labels."""
        lines = [
            (column.name, column.kind, code, label, column.origin, column.unit)
            for column in self.columns
            for code, label in (enumerate(column.labels) if column.labels else [(None, None)])
        ]
        return arrow_table(dict(zip(TYPES, map(list, zip(*lines, strict=True)), strict=True)), TYPES)

    def __str__(self) -> str:
        form = "" if self.form == "codes" else " (one-hot)"
        return "; ".join(map(str, self.columns)) + form

    __repr__ = __str__

    def _columns_of(self, rows: Any) -> dict[str, Any]:
        """Return an Arrow column for each column of the coding."""
        if not isinstance(rows, Sequence | np.ndarray | Mapping) and np.ndim(rows) == 1:
            rows = list(rows)  # a column of a frame
        if not isinstance(rows, Sequence | np.ndarray):
            table = load_object(rows)
            if missing := [name for name in self.names if name not in table.column_names]:
                raise LogError(f"there is no column {missing[0]}; give {listing(self.names)}")
            return {name: table.column(name) for name in self.names}
        if not len(rows):
            raise LogError("there are no rows; give at least one")
        values = [rows] if len(self.columns) == 1 and not _are_rows(rows) else self._columns_of_rows(rows)
        return {name: values_to_arrow(name, column) for name, column in zip(self.names, values, strict=True)}

    def _columns_of_rows(self, rows: Iterable[Any]) -> list[list[Any]]:
        listed = [[row.get(name) for name in self.names] if isinstance(row, Mapping) else row for row in rows]
        for at, row in enumerate(listed):
            if isinstance(row, str) or not isinstance(row, Sequence | np.ndarray) or len(row) != len(self.columns):
                raise LogError(
                    f"row {at} does not have {len(self.columns)} values; give rows of {listing(self.names)}, in this "
                    "order"
                )
        return [list(column) for column in zip(*listed, strict=True)]

    def _matrix(self, codes: np.ndarray) -> np.ndarray:
        """Return the one-hot form of codes, (N, columns)."""
        [codes, _] = common_dtype({"observation": codes, "one-hot": np.zeros(1)})
        widths = [_width(column) for column in self.columns]
        widest = max(self.columns, key=_width)
        refuse_large_matrix(len(codes), sum(widths), widest.name, _width(widest))
        matrix = np.zeros((len(codes), sum(widths)))
        begin = 0
        for at, (column, width) in enumerate(zip(self.columns, widths, strict=True)):
            if column.kind == "category":
                rows = np.flatnonzero((codes[:, at] >= 0) & (codes[:, at] < width))
                matrix[rows, begin + codes[rows, at].astype(np.int64)] = 1.0
            else:
                matrix[:, begin] = codes[:, at]
            begin += width
        return matrix

    def _codes(self, observations: Any) -> np.ndarray:
        """Return the codes of observations in either form, (N, columns)."""
        given = np.asarray(observations)
        flat = given.reshape(len(given), -1)
        if flat.shape[1] != len(self.features):
            raise SettingError(
                f"an observation has {flat.shape[1]} entries, and the coding {len(self.features)}; give observations "
                "of its log"
            )
        if self.form == "codes":
            return flat
        codes = np.empty((len(flat), len(self.columns)))
        begin = 0
        for at, column in enumerate(self.columns):
            block = flat[:, begin : begin + _width(column)]
            labeled = column.kind == "category"
            codes[:, at] = np.where(block.any(axis=1), block.argmax(axis=1), block.shape[1]) if labeled else block[:, 0]
            begin += _width(column)
        return codes


def stacked(parts: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return columns side by side in one dtype that holds all of them; one column alone as it is, (N,)."""
    columns = common_dtype(parts)
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)


def refuse_large_matrix(n_rows: int, n_columns: int, name: str, n_values: int) -> None:
    """Raise `SettingError` for a one-hot matrix above `MOST_BYTES`, with the column that has the most values."""
    needed = 8 * n_rows * n_columns
    if needed > MOST_BYTES:
        raise SettingError(
            f"one-hot, {n_rows:,} rows of {n_columns:,} columns need {needed / 2**30:.1f} GiB, and "
            f"{MOST_BYTES / 2**30:g} GiB are the most: {name} alone has {n_values:,} values; group its rare values, "
            "hash them into fewer, or leave the column out"
        )


def _width(column: ColumnCoding) -> int:
    return len(column.labels) if column.kind == "category" else 1


def _entries(column: ColumnCoding) -> list[str]:
    labels = column.labels if column.kind == "category" else ()
    return [f"{column.name}={label}" for label in labels] or [column.name]


def _are_rows(values: Sequence[Any] | np.ndarray) -> bool:
    """True if the first of these is a row, not a value of a column."""
    return isinstance(values[0], Mapping | list | tuple | np.ndarray)
