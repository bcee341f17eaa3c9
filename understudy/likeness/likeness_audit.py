"""The result of auditing a likeness: by how much like rows differ, by radius."""

from dataclasses import asdict, dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from understudy.digits import digits, percent
from understudy.likeness.rule import LEADS_SHARE, LEAST_LIKE, NOISE_SHARE, VALUE_SHARE
from understudy.tables import NONE, Column, Table, arrow_table

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERS = (
    "radius",
    "like_share",
    "like_states",
    "reward",
    "reward_upper",
    "end",
    "end_upper",
    "value",
    "value_upper",
    "leads",
    "leads_upper",
)


@dataclass(frozen=True)
class RadiusAudit:
    """By how much rows of states within one radius differ from a row's own; NaN where it could not be told.

    Differences are root mean squares over rows, without the noise of single rows, each with the upper end of its
    one-sided 95% interval.
    """

    radius: float
    like_share: float  # of the rows have a row with their action in a like state
    like_states: float  # how many, on average over rows
    reward: float
    reward_upper: float
    end: float  # of the probability that the episode ends
    end_upper: float
    value: float  # in shares of the range of values
    value_upper: float
    leads: float  # of values of random rewards, each in shares of its own range
    leads_upper: float


@dataclass(frozen=True, repr=False)
class LikenessAudit:
    """By how much like rows differ, by radius, and what follows from it by the rule of `likeness.audit`."""

    likeness: str
    n_rows: int
    n_episodes: int
    discount: float
    value_range: float  # between the 5% and the 95% quantile over rows
    lines: tuple[RadiusAudit, ...]
    radius: float | None  # within which like states may lend rows; None where they should not
    noise: float  # standard deviation of the value within one state and action, in shares of the range
    noise_upper: float
    repeated_share: float  # of the rows have another one of the same state and action
    reuse: bool  # True if rows may be served again
    repeats: bool  # True if most observations repeat

    @property
    def sentence(self) -> str:
        """What follows, in words."""
        return f"{self._like_sentence}; {self._reuse_sentence}"

    @property
    def _like_sentence(self) -> str:
        if self.radius is not None:
            line = next(line for line in self.lines if line.radius == self.radius)
            return (
                f"states within a distance of {digits(self.radius, 4)} may lend rows: their values differ by "
                f"{line.value:.1%} of the range of values (at most {line.value_upper:.1%}), and "
                f"{percent(line.like_share)} of the rows have a like row"
            )
        if not self.value_range > 0:
            return "no states should lend rows: all values are equal, so nothing tells which states are alike"
        if not self.lines:
            return "no states should lend rows: no two of them have a distance"
        line = self.lines[0]
        words = f"no states should lend rows: within a distance of {digits(line.radius, 4)},"
        if line.like_share < LEAST_LIKE:
            return f"{words} {percent(line.like_share)} of the rows have a like row, and {LEAST_LIKE:.0%} is the least"
        if not (isfinite(line.value_upper) and isfinite(line.leads_upper)):
            return f"{words} like rows are too few, or too noisy, to be compared"
        if line.value_upper >= VALUE_SHARE:
            found, limit = f"values may differ by {line.value_upper:.1%}", VALUE_SHARE
        else:
            found = f"rows lead elsewhere: values of random rewards may differ by {line.leads_upper:.0%}"
            limit = LEADS_SHARE
        return f"{words} {found} of their range, and {limit:.0%} is the limit"

    @property
    def _reuse_sentence(self) -> str:
        if not isfinite(self.noise_upper):
            return "rows should not be served again: nothing tells how much outcomes of a state and action vary"
        varies = f"the value after one state and action varies by {self.noise:.1%} (at most {self.noise_upper:.1%})"
        if self.reuse:
            return f"rows may be served again: {varies}"
        few = f", {percent(self.repeated_share)} of the rows tell" if self.noise_upper < NOISE_SHARE else ""
        return f"rows should not be served again: {varies}{few}, and {NOISE_SHARE:.0%} is the limit"

    @property
    def notes(self) -> list[str]:
        """What to know of the numbers, a sentence each."""
        if self.repeats:
            return []
        return ["observations hardly ever repeat: the noise of single rows is told from rows within half the radius"]

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a dict of plain values, None for what could not be told."""
        fields = {name: value for name, value in vars(self).items() if name != "lines"}
        plain = [fields, *(asdict(line) for line in self.lines)]
        fields, *lines = [
            {name: None if isinstance(x, float) and not isfinite(x) else x for name, x in one.items()} for one in plain
        ]
        return {**fields, "lines": lines}

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table with a line for each radius; what could not be told is null."""
        columns = {name: [line[name] for line in self.to_json()["lines"]] for name in NUMBERS}
        columns["chosen"] = [line.radius == self.radius for line in self.lines]
        return arrow_table(columns, dict.fromkeys(NUMBERS, "float64") | {"chosen": "bool"})

    def to_table(self) -> Table:
        """Return a table for people: a line for each radius."""
        headings = tuple(
            Column(name)
            for name in (
                "radius",
                "rows with like",
                "like states",
                "reward",
                "end",
                "value",
                "at most",
                "leads",
                "at most",
            )
        )
        rows = tuple(
            (
                digits(line.radius, 4), percent(line.like_share), f"{line.like_states:.1f}",
                _number(line.reward, ".3g"),
                _number(line.end, ".3f"), _number(line.value, ".1%"), _number(line.value_upper, ".1%"),
                _number(line.leads, ".0%"), _number(line.leads_upper, ".0%"),
            )
            for line in self.lines
        )  # fmt: skip
        title = f"{self.likeness}: {self.n_rows:,} rows of {self.n_episodes:,} episodes"
        return Table(title, headings, rows, notes=(self.sentence, *self.notes))

    def __str__(self) -> str:
        table = self.to_table()
        widths = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
        cells = [table.columns, *table.rows] if table.rows else []
        lines = ["  " + "  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in cells]
        marks = ["", *("  <- chosen" if line.radius == self.radius else "" for line in self.lines)]
        drawn = [line + mark for line, mark in zip(lines, marks, strict=False)]
        return "\n".join([table.title, f"  {self.sentence}", *drawn, *(f"  note: {note}" for note in self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.to_table()._repr_html_()


def _number(number: float, form: str) -> str:
    return format(number, form) if isfinite(number) else NONE
