"""Warnings that a reader needs before believing a page."""

from collections.abc import Mapping

from understudy.evaluation.earnings import SHARE
from understudy.logs import Audit
from understudy.logs.rules import FEW_EPISODES
from understudy.reporting.naming import quoted
from understudy.runs import Runs
from understudy.runs.failures import failures_sentence

MOST_NAMED = 3
"""Sets named in one sentence."""

MISLEADING = (
    "propensity-frequency", "propensity-trend", "reward-drift", "visit-drift", "duplicate-episodes",
    "duplicate-rows", "no-episode", "next-observation-continuity", "step-order", "episode-dependence",
    "propensity-source",
)  # fmt: skip
"""Findings of an audit that can make every number of a page wrong."""


def cautions(named: Mapping[str, Runs], audit: Audit | None = None, states_tested: bool = True) -> list[str]:
    """Return a sentence for each reason to be careful.

    Reasons are what the audit of the log found, runs that failed, states that merge observations and were not tested,
    bounds that were exceeded, few logged episodes, and lengths that few runs reached.
    """
    simulated = {name: runs for name, runs in named.items() if not runs.about.is_real and len(runs)}
    found = () if audit is None else audit.findings
    wrong = [finding for finding in found if finding.severity in ("error", "doubt") or finding.rule in MISLEADING]
    from_audit = [f"The audit of the log found: {finding.sentence}." for finding in wrong if finding.severity != "note"]
    untested = [] if states_tested else _untested(simulated)
    failed = _failed(named)
    return [*from_audit, *failed, *untested, *_biased(simulated), *_few_episodes(simulated), *_few_runs(simulated)]


def _failed(named: Mapping[str, Runs]) -> list[str]:
    """Return a sentence for each set of which runs failed."""
    return [
        f"In “{name}”, {failures_sentence(runs.failed, len(runs) + len(runs.failed))}. All numbers are of the others, "
        "and are off where runs fail because of what they met."
        for name, runs in named.items()
        if runs.failed
    ]


def _untested(named: Mapping[str, Runs]) -> list[str]:
    """Return a sentence where runs stopped in states that stand for several observations."""
    merging = [name for name, runs in named.items() if any(run.stopped.example is not None for run in runs)]
    if not merging:
        return []
    listed = quoted(merging, MOST_NAMED)
    return [
        f"States of {listed} stand for several observations each, and were not tested for whether those lead on alike: "
        "give the page states=encoder.audit(log)."
    ]


def _biased(named: Mapping[str, Runs]) -> list[str]:
    """Return a sentence for each set in which episodes were accepted less often than they should have been."""
    sentences = []
    for name, runs in named.items():
        biases = [run.stopped.bias or 0.0 for run in runs]
        if any(biases):
            exceeded, unsupported = (
                sum(run.stopped.counts.get(count, 0) for run in runs) / len(runs)
                for count in ("bounds exceeded", "rows not supported")
            )
            sentences.append(
                f"In “{name}”, {exceeded:,.1f} episodes a run had a ratio of policy and propensity above the bound, "
                f"and at {unsupported:,.1f} rows the learner could have acted as the logger could not: the law of an "
                f"episode may be off by {sum(biases) / len(biases):.2g} (total variation)."
            )
    return sentences


def _few_episodes(named: Mapping[str, Runs]) -> list[str]:
    """Return a sentence where logs whose episodes end by themselves have few of them."""
    counts = {runs.about.log_episodes for runs in named.values() if runs.about.log_terminated}
    few = sorted(count for count in counts if count is not None and count < FEW_EPISODES)
    if not few:
        return []
    episodes = f"{few[0]:,} episode{'s' * (few[0] != 1)}" + (f" to {few[-1]:,}" if len(few) > 1 else "")
    return [
        f"The log has {episodes}. With fewer than {FEW_EPISODES}, steps that are served end an episode less often than "
        "in truth, since rows exist only where nothing ended their episode before."
    ]


def _few_runs(named: Mapping[str, Runs]) -> list[str]:
    """Return a sentence on sets of which nine of ten runs reach less than half of what the median run reaches."""
    early = {name: runs.horizon(SHARE) for name, runs in named.items() if 2 * runs.horizon(SHARE) < runs.horizon(0.5)}
    if not early:
        return []
    listed = "; ".join(
        f"of “{name}”, nine of ten runs reached step {step:,}, and half of them step {named[name].horizon(0.5):,}"
        for name, step in list(early.items())[:MOST_NAMED]
    )
    more = f"; {len(early) - MOST_NAMED} other sets are alike" * (len(early) > MOST_NAMED)
    return [
        f"Runs differ much in length: {listed}{more}. What lies beyond is about the runs that lasted, and whether a "
        "run lasts depends on what happened in it."
    ]
