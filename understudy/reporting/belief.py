"""How far to believe runs, in a title and a few sentences: the first thing that page and terminal say."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.encoders import StateAudit
from understudy.evaluation import Fidelity
from understudy.logs import Audit
from understudy.reporting.formatting import three_digits
from understudy.reporting.luck import LuckOfSet
from understudy.reporting.measurements import Measurements
from understudy.trust import Selfcheck

BASELINES = ("states_only", "actions_only", "any_row")
"""Simulators that leave a part of the log out. Halves of the log share that error, and cannot show it."""

MOST_NAMED = 3
"""Sets named in the title, and sets with a sentence each."""

WHY = {
    "difference": "then more log would change the answer",
    "noise": "then there are too few runs to tell",
    "halves end": "then half of the log has no answer to compare with",
    "runs end": "as far as the runs go",
}
"""Why a trusted horizon ends where it does, in a few words."""

UNSEEN = (
    "No check sees what was not logged: a hidden cause of both actions and outcomes, or a world that changes after the "
    "log ended."
)


@dataclass(frozen=True)
class Belief:
    """How far to believe runs: a title, and the evidence for it in sentences."""

    severity: str  # "error": not to be believed; "warning": not shown to be believable; "note": believable so far
    title: str
    sentences: list[str]

    def __str__(self) -> str:
        return "\n".join([f"{self.title}.", *(f"  {sentence}" for sentence in self.sentences)])


def belief(
    measured: Measurements,
    audit: Audit | None = None,
    states: StateAudit | Mapping[str, StateAudit] | None = None,
    selfcheck: Selfcheck | Mapping[str, Selfcheck] | None = None,
) -> Belief | None:
    """Return how far to believe runs on one log; None where there are none."""
    if not measured.luck:
        return None
    against = _against(audit, _several(states), _several(selfcheck))
    judged = {name: found for name, found in measured.luck.items() if not _is_baseline(measured, name)}
    wrong = [name for name in judged if _differs(measured, name)]
    horizons = {
        name: found.trusted[found.probe].steps
        for name, found in judged.items()
        if isinstance(found, LuckOfSet) and name not in wrong
    }
    reached = {name: steps for name, steps in horizons.items() if steps}
    if against:
        severity, title = "error", f"Not to be believed: {'; '.join(against)}"
    elif reached:
        severity, title = "note", f"Believable up to step {_listed(reached, measured)}"
    elif horizons:
        severity, title = "warning", "Not shown to be believable at any step"
    elif wrong:
        severity, title = "error", f"Not to be believed: {_names(wrong)} differ{'s' * (len(wrong) == 1)} from real runs"
    else:
        severity, title = "warning", "How far to believe this was not tested"
    return Belief(severity, title, [*_evidence(measured, judged, wrong), *_checks(audit, selfcheck), UNSEEN])


def _against(
    audit: Audit | None, states: Mapping[str, StateAudit], selfchecks: Mapping[str, Selfcheck]
) -> list[str]:
    """Return what speaks against all runs on the log, a phrase each."""
    found = []
    if audit is not None and not audit.believable:
        found.append("the audit of the log speaks against it")
    if any(one.mostly_suspicious for one in states.values()):
        found.append("most states fail their test")
    if any(one.fires for one in selfchecks.values()):
        found.append("the log fails its self-check")
    return found


def _evidence(measured: Measurements, judged: Mapping[str, LuckOfSet | str], wrong: list[str]) -> list[str]:
    """Return a sentence for each set, as far as there is room, and one on those that halves say nothing of."""
    whose = len(measured.luck) > 1
    sentences = []
    tested = {name: found for name, found in judged.items() if isinstance(found, LuckOfSet)}
    for name, found in list(tested.items())[:MOST_NAMED]:
        sentences.append(_horizon_sentence(name if whose else "", found))
        sentences.append(_interval_sentence(found))
    if len(tested) > MOST_NAMED:
        sentences.append(f"The table of efficiency has the horizons of {len(tested) - MOST_NAMED} others.")
    reasons: dict[str, list[str]] = {}
    for name, found in judged.items():
        if isinstance(found, str):
            reasons.setdefault(found, []).append(name)
    for reason, names in reasons.items():
        who = f"Of {_names(names)}, bands" if whose else "Bands"
        sentences.append(f"{who} leave the luck of this log out, and no horizon can be trusted: {reason}.")
    if wrong:
        sentences.append(f"Compared with real runs, {_names(wrong)} differ{'s' * (len(wrong) == 1)}: see Fidelity.")
    baselines = [name for name in measured.luck if name not in judged]
    if baselines:
        sentences.append(
            f"{_names(baselines)}: not judged, since {'it leaves' if len(baselines) == 1 else 'they leave'} a part of "
            "the log out, an error that halves of the log share."
        )
    return sentences


def _horizon_sentence(name: str, found: LuckOfSet) -> str:
    trusted, halves = found.trusted[found.probe], found.halves.halves
    of = f" of “{name}”" if name else ""
    counts = f"{len(halves)} random halves of the log ({len(halves[0])} runs each)"
    if not trusted.steps:
        return f"The {found.probe}{of}: {counts} do not agree with the whole at any reading; {trusted.why}."
    return (
        f"Up to step {trusted.steps:,}, {counts} give the same {found.probe}{of} as the whole within a margin of "
        f"{trusted.margin:.3g}; {trusted.why}."
    )


def _interval_sentence(found: LuckOfSet) -> str:
    interval = found.intervals[found.probe]
    mean, low, high = interval.final
    naive = [float(end[-1]) for end in interval.naive]
    write = three_digits(high - low)
    beyond = f" (extrapolated beyond step {interval.reach:,})" if interval.reach < interval.steps[-1] else ""
    return (
        f"At step {interval.steps[-1]:,}, the last reading that all runs have, it is {write(mean)}, between "
        f"{write(low)} and {write(high)} with a probability of {interval.level:.0%}, the luck of the log "
        f"included{beyond}; the spread of runs alone would say {write(naive[0])} to {write(naive[1])}."
    )


def _checks(audit: Audit | None, selfcheck: Selfcheck | Mapping[str, Selfcheck] | None) -> list[str]:
    """Return what audit and self-check say, a sentence each, or that they were not made."""
    sentences = [] if audit is None else [f"Audit of the log: {audit.verdict}."]
    selfchecks = _several(selfcheck)
    for name, one in selfchecks.items():
        sentences.append(f"Self-check{' of ' * bool(name)}{name}: {one.verdict}.")
    missing = ["audit"] * (audit is None) + ["self-check"] * (not selfchecks)
    if missing:
        sentences.append(f"No {' and no '.join(missing)} of the log was made.")
    return sentences


def _is_baseline(measured: Measurements, name: str) -> bool:
    return measured.runs[name].about.simulator_name in BASELINES


def _differs(measured: Measurements, name: str) -> bool:
    """True if the set was found to differ from the reference in the probe that sets are compared by."""
    if measured.headline_probe is None:
        return False
    found = measured.fidelity[measured.headline_probe].at_shared.get(name)
    return isinstance(found, Fidelity) and found.verdict == "different"


def _several(found: Any) -> dict[str, Any]:
    """Return findings by name; a single one has none."""
    return {} if found is None else dict(found) if isinstance(found, Mapping) else {"": found}


def _listed(horizons: Mapping[str, int], measured: Measurements) -> str:
    if len(measured.luck) == 1:
        ((name, steps),) = horizons.items()
        found = measured.luck[name]
        return f"{steps:,}: {WHY[found.trusted[found.probe].reason]}" if isinstance(found, LuckOfSet) else f"{steps:,}"
    shown = [f"{steps:,} (“{name}”)" for name, steps in list(horizons.items())[:MOST_NAMED]]
    return ", ".join(shown + ["..."] * (len(horizons) > MOST_NAMED))


def _names(names: list[str]) -> str:
    return ", ".join([f"“{name}”" for name in names[:MOST_NAMED]] + ["..."] * (len(names) > MOST_NAMED))
