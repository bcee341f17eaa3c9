"""What an audit found: the states that an encoder makes of a log, and whether they are sufficient."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.deprecation import warn_of_old_name
from understudy.encoders.sufficiency import FEWEST_ROWS
from understudy.errors import EncoderError
from understudy.tables import Column, Table, arrow_table

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

ENOUGH = 0.5  # share of the rows that has to be in states that could be tested, for "nothing found" to say something
MOST_STATES = 400  # tested: those with most rows
MOST_DRAWN = 200  # states in a picture, and those of a single observation in JSON: the largest
AXES = ("first dimension of the observation", "second dimension")  # where columns have no names
LISTED = 12  # states in the printed table

SUSPICIOUS, NOTHING, UNTOLD = "suspicious", "nothing found", "could not be told"
"""The verdicts of an audit."""

COUNTS = ("n_states", "n_rows", "n_without_state", "n_following", "rows_unlisted")
"""The keys of counts in JSON."""


@dataclass(frozen=True, repr=False, eq=False)
class StateAudit:
    """The states of a log, and for each the test of sufficiency (A1): does x still predict the outcome, given a?

    `p_value` is uniform where a state is sufficient. A state is `suspicious` where its p-value, adjusted for the
    number of states (Holm), is below `level`: where all states are sufficient, a share `level` of audits finds one.
    `explained` is the share of the outcome that x predicts in rows that were not fitted: replay from the state is off
    by as much. A state of a single distinct observation merges nothing, so it is not tested.
    """

    encoder: str
    state: np.ndarray  # (K,) the states in use, in order
    rows: np.ndarray  # (K,) the number of rows of the log in each
    p_value: np.ndarray  # (K,) NaN where the state was not tested
    explained: np.ndarray  # (K,) 0 to 1; NaN where the state was not tested
    suspicious: np.ndarray  # (K,) bool
    merges: np.ndarray  # (K,) bool: True where a state has several distinct observations
    level: float
    n_rows: int  # of the log
    n_without_state: int  # rows whose observation has no state
    n_dead_ends: int  # rows that did not terminate and lead to a state that no row leaves from
    same_log: bool  # True where the encoder was fitted on this log
    sample_observation: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))  # (n, 2); n = 0 if not 2-D
    sample_state: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # (n,)
    n_unlisted: int = 0  # states of one observation beyond the K: JSON leaves most of them out
    rows_unlisted: int = 0  # rows of the log in those
    examples: Mapping[int, str] = field(default_factory=dict)  # of states that are shown: an observation
    axes: tuple[str, str] = AXES  # the names of the sample's columns

    @property
    def n_states(self) -> int:
        """The number of states that rows leave from."""
        return len(self.state) + self.n_unlisted

    @property
    def tested(self) -> np.ndarray:
        """True for each state that was tested, (K,)."""
        return ~np.isnan(self.p_value)

    @property
    def tested_share(self) -> float:
        """The share of rows in states that were tested, among all rows but those in states of a single observation."""
        to_test = self.n_rows - self.n_single_rows
        return int(self.rows[self.tested].sum()) / to_test if to_test else 1.0

    @property
    def n_single_rows(self) -> int:
        """The number of rows in states of a single distinct observation."""
        return int(self.rows[~self.merges].sum()) + self.rows_unlisted

    @property
    def suspicious_share(self) -> float:
        """The share of the log's rows that are in suspicious states."""
        return int(self.rows[self.suspicious].sum()) / max(1, self.n_rows)

    @property
    def suspicious_share_of_tested(self) -> float:
        """The share of suspicious ones among the rows in states that were tested; 0 where none was."""
        return int(self.rows[self.suspicious].sum()) / max(1, int(self.rows[self.tested].sum()))

    @property
    def verdict(self) -> str:
        """The verdict, one of three.

        "suspicious" where a state is suspicious; "could not be told" where none is and less than half of the rows are
        in states that could be tested; else "nothing found".
        """
        if self.suspicious.any():
            return SUSPICIOUS
        return NOTHING if self.tested_share >= ENOUGH else UNTOLD

    @property
    def mostly_suspicious(self) -> bool:
        """True if more rows are in suspicious states than in states that passed: most of the rows tested fail.

        States of a single observation pass. Rows in states that were not tested do not count: otherwise states would
        pass by being made too small to test. So it may be a small part of all rows that fails.
        """
        failing = int(self.rows[self.suspicious].sum())
        return 2 * failing > int(self.rows[self.tested].sum()) + self.n_single_rows

    @property
    def ok(self) -> bool:
        """True if the verdict is "nothing found": enough states were tested, and none is suspicious."""
        return self.verdict == NOTHING

    @property
    def sentence(self) -> str:
        """The verdict as a sentence, with the shares of rows that it rests on, and what to do."""
        n_tested, n_found = int(self.tested.sum()), int(self.suspicious.sum())
        tested = f"{self.tested_share:.1%} of the rows" + (
            " in states of several observations" if self.n_single_rows else ""
        )
        if not self.merges.any():
            return "every state is a single distinct observation: nothing is merged, so there is nothing to test"
        if self.verdict == SUSPICIOUS:
            only = "only " if self.tested_share < ENOUGH else ""
            of_tested = f" ({self.suspicious_share_of_tested:.1%} of those tested)" if self.tested_share < 1 else ""
            return (
                f"{n_found:,} of {n_tested:,} states tested {'is' if n_found == 1 else 'are'} suspicious, with "
                f"{self.suspicious_share:.1%} of the rows{of_tested}: within one, observations still predict outcomes, "
                f"so it merges what replay must tell apart; {only}{tested} could be tested"
            )
        if self.verdict == UNTOLD:
            found = (
                f"of the {n_tested:,} tested none is suspicious, which says little" if n_tested else "none was tested"
            )
            return (
                f"too little could be tested: {tested} are in states that could be tested; "
                f"{found}; log more, or use fewer states, and audit them again"
            )
        return (
            f"none of {n_tested:,} states tested is suspicious, and {tested} are in states that could be tested: no "
            "test found that observations predict outcomes within one; small differences are not seen"
        )

    @property
    def notes(self) -> list[str]:
        """Further findings, a sentence each."""
        notes = []
        untested = self.merges & ~self.tested
        if untested.any():
            few = f"those with fewer than {FEWEST_ROWS} rows of any action, or beyond the {MOST_STATES} largest"
            share = self.rows[untested].sum() / max(1, self.n_rows)
            notes.append(f"{untested.sum():,} states with {share:.1%} of the rows were not tested: {few}")
        if self.n_without_state:
            notes.append(f"{self.n_without_state:,} rows have an observation without a state, and are never served")
        if self.n_dead_ends:
            notes.append(
                f"{self.n_dead_ends:,} rows lead to a state that no row leaves from: a run that gets there ends"
            )
        if self.same_log and self.merges.any():
            notes.append(
                "the encoder was fitted on this log: fit it on one half of the episodes and audit it on the other "
                "(log.select) to test it on rows that it has not seen"
            )
        return notes

    @property
    def largest(self) -> np.ndarray:
        """Indices of the largest states, up to 200: those that a picture shows."""
        return np.argsort(-self.rows, kind="stable")[:MOST_DRAWN]

    @property
    def worst_first(self) -> np.ndarray:
        """Indices of the states, (K,): suspicious ones first, by how much is explained; then the others by rows."""
        return np.lexsort([-self.rows, -np.nan_to_num(self.explained) * self.suspicious, ~self.suspicious])

    def to_json(self) -> dict[str, Any]:
        """Return plain types that `from_json` takes: without the sample, and without most states of one observation.

        `single` are those of one observation among the largest states, where others merge some; `rows_unlisted` counts
        their rows, too.
        """
        listed = np.flatnonzero(self.merges)
        largest = self.largest if len(listed) else ()
        single = [
            {"state": int(self.state[place]), "rows": int(self.rows[place]),
             "example": self.examples.get(int(self.state[place]))}
            for place in largest if not self.merges[place]
        ]  # fmt: skip
        columns = (self.state, self.rows, self.p_value, self.explained, self.suspicious)
        table = [
            {"state": state, "rows": rows, "p_value": None if p != p else p, "explained": None if e != e else e,
             "suspicious": suspicious, "example": self.examples.get(state)}
            for state, rows, p, e, suspicious in zip(*(column[listed].tolist() for column in columns), strict=True)
        ]  # fmt: skip
        return {
            "ok": self.ok, "verdict": self.verdict, "tested_share": self.tested_share,
            "suspicious_share": self.suspicious_share, "encoder": self.encoder, "n_states": self.n_states,
            "n_rows": self.n_rows, "n_without_state": self.n_without_state, "n_following": self.n_dead_ends,
            "level": self.level, "same_log": self.same_log, "notes": self.notes, "states": table,
            "single": single, "rows_unlisted": self.n_single_rows,
        }  # fmt: skip

    @classmethod
    def from_json(cls, content: Any) -> "StateAudit":
        """Return the audit that `to_json` wrote. Raise `EncoderError` where the content is not that of an audit."""
        try:
            untested = {"p_value": None, "explained": None, "suspicious": False}
            single = [{**row, **untested} for row in content.get("single", ())]  # older files have none
            table = [*content["states"], *single]
            counts = {name: content[name] for name in COUNTS}
            numbers = [*counts.values(), *(row[name] for row in table for name in ("state", "rows"))]
            if any(type(number) is not int or number < 0 for number in numbers):
                raise ValueError("a count is not a whole number")
            merges = np.arange(len(table)) < len(content["states"])
            order = sorted(range(len(table)), key=lambda place: table[place]["state"])
            table, merges = [table[place] for place in order], merges[order]
            n_unlisted, n_dead_ends = counts.pop("n_states") - len(table), counts.pop("n_following")
            counts["rows_unlisted"] -= sum(row["rows"] for row in single)
            state, rows = (np.array([row[name] for row in table], dtype=np.int64) for name in ("state", "rows"))
            p_value, explained = (_shares([row[name] for row in table]) for name in ("p_value", "explained"))
            suspicious = [row["suspicious"] for row in table]
            flags = [*suspicious, content["same_log"]]
            examples = {row["state"]: row.get("example") for row in table}
            texts = [content["encoder"], *(text for text in examples.values() if text is not None)]
            if {type(flag) for flag in flags} - {bool} or {type(text) for text in texts} - {str}:
                raise ValueError("a flag, the encoder's name or an example is something else")
            found = cls(
                content["encoder"], state, rows, p_value, explained, np.array(suspicious, dtype=bool),
                merges, float(_shares([content["level"]])[0]), same_log=content["same_log"],
                n_dead_ends=n_dead_ends, n_unlisted=n_unlisted, **counts,
                examples={state: text for state, text in examples.items() if text is not None},
            )  # fmt: skip
            counted = int(rows.sum()) + found.rows_unlisted + found.n_without_state
            if min(n_unlisted, found.rows_unlisted) < 0 or (rows < 1).any() or counted != found.n_rows:
                raise ValueError("its rows do not add up")
            if np.isnan(found.level) or (found.suspicious & ~found.tested).any():
                raise ValueError("a state is suspicious without a test")
            return found
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise EncoderError(f"this is not an audit of states ({error}); audit the encoder again") from error

    def to_frame(self) -> "pa.Table":
        """Return an Arrow table with a line for each state: state, rows, p_value, explained, suspicious, merges.

        `p_value` and `explained` are null where a state was not tested. States that a file leaves out are not there.
        """
        types = {"state": "int64", "rows": "int64", "p_value": "float64", "explained": "float64"}
        types |= {"suspicious": "bool", "merges": "bool"}
        columns = {name: getattr(self, name).tolist() for name in types}
        columns |= {name: [None if x != x else x for x in columns[name]] for name in ("p_value", "explained")}
        return arrow_table(columns, types)

    def to_table(self, places: Sequence[int] | np.ndarray, heading: str = "state") -> Table:
        """Return a table for people of the states at these places of `state`."""
        headings: tuple[Column, ...] = (
            Column(heading, numeric=False),
            Column("rows"),
            Column("p-value"),
            Column("explained"),
        )
        rows: tuple[tuple[str, ...], ...] = tuple(
            (str(self.state[place]), f"{self.rows[place]:,}", *shown(self.p_value[place], self.explained[place]))
            for place in places
        )
        if any(self.state[place] in self.examples for place in places):
            headings = (headings[0], Column("such as", numeric=False), *headings[1:])
            words = [self.examples.get(int(self.state[place]), "") for place in places]
            rows = tuple((row[0], example, *row[1:]) for row, example in zip(rows, words, strict=True))
        return Table(f"{self.encoder}: {self.n_rows:,} rows in {self.n_states:,} states", headings, rows)

    def _repr_html_(self) -> str:
        places = self.worst_first[: LISTED if self.merges.any() else 0]
        table = self.to_table(places)
        marks = ["suspicious" if self.suspicious[place] else "" for place in places]
        more = [f"... and {self.n_states - LISTED:,} more"] if len(places) and self.n_states > LISTED else []
        return replace(
            table,
            title=f"{table.title}: {self.sentence}",
            headings=(*table.headings, Column("", numeric=False)),
            rows=tuple((*row, mark) for row, mark in zip(table.rows, marks, strict=True)),
            notes=(*more, *self.notes),
        )._repr_html_()

    def __str__(self) -> str:
        title = f"{self.encoder}: {self.n_rows:,} rows in {self.n_states:,} states"
        lines = [title, f"  {self.sentence}"]
        if self.merges.any():
            lines.append(f"  {'state':>7} {'rows':>11} {'p-value':>9} {'explained':>10}")
            for place in self.worst_first[:LISTED]:
                example = self.examples.get(int(self.state[place]))
                mark = ("  suspicious" if self.suspicious[place] else "") + (f"  such as {example}" if example else "")
                p, explained = shown(self.p_value[place], self.explained[place])
                lines.append(f"  {self.state[place]:>7} {self.rows[place]:>11,} {p:>9} {explained:>10}{mark}")
            if self.n_states > LISTED:
                lines.append(f"  {'...':>7} and {self.n_states - LISTED:,} more")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    __repr__ = __str__

    def plot(self, path: Any = None) -> "Figure":
        """Deprecated: use `understudy.plots.states(audit, ax=...)`, which returns axes.

        Draw the states, write the figure to `path` where given (.png, .svg, .pdf), and return it.
        """
        warn_of_old_name("StateAudit.plot(path)", "understudy.plots.states(audit, ax=...)")
        # Reporting is above encoders, which may not import it: this goes with the next release.
        figure = import_module("understudy.reporting.state_pictures").states(self).figure
        if path is not None:
            try:
                figure.savefig(Path(path), dpi=144)
            except (OSError, ValueError) as error:
                raise EncoderError(
                    f"cannot write {path}: {error}; give a path that ends in .png, .svg or .pdf"
                ) from error
        return figure


def shown(p_value: float, explained: float) -> tuple[str, str]:
    """Return the test of a state as two cells of a table."""
    if p_value != p_value:
        return "-", "-"
    return "< 1e-6" if p_value < 1e-6 else f"{p_value:.2g}", f"{explained:.1%}"


def _shares(numbers: list[Any]) -> np.ndarray:
    """Return numbers from 0 to 1 as an array, NaN for None. Raise `ValueError` for anything else."""
    if any(number is not None and type(number) not in (int, float) for number in numbers):
        raise ValueError("a share is not a number")
    shares = np.array(numbers, dtype=np.float64)
    if ((shares < 0) | (shares > 1)).any():
        raise ValueError("a share is not between 0 and 1")
    return shares
