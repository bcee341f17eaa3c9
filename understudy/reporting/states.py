"""Boxes at the top of the page with the verdict on the states that runs were made with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.encoders import StateAudit
from understudy.encoders.state_audit import NOTHING, SUSPICIOUS
from understudy.errors import ContractError
from understudy.tables import Table

LISTED = 5
"""States listed in the box; the terminal lists more."""

MOST_FAIL = "most of the rows that could be tested are in states that fail their test"
"""What `mostly_suspicious` of an audit means, in words: rows in states too small to test do not count."""


@dataclass(frozen=True)
class StateBox:
    """The verdict on states, and what it means for the curves below it."""

    severity: str  # "error", "warning" or "note"
    title: str
    sentences: list[str]
    worst: Table | None = None  # the suspicious states that matter most
    notes: tuple[str, ...] = ()


def state_boxes(states: StateAudit | Mapping[str, StateAudit] | None) -> list[StateBox]:
    """Return a box for each audit, with the name of the audit where it has one."""
    if states is None:
        return []
    named: dict[str, Any] = dict(states) if isinstance(states, Mapping) else {"": states}
    for name, audit in named.items():
        if not isinstance(audit, StateAudit):
            raise ContractError(f"states of {name!r} is a {type(audit).__name__}; give what encoder.audit(log) returns")
    return [state_box(audit, str(name)) for name, audit in named.items()]


def state_box(audit: StateAudit, name: str = "") -> StateBox:
    """Return the box of one audit."""
    where = f"{name}: " if name else ""
    verdict = f"{audit.encoder} makes {audit.n_states:,} states of {audit.n_rows:,} rows: {audit.sentence}."
    notes = tuple(audit.notes)
    if not audit.merges.any():
        sentence = f"{where}States are the {audit.n_states:,} distinct observations: nothing is merged."
        return StateBox("note", "", [sentence])
    if audit.verdict == SUSPICIOUS:
        most = audit.mostly_suspicious
        title = f"Do not trust these curves: {MOST_FAIL}" if most else "Some states are suspicious"
        means = (
            "A run goes on from rows of observations that lead elsewhere, so the learner below met a history that it "
            "would not have met in the real world; what it earned here says little about what it would earn there."
        )
        anyway = ["The runs were made all the same (--anyway)."] if most else []
        worst = [place for place in audit.worst_first[:LISTED] if audit.suspicious[place]]
        severity = "error" if most else "warning"
        return StateBox(
            severity, where + title, [verdict, means, *anyway], audit.to_table(worst, "the worst states"), notes
        )
    if audit.verdict == NOTHING:
        return StateBox("note", f"{where}Nothing was found against the states", [verdict], notes=notes)
    title = f"{where}It could not be told whether the states are right"
    means = "The curves below hold only as far as observations of one state lead on alike, which this log cannot show."
    return StateBox("warning", title, [verdict, means], notes=notes)
