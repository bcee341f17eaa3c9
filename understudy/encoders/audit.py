"""What an encoder made of a log: its states, and whether they are sufficient."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.contracts import Encoder, Log, LogError
from understudy.contracts.fitting import ensure_fitted, needs_fit
from understudy.encoders.pictures import picture_of_states
from understudy.encoders.sufficiency import FEWEST_ROWS, holm, sufficiency

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVEL = 0.01
MOST_STATES = 400  # tested: those with most rows
LISTED = 12  # states in the printed table
MOST_POINTS = 20_000  # kept for the picture


@dataclass(frozen=True, repr=False, eq=False)
class StateAudit:
    """The states of a log, and for each the test of sufficiency (A1): does x still predict the outcome, given a?

    `p_value` is uniform where a state is sufficient. A state is `suspicious` where its p-value, adjusted for the
    number of states (Holm), is below `level`: with all states sufficient, there is one in a share `level` of audits.
    `explained` tells how much it matters: the share of the outcome that x predicts, in rows not fitted; replay from
    that state is off by as much as outcomes follow x there.
    """

    encoder: str
    state: np.ndarray  # (K,) the states in use, in order
    rows: np.ndarray  # (K,) the log's, in each
    p_value: np.ndarray  # (K,) NaN where there are too few rows to tell
    explained: np.ndarray  # (K,) 0 to 1
    suspicious: np.ndarray  # (K,) bool
    level: float
    n_rows: int
    n_without_state: int  # rows whose observation has none
    n_following: int  # rows whose next observation is in a state that no row leaves from, though it goes on
    same_log: bool  # the encoder was fitted on this log
    points: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))  # some observations, where they are 2-D
    point_state: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def n_states(self) -> int:
        """States that rows leave from."""
        return len(self.state)

    @property
    def ok(self) -> bool:
        """Whether no state was found insufficient."""
        return not self.suspicious.any()

    @property
    def notes(self) -> list[str]:
        """What else is to be known, a sentence each."""
        notes = []
        untested = int(np.isnan(self.p_value).sum())
        if untested:
            few = f"those with fewer than {FEWEST_ROWS} rows of any action, or beyond the {MOST_STATES} largest"
            share = self.rows[np.isnan(self.p_value)].sum() / max(1, self.n_rows)
            notes.append(f"{untested:,} states with {share:.1%} of the rows were not tested: {few}")
        if self.n_without_state:
            notes.append(f"{self.n_without_state:,} rows have an observation without a state, and are never served")
        if self.n_following:
            notes.append(
                f"{self.n_following:,} rows lead to a state that no row leaves from: a run that gets there ends"
            )
        if self.same_log:
            notes.append(
                "the encoder was fitted on this log: fit it on one half of the episodes and audit it on the other "
                "(log.select) to see what it merges where it has not looked"
            )
        return notes

    def to_json(self) -> dict[str, Any]:
        """As plain types."""
        table = [
            {"state": state, "rows": rows, "p_value": None if p != p else p, "explained": None if e != e else e,
             "suspicious": suspicious}
            for state, rows, p, e, suspicious in zip(
                self.state.tolist(), self.rows.tolist(), self.p_value.tolist(), self.explained.tolist(),
                self.suspicious.tolist(), strict=True)
        ]  # fmt: skip
        return {
            "ok": self.ok, "encoder": self.encoder, "n_states": self.n_states, "n_rows": self.n_rows,
            "n_without_state": self.n_without_state, "n_following": self.n_following, "level": self.level,
            "same_log": self.same_log, "notes": self.notes, "states": table,
        }  # fmt: skip

    def __str__(self) -> str:
        title = f"{self.encoder}: {self.n_rows:,} rows in {self.n_states:,} states"
        tested = int((~np.isnan(self.p_value)).sum())
        found = int(self.suspicious.sum())
        verdict = f"  none of {tested:,} states tested is suspicious: within one, observations predict no outcome"
        if found:
            share = self.rows[self.suspicious].sum() / max(1, self.n_rows)
            verdict = (
                f"  {found:,} of {tested:,} states tested {'is' if found == 1 else 'are'} suspicious, with {share:.1%} "
                "of the rows: within one, observations still predict outcomes, so it merges what replay must tell apart"
            )
        # Suspicious states come first, those that matter most before others; then the largest.
        order = np.lexsort([-self.rows, -np.nan_to_num(self.explained) * self.suspicious, ~self.suspicious])
        lines = [title, verdict, f"  {'state':>7} {'rows':>11} {'p-value':>9} {'explained':>10}"]
        for place in order[:LISTED]:
            p, share = self.p_value[place], self.explained[place]
            shown = f"{'-':>9} {'-':>10}" if np.isnan(p) else f"{_shown_p(p):>9} {share:>10.1%}"
            mark = "  suspicious" if self.suspicious[place] else ""
            lines.append(f"  {self.state[place]:>7} {self.rows[place]:>11,} {shown}{mark}")
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

    Prints as a table; `ok` tells whether nothing was found, `plot(path)` draws it. An encoder that is not fitted yet is
    fitted on the log first.
    """
    fitted_here = needs_fit(encoder)
    ensure_fitted(encoder, log)
    states, following = np.asarray(encoder.encode(log.observation)), np.asarray(encoder.encode(log.next_observation))
    known, counts = np.unique(states[states >= 0], return_counts=True)
    largest = known[np.argsort(-counts, kind="stable")[:MOST_STATES]]
    found = sufficiency(log, states, seed, only=largest.tolist())
    lost = ~np.isin(following, known) & ~log.terminated
    points, point_state = _points(log.observation, states, seed)
    return StateAudit(
        encoder=repr(encoder).split("  #")[0],
        state=found.state,
        rows=found.rows,
        p_value=found.p_value,
        explained=found.explained,
        suspicious=np.nan_to_num(holm(found.p_value), nan=1.0) < level,
        level=level,
        n_rows=len(log),
        n_without_state=int((states < 0).sum()),
        n_following=int(lost.sum()),
        same_log=fitted_here or getattr(encoder, "fitted_on", None) == log.fingerprint,
        points=points,
        point_state=point_state,
    )


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


def _shown_p(p: float) -> str:
    return "< 1e-6" if p < 1e-6 else f"{p:.2g}"
