"""Findings about a log, and the audit that lists them."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from understudy.errors import visible
from understudy.logs.blocks import SHOWN, FoundRows
from understudy.tables import NONE, Column, Table, arrow_table

if TYPE_CHECKING:
    import pyarrow as pa

    from understudy.logs.log import Log

SEVERITIES = ("error", "doubt", "warning", "note")
"""Error: simulators refuse the log. Doubt: they take it, and what they say must not be believed. Warning: results may
be wrong. Note: worth knowing."""

RATES = {"each test": 1e-4, "all tests": 1e-3}
"""The probability of a false alarm on a clean log: of one test over all its comparisons, and of any test."""


@dataclass(frozen=True)
class Finding:
    """One problem or remark about a log: the rule, the rows, and a sentence that ends in advice."""

    severity: str  # one of SEVERITIES
    rule: str
    rows: tuple[int, ...]  # the first few of them, numbered from 0 as in the file or table that was read
    count: int  # how many rows, or whatever else the sentence counts
    sentence: str

    def __str__(self) -> str:
        return visible(f"{self.severity}: {self.rule}: {self.sentence}")


@dataclass(frozen=True)
class AuditTest:
    """A statistical test that an audit made of a log, or could not make."""

    rule: str
    question: str
    comparisons: int  # 0 where the test could not be made
    p_value: float | None  # of the largest deviation, corrected for the comparisons; None without one
    reason: str = ""  # why the test could not be made; with a p-value, what of the question could not be asked

    @property
    def fires(self) -> bool:
        """True if the deviation is beyond chance, at the rate of false alarms of each test."""
        return self.p_value is not None and self.p_value < RATES["each test"]


class Answer(NamedTuple):
    """What a statistical rule tested, and what it found."""

    tested: AuditTest
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, repr=False)
class Audit:
    """The findings about a log, errors first, and the tests that were made. Counts are None where no log could be made.

    `believable` and `verdict` sum it up: whether what is simulated on this log may be believed, as far as a log shows.

    >>> Audit((), n_rows=20, n_episodes=2, n_actions=4)
    20 rows, 2 episodes, 4 actions: nothing found
      verdict: not tested: nothing speaks against this log, and no test could be made
    """

    findings: tuple[Finding, ...]
    n_rows: int | None = None
    n_episodes: int | None = None
    n_actions: int | None = None
    tests: tuple[AuditTest, ...] = ()

    @property
    def ok(self) -> bool:
        """True if no finding is an error, so that simulators accept the log."""
        return not self._rules_of("error")

    @property
    def believable(self) -> bool:
        """True if no finding is an error or a doubt: nothing in the log speaks against what is simulated on it."""
        return not self._rules_of("error", "doubt")

    @property
    def verdict(self) -> str:
        """One line: whether to believe what is simulated on this log, and if not, the rules that speak against it."""
        if errors := self._rules_of("error"):
            return f"do not believe this log: it has errors, and simulators refuse it ({', '.join(errors)})"
        if doubts := self._rules_of("doubt"):
            return f"do not believe what is simulated on this log: {', '.join(doubts)}"
        made = sum(test.comparisons > 0 for test in self.tests)
        if not made:
            return "not tested: nothing speaks against this log, and no test could be made"
        if fired := [test.rule for test in self.tests if test.fires]:
            return f"believable with care: read the warnings of {', '.join(fired)}"
        left = f"; {len(self.tests) - made} not asked" if made < len(self.tests) else ""
        return f"believable: of {counted(made, 'test')}, none speaks against this log{left}"

    def _rules_of(self, *severities: str) -> list[str]:
        return list(dict.fromkeys(finding.rule for finding in self.findings if finding.severity in severities))

    def to_json(self) -> dict[str, Any]:
        """Return the audit as a dictionary of plain types, with the verdict and the rates of false alarms."""
        return {
            "believable": self.believable,
            "verdict": self.verdict,
            "accepted": self.ok,  # by simulators, which may take a log that must not be believed
            "rates": dict(RATES),
            **asdict(self),
            "findings": [_as_dict(finding) for finding in self.findings],
            "tests": [asdict(test) for test in self.tests],
        }

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

    def tests_table(self) -> Table:
        """Return the tests as a table for people: what was asked, and whether the answer is beyond chance."""
        headings = (
            Column("test", numeric=False),
            Column("answer", numeric=False),
            Column("p"),
            Column("compared"),
            Column("question", numeric=False),
        )
        rows = tuple(
            (
                test.rule,
                "not asked" if test.p_value is None else "yes" if test.fires else "no",
                NONE if test.p_value is None else f"{test.p_value:.2g}",
                f"{test.comparisons:,}" if test.comparisons else NONE,
                test.question + (f" Not asked: {test.reason}." if test.reason else ""),
            )
            for test in self.tests
        )
        rates = [f"{name} in 1 of {round(1 / rate):,} clean logs" for name, rate in RATES.items()]
        notes = (f"p is corrected for what was compared. False alarms, at most: {', '.join(rates)}.",)
        return Table("What was tested: is it beyond chance?", headings, rows, notes=notes)

    def _repr_html_(self) -> str:
        return replace(self.to_table(), notes=(f"Verdict: {self.verdict}.",))._repr_html_()

    def __str__(self) -> str:
        title = "no log could be made"
        if self.n_rows is not None and self.n_episodes is not None and self.n_actions is not None:
            counts = {"row": self.n_rows, "episode": self.n_episodes, "action": self.n_actions}
            title = ", ".join(counted(number, noun) for noun, number in counts.items())
        if not self.findings:
            title += ": nothing found"
        return "\n".join([title, *(f"  {finding}" for finding in self.findings), f"  verdict: {self.verdict}"])

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


def finding_in_rows(log: "Log", severity: str, rule: str, rows: np.ndarray | FoundRows, sentence: str) -> Finding:
    """Return a finding in these rows, which it names as in the file that was read.

    "{where}" in the sentence becomes how many they are, and which; "{after}", the same of what comes after them;
    "{first}", the first of them.
    """
    found = rows if isinstance(rows, FoundRows) else FoundRows(tuple(rows[:SHOWN].tolist()), len(rows))
    some, count = log.rows_in_source(found.first), found.count
    if count == 1:
        which = f"row {some[0]}"
    else:
        which = f"{count:,} rows ({', '.join(map(str, some))}{', ...' if count > len(some) else ''})"
    words = {"{where}": f"in {which}", "{after}": f"after {which}", "{first}": str(some[0]) if some else "none"}
    for place, instead in words.items():
        sentence = sentence.replace(place, instead)
    return Finding(severity, rule, some, count, sentence)


def _as_dict(finding: Finding) -> dict[str, Any]:
    return {**asdict(finding), "rows": list(finding.rows)}
