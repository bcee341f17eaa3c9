"""What an encoder made of a log: its states, and whether they are sufficient."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.contracts import Encoder, Log
from understudy.contracts.fitting import ensure_fitted, needs_fit
from understudy.contracts.progress import progress_bar
from understudy.contracts.vocabulary import Vocabulary
from understudy.encoders.pictures import picture_of_states
from understudy.encoders.sufficiency import FEWEST_ROWS, holm, sufficiency
from understudy.errors import LogError
from understudy.tables import Column, Table, arrow_table

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

LEVEL = 0.01
ENOUGH = 0.5  # share of the rows that has to be in states that could be tested, for "nothing found" to say something
MOST_STATES = 400  # tested: those with most rows
LISTED = 12  # states in the printed table
MOST_POINTS = 20_000  # kept for the picture

SUSPICIOUS, NOTHING, UNTOLD = "suspicious", "nothing found", "could not be told"
"""The verdicts of an audit."""


@dataclass(frozen=True, repr=False, eq=False)
class StateAudit:
    """The states of a log, and for each the test of sufficiency (A1): does x still predict the outcome, given a?

    `p_value` is uniform where a state is sufficient. A state is `suspicious` where its p-value, adjusted for the
    number of states (Holm), is below `level`: with all states sufficient, there is one in a share `level` of audits.
    `explained` tells how much it matters: the share of the outcome that x predicts, in rows not fitted; replay from
    that state is off by as much as outcomes follow x there. A state of a single distinct observation merges nothing,
    so there is nothing to test.
    """

    encoder: str
    state: np.ndarray  # (K,) the states in use, in order
    rows: np.ndarray  # (K,) the log's, in each
    p_value: np.ndarray  # (K,) NaN where there are too few rows to tell, or nothing to test
    explained: np.ndarray  # (K,) 0 to 1
    suspicious: np.ndarray  # (K,) bool
    merges: np.ndarray  # (K,) bool: whether it has several distinct observations
    level: float
    n_rows: int
    n_without_state: int  # rows whose observation has none
    n_following: int  # rows whose next observation is in a state that no row leaves from, though it goes on
    same_log: bool  # the encoder was fitted on this log
    points: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))  # some observations, where they are 2-D
    point_state: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_unlisted: int = 0  # states of one observation that are not among the K: files leave them out
    rows_unlisted: int = 0  # the log's, in those

    @property
    def n_states(self) -> int:
        """States that rows leave from."""
        return len(self.state) + self.n_unlisted

    @property
    def tested(self) -> np.ndarray:
        """Which states were tested, (K,) bool."""
        return ~np.isnan(self.p_value)

    @property
    def tested_share(self) -> float:
        """The share of the log's rows that are in states that could be tested.

        Rows in states of a single observation are left out of the log here, since there is nothing to test: where many
        are, the share is that of the others.
        """
        to_test = self.n_rows - self.n_single_rows
        return int(self.rows[self.tested].sum()) / to_test if to_test else 1.0

    @property
    def n_single_rows(self) -> int:
        """The log's rows in states of a single distinct observation."""
        return int(self.rows[~self.merges].sum()) + self.rows_unlisted

    @property
    def suspicious_share(self) -> float:
        """The share of the log's rows in suspicious states."""
        return int(self.rows[self.suspicious].sum()) / max(1, self.n_rows)

    @property
    def verdict(self) -> str:
        """One of three.

        "suspicious" where a state is; "could not be told" where none is, and less than half of the rows are in states
        that could be tested; else "nothing found".
        """
        if self.suspicious.any():
            return SUSPICIOUS
        return NOTHING if self.tested_share >= ENOUGH else UNTOLD

    @property
    def mostly_suspicious(self) -> bool:
        """Whether most of what could be judged fails: more rows are in suspicious states than in others that passed.

        States of a single observation pass. Rows in states too small to be tested do not count, lest states become
        acceptable by being made smaller.
        """
        failing = int(self.rows[self.suspicious].sum())
        return 2 * failing > int(self.rows[self.tested].sum()) + self.n_single_rows

    @property
    def ok(self) -> bool:
        """Whether the verdict is "nothing found": enough could be tested, and no state was found insufficient."""
        return self.verdict == NOTHING

    @property
    def sentence(self) -> str:
        """The verdict in a sentence, with the shares of rows that it rests on, and what to do."""
        n_tested, n_found = int(self.tested.sum()), int(self.suspicious.sum())
        tested = f"{self.tested_share:.1%} of the rows" + (
            " in states of several observations" if self.n_single_rows else ""
        )
        if not self.merges.any():
            return "every state is a single distinct observation: nothing is merged, so there is nothing to test"
        if self.verdict == SUSPICIOUS:
            only = "only " if self.tested_share < ENOUGH else ""
            return (
                f"{n_found:,} of {n_tested:,} states tested {'is' if n_found == 1 else 'are'} suspicious, with "
                f"{self.suspicious_share:.1%} of the rows: within one, observations still predict outcomes, so it "
                f"merges what replay must tell apart; {only}{tested} could be tested"
            )
        if self.verdict == UNTOLD:
            looked = (
                f"of the {n_tested:,} tested none is suspicious, which says little" if n_tested else "none was tested"
            )
            return (
                f"the test could hardly look: {tested} are in states that could be tested; "
                f"{looked}; log more, or use fewer states, and audit them again"
            )
        return (
            f"none of {n_tested:,} states tested is suspicious, and {tested} are in states that could be tested: no "
            "test found that observations predict outcomes within one; small differences are not seen"
        )

    @property
    def notes(self) -> list[str]:
        """What else is to be known, a sentence each."""
        notes = []
        untested = self.merges & ~self.tested
        if untested.any():
            few = f"those with fewer than {FEWEST_ROWS} rows of any action, or beyond the {MOST_STATES} largest"
            share = self.rows[untested].sum() / max(1, self.n_rows)
            notes.append(f"{untested.sum():,} states with {share:.1%} of the rows were not tested: {few}")
        if self.n_without_state:
            notes.append(f"{self.n_without_state:,} rows have an observation without a state, and are never served")
        if self.n_following:
            notes.append(
                f"{self.n_following:,} rows lead to a state that no row leaves from: a run that gets there ends"
            )
        if self.same_log and self.merges.any():
            notes.append(
                "the encoder was fitted on this log: fit it on one half of the episodes and audit it on the other "
                "(log.select) to see what it merges where it has not looked"
            )
        return notes

    @property
    def worst_first(self) -> np.ndarray:
        """The places of states, (K,): suspicious ones first, those that matter most before others; then the largest."""
        return np.lexsort([-self.rows, -np.nan_to_num(self.explained) * self.suspicious, ~self.suspicious])

    def to_json(self) -> dict[str, Any]:
        """As plain types, which `from_json` takes; without points and states of a single observation."""
        listed = np.flatnonzero(self.merges)
        columns = (self.state, self.rows, self.p_value, self.explained, self.suspicious)
        table = [
            {"state": state, "rows": rows, "p_value": None if p != p else p, "explained": None if e != e else e,
             "suspicious": suspicious}
            for state, rows, p, e, suspicious in zip(*(column[listed].tolist() for column in columns), strict=True)
        ]  # fmt: skip
        return {
            "ok": self.ok, "verdict": self.verdict, "tested_share": self.tested_share,
            "suspicious_share": self.suspicious_share, "encoder": self.encoder, "n_states": self.n_states,
            "n_rows": self.n_rows, "n_without_state": self.n_without_state, "n_following": self.n_following,
            "level": self.level, "same_log": self.same_log, "notes": self.notes, "states": table,
            "rows_unlisted": self.n_single_rows,
        }  # fmt: skip

    @classmethod
    def from_json(cls, content: Any) -> "StateAudit":
        """The audit that `to_json` told. Raises `LogError` where that cannot be one."""
        try:
            table = content["states"]
            counts = {name: content[name] for name in COUNTS}
            numbers = [*counts.values(), *(row[name] for row in table for name in ("state", "rows"))]
            if any(type(number) is not int or number < 0 for number in numbers):
                raise ValueError("a count is not a whole number")
            n_unlisted = counts.pop("n_states") - len(table)
            state, rows = (np.array([row[name] for row in table], dtype=np.int64) for name in ("state", "rows"))
            p_value, explained = (_shares([row[name] for row in table]) for name in ("p_value", "explained"))
            suspicious = [row["suspicious"] for row in table]
            flags = [*suspicious, content["same_log"]]
            if {type(flag) for flag in flags} - {bool} or type(content["encoder"]) is not str:
                raise ValueError("a flag or the encoder's name is something else")
            found = cls(
                content["encoder"], state, rows, p_value, explained, np.array(suspicious, dtype=bool),
                np.ones(len(table), dtype=bool), float(_shares([content["level"]])[0]), same_log=content["same_log"],
                n_unlisted=n_unlisted, **counts,
            )  # fmt: skip
            in_states = int(rows.sum()) + found.rows_unlisted
            if n_unlisted < 0 or (rows < 1).any() or in_states + found.n_without_state != found.n_rows:
                raise ValueError("its rows do not add up")
            if np.isnan(found.level) or (found.suspicious & ~found.tested).any():
                raise ValueError("a state is suspicious without a test")
            return found
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise LogError(f"this is not an audit of states ({error}); audit the encoder again") from error

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
        headings = (Column(heading, numeric=False), Column("rows"), Column("p-value"), Column("explained"))
        rows = tuple(
            (str(self.state[place]), f"{self.rows[place]:,}", *shown(self.p_value[place], self.explained[place]))
            for place in places
        )
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
                mark = "  suspicious" if self.suspicious[place] else ""
                p, explained = shown(self.p_value[place], self.explained[place])
                lines.append(f"  {self.state[place]:>7} {self.rows[place]:>11,} {p:>9} {explained:>10}{mark}")
            if self.n_states > LISTED:
                lines.append(f"  {'...':>7} and {self.n_states - LISTED:,} more")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    __repr__ = __str__

    def plot(self, path: Any = None) -> "Figure":
        """A picture of the states, written to `path` where given (.png, .svg, .pdf).

        Two-dimensional observations are shown where they lie, colored by state, suspicious states ringed in black;
        others as a bar of rows for each state.
        """
        figure = picture_of_states(self)
        if path is not None:
            try:
                figure.savefig(Path(path), dpi=144)
            except (OSError, ValueError) as error:
                raise LogError(f"cannot write {path}: {error}; give a path that ends in .png, .svg or .pdf") from error
        return figure


def audit(encoder: Encoder, log: Log, *, level: float = LEVEL, seed: int = 0) -> StateAudit:
    """What the encoder makes of a log: states, rows in each, and whether observations predict outcomes within one.

    Prints as a table; `verdict` and `ok` tell what was found, `plot(path)` draws it. An encoder that is not fitted yet
    is fitted on the log first.
    """
    fitted_here = needs_fit(encoder)
    ensure_fitted(encoder, log)
    states, following = np.asarray(encoder.encode(log.observation)), np.asarray(encoder.encode(log.next_observation))
    known, counts = np.unique(states[states >= 0], return_counts=True)
    merges = np.isin(known, _merging(log.observation, states))
    merging, sizes = known[merges], counts[merges]
    largest = merging[np.argsort(-sizes, kind="stable")[:MOST_STATES]]
    with progress_bar("testing states", len(largest)) as report:
        found = sufficiency(log, states, seed, only=largest.tolist(), report=report)
    lost = ~np.isin(following, known) & ~log.terminated
    points, point_state = _points(log.observation, states, seed)
    return StateAudit(
        encoder=repr(encoder).split("  #")[0],
        state=found.state,
        rows=found.rows,
        p_value=found.p_value,
        explained=found.explained,
        suspicious=np.nan_to_num(holm(found.p_value), nan=1.0) < level,
        merges=merges,
        level=level,
        n_rows=len(log),
        n_without_state=int((states < 0).sum()),
        n_following=int(lost.sum()),
        same_log=fitted_here or getattr(encoder, "fitted_on", None) == log.fingerprint,
        points=points,
        point_state=point_state,
    )


def _merging(observations: np.ndarray, states: np.ndarray) -> np.ndarray:
    """The states that have several distinct observations; one that has a NaN is like no other."""
    codes = Vocabulary(observations).codes(observations)
    order = np.argsort(states, kind="stable")
    same_state = states[order][1:] == states[order][:-1]
    other = (codes[order][1:] != codes[order][:-1]) | (codes[order][1:] < 0)
    return np.unique(states[order][1:][same_state & other])


def _points(observations: np.ndarray, states: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Some observations, where they are points of a plane, and their states: rare ones as many as common ones."""
    if observations.shape[1:] != (2,):
        return np.empty((0, 2)), np.empty(0, dtype=np.int64)
    order = np.random.default_rng(seed).permutation(len(states))
    order = order[np.argsort(states[order], kind="stable")]
    starts = np.flatnonzero(np.diff(states[order], prepend=-2))
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    kept = order[place < max(20, MOST_POINTS // max(1, len(starts)))][: 4 * MOST_POINTS]
    return np.asarray(observations[kept], dtype=np.float64), states[kept]


def shown(p_value: float, explained: float) -> tuple[str, str]:
    """The test of a state, as tables print it."""
    if p_value != p_value:
        return "-", "-"
    return "< 1e-6" if p_value < 1e-6 else f"{p_value:.2g}", f"{explained:.1%}"


COUNTS = ("n_states", "n_rows", "n_without_state", "n_following", "rows_unlisted")


def _shares(numbers: list[Any]) -> np.ndarray:
    """Numbers from 0 to 1, or none, out of a file."""
    if any(number is not None and type(number) not in (int, float) for number in numbers):
        raise ValueError("a share is not a number")
    shares = np.array(numbers, dtype=np.float64)
    if ((shares < 0) | (shares > 1)).any():
        raise ValueError("a share is not between 0 and 1")
    return shares
