"""Runs on several logs on one page: each is judged by the checks of its own log, and none by another's."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from understudy.encoders import StateAudit
from understudy.logs import Audit
from understudy.reporting.belief import UNSEEN, Belief, belief
from understudy.reporting.belief_table import belief_table
from understudy.reporting.luck import LuckOfSet, is_baseline
from understudy.reporting.measurements import Measurements
from understudy.reporting.naming import quoted
from understudy.trust import Selfcheck


@dataclass(frozen=True)
class LogChecks:
    """What was found of one log, and of the states that its observations are merged into."""

    audit: Audit | None = None
    states: StateAudit | Mapping[str, StateAudit] | None = None
    selfcheck: Selfcheck | Mapping[str, Selfcheck] | None = None


Logs = Mapping[tuple[str, ...], LogChecks]
"""The checks of each log, by the names of the sets of runs on it."""


def belief_of_logs(measured: Measurements, logs: Logs) -> Belief | None:
    """Return how far to believe runs on several logs, each judged by itself; None where none of them is on a log."""
    found = {
        names: one
        for names, checks in logs.items()
        if (one := belief(measured.of(names), checks.audit, checks.states, checks.selfcheck, named=True)) is not None
    }
    if not found:
        return None
    doubted = {name: reason for one in found.values() for name, reason in one.doubted.items()}
    titles = [_of_sets(names, f"{one.title[0].lower()}{one.title[1:]}") for names, one in found.items()]
    sentences = [
        sentence if any(f"“{name}”" in sentence for name in names) else f"{quoted(names)}: {sentence}"
        for names, one in found.items()
        for sentence in one.sentences
        if sentence != UNSEEN
    ]
    severities = {one.severity for one in found.values()}
    severity = severities.pop() if len(severities) == 1 else "warning"
    tested = {
        name: luck
        for name, luck in measured.luck.items()
        if isinstance(luck, LuckOfSet) and not is_baseline(measured.runs[name])
    }
    table = belief_table(tested, replace(measured, doubted=frozenset(doubted))) if len(tested) > 1 else None
    title = f"Runs on {len(found)} different logs, each judged by the checks of its own: {'; '.join(titles)}"
    return Belief(severity, title, [*sentences, UNSEEN], table, doubted)


def _of_sets(names: tuple[str, ...], text: str) -> str:
    """Return a title with the sets that it is of, where it does not name them."""
    return text if any(f"“{name}”" in text for name in names) else f"{text} ({quoted(names)})"
