"""Tables: cells that people read, written as HTML, and columns that pandas and polars take, as Arrow."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import TYPE_CHECKING, Any

from understudy.digits import digits

if TYPE_CHECKING:
    import pyarrow as pa

NONE = "\N{EN DASH}"
"""The text of a cell without a value."""


def rounded(value: float | None, digits: int) -> str:
    """Return a number with this many decimals; a dash where there is none.

    >>> rounded(1234.567, 1), rounded(None, 1)
    ('1,234.6', '–')
    """
    return NONE if value is None or not isfinite(value) else f"{value:,.{digits}f}"


@dataclass(frozen=True)
class Column:
    """The heading of a column, and how its cells are shown. Neighboring columns of one group share a heading above."""

    name: str
    numeric: bool = True  # aligned to the right
    group: str = ""
    is_severity: bool = False  # cells are "error", "doubt", "warning" or "note", and colored so on a page


@dataclass(frozen=True)
class Table:
    """Cells as text, the values behind them, and notes to be read with them. The first cell of a row is its name."""

    title: str
    headings: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    values: tuple[tuple[Any, ...], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of each column."""
        return tuple(column.name for column in self.headings)

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The name of each group and how many columns it spans, "" for no group; empty where no column has one."""
        spans: list[tuple[str, int]] = []
        for column in self.headings:
            if spans and spans[-1][0] == column.group:
                spans[-1] = (column.group, spans[-1][1] + 1)
            else:
                spans.append((column.group, 1))
        return spans if any(name for name, _ in spans) else []

    def to_html(self, headline: int | None = None) -> str:
        """Return the table and its notes as HTML, without the title; `headline` is a column to stress.

        All text is escaped. Classes are those of the report's style sheet, and do nothing elsewhere.

        >>> print(Table("", (Column("", numeric=False), Column("steps")), (("a < b", "12"),)).to_html())
        <div class="scroll">
        <table>
        <thead>
        <tr><th scope="col"></th><th scope="col" class="number">steps</th></tr>
        </thead>
        <tbody>
        <tr><th scope="row">a &lt; b</th><td class="number">12</td></tr>
        </tbody>
        </table>
        </div>
        """
        lines = ['<div class="scroll grouped">' if self.groups else '<div class="scroll">', "<table>"]
        if any(self.columns):
            lines += ["<thead>", *self._group_line(), _line(self._heading_cells()), "</thead>"]
        lines += ["<tbody>", *(_line(self._cells(row, headline)) for row in self.rows), "</tbody>"]
        lines += ["</table>", "</div>"]
        if self.notes:
            lines += ['<div class="notes">', *(f"<p>{escape(note)}</p>" for note in self.notes), "</div>"]
        return "\n".join(lines).encode("utf-8", "replace").decode("utf-8")  # names may hold lone surrogates

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.title)}</p>\n{self.to_html()}"

    def _group_line(self) -> list[str]:
        """Return the line of headings above the headings, where there are groups."""
        cells = [
            f'<th colspan="{span}"{_classes("over first-of-group" if name else "")}>'
            + (f"<span>{escape(name)}</span>" if name else "")
            + "</th>"
            for name, span in self.groups
        ]
        return [_line(cells, "groups")] if cells else []

    def _heading_cells(self) -> Iterable[str]:
        for place, column in enumerate(self.headings):
            classes = _classes("number" if column.numeric else "", self._first_of_group(place))
            yield f'<th scope="col"{classes}>{escape(column.name)}</th>'

    def _cells(self, row: Sequence[str], headline: int | None) -> Iterable[str]:
        for place, (column, cell) in enumerate(zip(self.headings, row, strict=True)):
            kind = "number" if column.numeric else "" if column.group else "words"
            if column.is_severity:
                kind = f"severity {cell}"
            if place == 0:
                yield f'<th scope="row"{_classes(kind if column.is_severity else "")}>{escape(cell)}</th>'
            else:
                stressed = "headline" if place == headline else ""
                yield f"<td{_classes(kind, self._first_of_group(place), stressed)}>{escape(cell)}</td>"

    def _first_of_group(self, place: int) -> str:
        group = self.headings[place].group
        return "first-of-group" if group and group != self.headings[place - 1].group else ""


def record_table(title: str, record: Mapping[str, Any]) -> Table:
    """Return a table of one record: a line for each field, its name and its value.

    >>> record_table("", {"mean_error": 0.12345, "horizon": 1200, "verdict": None}).rows
    (('mean error', '0.1235'), ('horizon', '1,200'), ('verdict', '–'))
    """
    rows = tuple((name.replace("_", " "), _shown(value)) for name, value in record.items())
    return Table(title, (Column("", numeric=False), Column("")), rows, tuple(record.items()))


def arrow_table(columns: Mapping[str, Sequence[Any]], types: Mapping[str, str]) -> "pa.Table":
    """Return an Arrow table of these columns, each of the type named (by `pyarrow.type_for_alias`), None as null.

    Types are given, not guessed, so that tables of several results can be put under each other.

    >>> arrow_table({"steps": [3.0, None]}, {"steps": "float64"}).to_pydict()
    {'steps': [3.0, None]}
    """
    import pyarrow as pa

    return pa.table({name: pa.array(values, pa.type_for_alias(types[name])) for name, values in columns.items()})


def _shown(value: Any) -> str:
    if value is None or value == "":
        return NONE
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {_shown(one)}" for name, one in value.items())
    if isinstance(value, tuple | list):
        return f" {NONE} ".join(map(_shown, value))
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return digits(value, 4) if isinstance(value, float) else str(value)


def _line(cells: Iterable[str], kind: str = "") -> str:
    return f"<tr{_classes(kind)}>{''.join(cells)}</tr>"


def _classes(*names: str) -> str:
    """Return the class attribute of a tag, "" where all names are empty."""
    text = " ".join(filter(None, names))
    return f' class="{escape(text)}"' if text else ""
