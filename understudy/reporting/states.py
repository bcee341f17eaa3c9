"""What the page says, at its top, of the states that runs were made with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.encoders import StateAudit
from understudy.encoders.state_audit import NOTHING, SUSPICIOUS, shown

LISTED = 5
"""States in the box; the terminal lists more."""


@dataclass(frozen=True)
class StateBox:
    """A verdict on states, and what it means for the curves below it."""

    severity: str  # "error", "warning" or "note": how loud the box is
    title: str
    sentences: list[str]
    worst: list[tuple[str, str, str, str]]  # of each: its number, rows, p-value, explained
    notes: list[str]


def state_boxes(states: StateAudit | Mapping[str, StateAudit] | None) -> list[StateBox]:
    """A box for each audit of states, with its name where it has one."""
    if states is None:
        return []
    named: dict[str, Any] = dict(states) if isinstance(states, Mapping) else {"": states}
    for name, audit in named.items():
        if not isinstance(audit, StateAudit):
            raise TypeError(f"states of {name!r} is a {type(audit).__name__}; give what encoder.audit(log) returns")
    return [state_box(audit, str(name)) for name, audit in named.items()]


def state_box(audit: StateAudit, name: str = "") -> StateBox:
    """The box of one audit."""
    where = f"{name}: " if name else ""
    told = f"{audit.encoder} makes {audit.n_states:,} states of {audit.n_rows:,} rows: {audit.sentence}."
    if not audit.merges.any():
        return StateBox(
            "note", "", [f"{where}States are the {audit.n_states:,} distinct observations: nothing is merged."], [], []
        )
    if audit.verdict == SUSPICIOUS:
        most = audit.mostly_suspicious
        title = "Do not trust these curves: most states fail their test" if most else "Some states are suspicious"
        means = (
            "A run goes on from rows of observations that lead elsewhere, so the learner below met a history that it "
            "would not have met in the real world; what it earned here says little about what it would earn there."
        )
        anyway = ["Most rows are in suspicious states, and the runs were made all the same (--anyway)."] if most else []
        worst = [place for place in audit.worst_first[:LISTED] if audit.suspicious[place]]
        rows = [
            (
                str(audit.state[place]),
                f"{audit.rows[place]:,}",
                *shown(audit.p_value[place], audit.explained[place]),
            )
            for place in worst
        ]
        return StateBox("error" if most else "warning", where + title, [told, means, *anyway], rows, audit.notes)
    if audit.verdict == NOTHING:
        return StateBox("note", f"{where}Nothing was found against the states", [told], [], audit.notes)
    title = f"{where}It could not be told whether the states are right"
    means = "The curves below hold only as far as observations of one state lead on alike, which this log cannot show."
    return StateBox("warning", title, [told, means], [], audit.notes)
