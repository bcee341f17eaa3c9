"""How far to believe runs, in a title and a few sentences: the first thing that page and terminal say."""

from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from understudy.digits import digits
from understudy.encoders import StateAudit
from understudy.evaluation import Fidelity
from understudy.logs import Audit
from understudy.logs.statistics.calibration import RULE as PROPENSITY_RULE
from understudy.reporting.belief_table import belief_table, in_words, numbers_of, why_of
from understudy.reporting.helping import what_would_help
from understudy.reporting.luck import LuckOfSet, are_qbe, is_baseline, use_no_states
from understudy.reporting.measurements import Measurements
from understudy.reporting.naming import quoted
from understudy.reporting.rung_words import SHARED_ERRORS, agreed, believed, evidence_sentences, rung_sentences
from understudy.reporting.states import MOST_FAIL
from understudy.runs import Runs
from understudy.runs.nouns import noun_of
from understudy.tables import Table
from understudy.trust import Beyond, Selfcheck

MOST_NAMED = 3
"""Sets named in the title or in a sentence."""

USUAL_HALVES = 20
"""Halves of the log that `us.halves` takes; fewer make wider intervals, and the page says so."""

THINNED_TIMES = "thinned-times"
"""The rule of the finding that the log's times go by with fewer decisions than in a deployment."""

MEANINGS = {
    "start value": "what the learner itself expects to earn from an opening on, discounted, beyond time limits, too",
    "reward so far": "all that was earned by then",
}
"""Probes of ours in words, where a sentence is about them."""

FITTED = (
    "Halves of the log keep its states as they are: where an encoder was fitted on this log, the luck of that fit is "
    "in neither interval nor horizon."
)

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
    table: Table | None = None  # of several sets that halves of the log say something of
    doubted: Mapping[str, str] = field(default_factory=dict)  # what speaks against a set, by its name, where it does

    def __str__(self) -> str:
        sets = [] if self.table is None else [*map(in_words, self.table.rows), *self.table.notes]
        return "\n".join([f"{self.title}.", *(f"  {sentence}" for sentence in [*sets, *self.sentences])])


def belief(
    measured: Measurements,
    audit: Audit | None = None,
    states: StateAudit | Mapping[str, StateAudit] | None = None,
    selfcheck: Selfcheck | Mapping[str, Selfcheck] | None = None,
    *,
    named: bool = False,
) -> Belief | None:
    """Return how far to believe runs on one log; None where there are none. With `named` a single set is named, too."""
    if not measured.luck:
        return None
    judged = {name: found for name, found in measured.luck.items() if not is_baseline(measured.runs[name])}
    several = named or len(measured.luck) > 1
    only_qbe = are_qbe(measured.runs.values())
    against = _against(concerning(measured, audit), by_name(states), by_name(selfcheck))
    wrong = [name for name in judged if _differs(measured, name)]
    tested = {name: found for name, found in judged.items() if isinstance(found, LuckOfSet)}
    right = {name: found for name, found in tested.items() if name not in wrong}
    trusted = measured.trusted()
    asked = {name: measured.beyond[name] for name in judged if name in measured.beyond and name not in wrong}
    tried = {name: one for name, one in asked.items() if one.gains}
    reached = {name: found for name, found in right.items() if found.horizon and name not in tried}
    unserved = {name: _unserved(name, measured.runs[name]) for name in judged if not measured.runs[name].lengths.any()}
    past_exact = {name: measured.rungs[name].exact for name, found in reached.items() if found.horizon != trusted[name]}
    if against:
        severity, title = "error", f"Not to be believed: {'; '.join(against)}"
    elif tried:
        severity, title = "note", believed(tried, {name: trusted[name] for name in reached}, named=several)
    elif past_exact:
        severity, title = "warning", agreed(past_exact, _listed(reached, named=several), named=several)
    elif reached:
        severity = (
            "warning" if all(map(_wide, reached.values())) else "note"
        )  # where luck alone may be a margin and more
        unit = "decision" if noun_of(*(measured.runs[name] for name in reached)) == "decision" else "step"
        title = f"Believable up to {unit} {_listed(reached, named=several)}"
    elif judged and len(unserved) == len(judged):
        severity, title = "error", "Nothing was simulated: no run was served a single step"
    elif right:
        severity, title = "warning", "Not shown to be believable at any step"
    elif wrong:
        severity, title = (
            "error",
            f"Not to be believed: {quoted(wrong, MOST_NAMED)} differ{'s' * (len(wrong) == 1)} from real runs",
        )
    else:
        severity, title = "warning", "How far to believe this was not tested"
    left = {name: found for name, found in judged.items() if name not in unserved}
    ladders = {name: found for name, found in measured.rungs.items() if name in measured.luck}
    rungs = [*rung_sentences(ladders, named=several), *[SHARED_ERRORS] * bool(past_exact)]
    rungs += evidence_sentences(asked, named=several)
    evidence = [*rungs, *_of_halves(tested, tried, named=named or len(tested) > 1), *unserved.values()]
    evidence += _left_out(measured, left, wrong, named=several)
    if tested and any(one.merges.any() for one in by_name(states).values()):
        evidence.append(FITTED)
    checks = _checks(audit, selfcheck, only_qbe, checks_missing(measured, audit, selfcheck))
    sentences = [*checks, *evidence, UNSEEN] if against else [*evidence, *checks, UNSEEN]
    reason = title.removeprefix("Not to be believed: ")
    doubted = dict.fromkeys(measured.luck, reason) if severity == "error" else {
        name: f"“{name}” differs from real runs" for name in wrong
    }  # fmt: skip
    table = belief_table(tested, replace(measured, doubted=frozenset(doubted))) if len(tested) > 1 else None
    return Belief(severity, title, sentences, table, doubted)


def without_evidence(found: Belief | None, beyond: Mapping[str, Beyond]) -> Belief | None:
    """Return what is believed without the evidence for runs on a ladder, of which the page has a table."""
    if found is None:
        return None
    tabled = {sentence for named in (False, True) for sentence in evidence_sentences(beyond, named=named)}
    return replace(found, sentences=[sentence for sentence in found.sentences if sentence not in tabled])


def doubts_propensities(audit: Audit | None) -> bool:
    """True if an audit found that actions were not drawn from the logged propensities."""
    return audit is not None and without_doubts_of_propensities(audit) != audit


def concerning(measured: Measurements, audit: Audit | None) -> Audit | None:
    """Return an audit with what concerns these runs: QBE uses no propensities."""
    if audit is None or not are_qbe(measured.runs.values()):
        return audit
    return without_doubts_of_propensities(audit)


def without_doubts_of_propensities(audit: Audit) -> Audit:
    """Return an audit without the doubts that do not concern QBE, which uses no propensities."""
    kept = tuple(one for one in audit.findings if (one.severity, one.rule) != ("doubt", PROPENSITY_RULE))
    return replace(audit, findings=kept)


def _against(audit: Audit | None, states: Mapping[str, StateAudit], selfchecks: Mapping[str, Selfcheck]) -> list[str]:
    """Return what speaks against all runs on the log, a phrase each."""
    found = []
    if audit is not None and not audit.believable:
        found.append("the audit of the log speaks against it")
    if any(one.mostly_suspicious for one in states.values()):
        found.append(MOST_FAIL)
    if any(one.fires for one in selfchecks.values()):
        found.append("the log fails its self-check")
    return found


def _of_halves(tested: Mapping[str, LuckOfSet], tried: Container[str], *, named: bool) -> list[str]:
    """Return what halves of the log say of a set, in words; of several, which have a table, where luck is large.

    Sets of `tried` have been judged by more than halves, with a margin of their own: of these, the interval is told.
    """
    if named or not tested:
        judged = {name: found for name, found in tested.items() if name not in tried}
        helped = sorted(judged, key=lambda name: judged[name].horizon or 0)[:1]  # where a comparison ends
        return [
            f"“{name}”: {sentence}"
            for name, found in judged.items()
            for sentence in [*_wide(found), *(_help(found) if name in helped else [])]
        ]
    ((name, found),) = tested.items()
    trusted, interval, halves = found.trusted[found.probe], found.intervals[found.probe], found.halves.halves
    fewer = f"; {USUAL_HALVES} halves would tell more" * (len(halves) < USUAL_HALVES)
    counts = f"{len(halves)} random halves of the log ({len(halves[0])} runs each{fewer})"
    meaning = f" ({MEANINGS[found.probe]})" if found.probe in MEANINGS else ""
    same = f"the same {found.probe}{meaning} as the whole, on average, within a margin of {digits(trusted.margin)}"
    if trusted.steps:
        agree = [f"Up to step {trusted.steps:,}, {counts} give {same}; {trusted.why}.", *_wide(found)]
    elif trusted.reason == "too short":
        agree = [f"Whether {counts} give the same {found.probe} as the whole cannot be tested: {trusted.why}."]
    else:
        why = trusted.why.removeprefix("then ")
        agree = [f"{counts} were not shown to give {same}: at the first reading, {why}."]
    mean, low, high, first, last = numbers_of(interval)
    beyond = f" (extrapolated beyond step {interval.reach:,})" if interval.reach < interval.steps[-1] else ""
    return [
        *([] if name in tried else [*agree, *_help(found)]),
        f"At step {interval.steps[-1]:,}, the last reading that all runs have, it is {mean}, between {low} and {high} "
        f"with a probability of {interval.level:.0%}, the luck of the log included{beyond}; the spread of runs alone "
        f"would say {first} to {last}.",
    ]


def _wide(found: LuckOfSet) -> list[str]:
    """Return a sentence where the interval is wider than the margin by which halves and whole agree; else nothing."""
    margin = found.trusted[found.probe].margin
    if not found.horizon or found.give_or_take <= margin:
        return []
    return [
        f"The interval is as wide as give or take {digits(found.give_or_take, 2)} up to step {found.horizon:,}, more "
        f"than the margin of {digits(margin)}: {found.what_helps}."
    ]


def _help(found: LuckOfSet) -> list[str]:
    """Return what would let the set be believed for longer, in a sentence, where there is something."""
    return [words] if (words := what_would_help(found)) is not None else []


def _unserved(name: str, runs: Runs) -> str:
    """Return why runs stopped before their first step, and what to do."""
    ((what, count),) = Counter(run.stopped.what for run in runs).most_common(1)
    return (
        f"“{name}” stopped before its first step in all runs; what was missing in {count:,} of {len(runs):,}: {what}. "
        "Give a learner that stays closer to the logging policy (another --epsilon), or a log that has this."
    )


def _left_out(
    measured: Measurements, judged: Mapping[str, LuckOfSet | str], wrong: list[str], *, named: bool
) -> list[str]:
    """Return why sets have no horizon, or one that does not count."""
    sentences, reasons = [], dict[str, list[str]]()
    for name, found in judged.items():
        if isinstance(found, str):
            reasons.setdefault(found, []).append(name)
    for reason, names in reasons.items():
        who = f"Of {quoted(names, MOST_NAMED)}, bands" if named else "Bands"
        sentences.append(f"{who} leave the luck of this log out, and no horizon can be trusted: {reason}.")
    if wrong:
        sentences.append(
            f"Compared with real runs, {quoted(wrong, MOST_NAMED)} differ{'s' * (len(wrong) == 1)}: see Fidelity."
        )
    baselines = [name for name in measured.luck if is_baseline(measured.runs[name])]
    if baselines:
        leave = "it leaves" if len(baselines) == 1 else "they leave"
        sentences.append(
            f"{quoted(baselines, MOST_NAMED)}: not judged, since {leave} a part of the log out, an error that halves "
            "of the log share."
        )
    return sentences


def as_believed(measured: Measurements, found: Belief | None) -> Measurements:
    """Return measurements as they are shown: without trusted horizons of sets that something speaks against."""
    return replace(measured, doubted=frozenset(found.doubted if found is not None else ()))


def checks_missing(
    measured: Measurements, audit: Audit | None, selfcheck: Selfcheck | Mapping[str, Selfcheck] | None
) -> list[str]:
    """Return which checks of the log were not made: "audit", and "self-check", where there are states to test."""
    has_states = not use_no_states(measured.runs.values())
    return ["audit"] * (audit is None) + ["self-check"] * (has_states and not by_name(selfcheck))


def _checks(
    audit: Audit | None, selfcheck: Selfcheck | Mapping[str, Selfcheck] | None, only_qbe: bool, missing: list[str]
) -> list[str]:
    """Return what audit and self-check say, a sentence each, or that they were not made."""
    sentences = [] if audit is None else [*deployment_sentences(audit), f"Audit of the log: {audit.verdict}."]
    if doubts_propensities(audit):
        more = "it does not speak against these runs" if only_qbe else "simulate it alone, with --simulator qbe"
        sentences.append(f"{PROPENSITY_RULE} does not concern QBE, which uses no propensities: {more}.")
    selfchecks = by_name(selfcheck)
    for name, one in selfchecks.items():
        by_chance = f" (of logs with true states, {one.level:.0%} fail by chance)" * one.fires
        sentences.append(f"Self-check{' of ' * bool(name)}{name}: {one.verdict}{by_chance}.")
    if missing:
        sentences.append(f"No {' and no '.join(missing)} of the log was made.")
    return sentences


def deployment_sentences(audit: Audit | None) -> list[str]:
    """Return how runs differ from the deployment that was asked for, a sentence each, as the audit of their log says.

    It speaks of the learner, not against the log, so the verdict on the log does not say it.
    """
    found = [] if audit is None else [one for one in audit.findings if one.rule == THINNED_TIMES]
    return [f"Not as in the deployment ({one.rule}): {one.sentence}." for one in found]


def _differs(measured: Measurements, name: str) -> bool:
    """True if the set was found to differ from the reference in the probe that sets are compared by."""
    if measured.headline_probe is None:
        return False
    found = measured.fidelity[measured.headline_probe].at_shared.get(name)
    return isinstance(found, Fidelity) and found.verdict == "different"


def by_name(found: Any) -> dict[str, Any]:
    """Return findings by name; a single one has none."""
    return {} if found is None else dict(found) if isinstance(found, Mapping) else {"": found}


def _listed(reached: Mapping[str, LuckOfSet], *, named: bool) -> str:
    """Return the horizon of each set that has one; of a single one, what the luck of the log may have done up to there.

    Of several, a table tells that.
    """
    if not named:
        (found,) = reached.values()
        return f"{_upto(found)}: {why_of(found.trusted[found.probe])}"
    shown = [f"{found.horizon:,} (“{name}”)" for name, found in list(reached.items())[:MOST_NAMED]]
    return "; ".join(shown + ["..."] * (len(reached) > MOST_NAMED))


def _upto(found: LuckOfSet) -> str:
    return f"{found.horizon:,}, “{found.probe}” give or take {digits(found.give_or_take, 2)}"
