"""Findings about a log, and the audit that lists them."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import visible
from understudy.tables import Column, Table, arrow_table

if TYPE_CHECKING:
    import pyarrow as pa

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """One problem or remark about a log: the rule, the rows, and a sentence that ends in advice."""

    severity: str  # one of SEVERITIES; simulators refuse a log that has an error
    rule: str
    rows: tuple[int, ...]  # the first few of them
    count: int  # how many rows, or whatever else the sentence counts
    sentence: str

    def __str__(self) -> str:
        return visible(f"{self.severity}: {self.rule}: {self.sentence}")


@dataclass(frozen=True, repr=False)
class Audit:
    """The findings about a log, errors first. Counts are None where no log could be made.

    >>> Audit((), n_rows=20, n_episodes=2, n_actions=4)
    20 rows, 2 episodes, 4 actions: nothing found
    """

    findings: tuple[Finding, ...]
    n_rows: int | None = None
    n_episodes: int | None = None
    n_actions: int | None = None

    @property
    def ok(self) -> bool:
        """True if no finding is an error, so that simulators accept the log."""
        return all(finding.severity != "error" for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the audit as a dictionary of plain types."""
        return {"ok": self.ok, **asdict(self), "findings": [_as_dict(finding) for finding in self.findings]}

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table with a line for each finding: severity, rule, count, rows (the first few), sentence."""
        import pyarrow as pa

        types = {"severity": "string", "rule": "string", "count": "int64", "sentence": "string"}
        frame = arrow_table({name: [getattr(one, name) for one in self.findings] for name in types}, types)
        rows = pa.array([list(one.rows) for one in self.findings], pa.list_(pa.int64()))
        return frame.add_column(3, "rows", rows)

    def to_table(self) -> Table:
        """Return the findings as a table for people."""
        headings = (
            Column("severity", numeric=False, is_severity=True),
            Column("rule", numeric=False),
            Column("what was found", numeric=False),
        )
        rows = tuple((one.severity, one.rule, one.sentence) for one in self.findings)
        return Table(str(self).split("\n")[0], headings, rows)

    def _repr_html_(self) -> str:
        return self.to_table()._repr_html_()

    def __str__(self) -> str:
        title = "no log could be made"
        if self.n_rows is not None and self.n_episodes is not None and self.n_actions is not None:
            counts = {"row": self.n_rows, "episode": self.n_episodes, "action": self.n_actions}
            title = ", ".join(counted(number, noun) for noun, number in counts.items())
        if not self.findings:
            return f"{title}: nothing found"
        return "\n".join([title, *(f"  {finding}" for finding in self.findings)])

    __repr__ = __str__


def counted(number: int, noun: str) -> str:
    """Return a number with the noun it counts.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"


def errors_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings sorted by severity; those of one severity keep their order."""
    return tuple(sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)))


def finding_in_rows(severity: str, rule: str, rows: np.ndarray, sentence: str) -> Finding:
    """Return a finding in these rows; "{where}" in the sentence becomes how many they are, and which.

    >>> finding_in_rows("error", "missing", np.array([4, 9]), "reward is NaN {where}; drop them").sentence
    'reward is NaN in 2 rows (4, 9); drop them'
    """
    some = tuple(rows[:5].tolist())
    if len(rows) == 1:
        where = f"in row {some[0]}"
    else:
        where = f"in {len(rows):,} rows ({', '.join(map(str, some))}{', ...' if len(rows) > len(some) else ''})"
    return Finding(severity, rule, some, len(rows), sentence.replace("{where}", where))


def _as_dict(finding: Finding) -> dict[str, Any]:
    return {**asdict(finding), "rows": list(finding.rows)}
