"""What a reader must know before believing a page."""

from collections.abc import Mapping

from understudy.evaluation.earnings import SHARE
from understudy.logs import Audit
from understudy.logs.rules import FEW_EPISODES
from understudy.runs import Runs

MOST_NAMED = 3
"""Sets named in one sentence."""


MISLEADING = ("propensity-frequency", "propensity-trend", "no-episode", "next-observation-continuity", "step-order")
"""Findings of an audit that can make every number of a page wrong."""


def cautions(named: Mapping[str, Runs], audit: Audit | None = None, states_tested: bool = True) -> list[str]:
    """A sentence for each reason to be careful.

    What the audit of the log found, states that merge observations and were not tested, few logged episodes, and
    lengths that few runs reached.
    """
    simulated = {name: runs for name, runs in named.items() if runs.about.get("kind") != "real" and len(runs)}
    found = () if audit is None else audit.findings
    wrong = [finding for finding in found if finding.severity == "error" or finding.rule in MISLEADING]
    told = [f"The audit of the log found: {finding.sentence}." for finding in wrong if finding.severity != "note"]
    untested = [] if states_tested else _untested(simulated)
    return [*told, *untested, *_few_episodes(simulated), *_few_runs(simulated)]


def _untested(named: Mapping[str, Runs]) -> list[str]:
    """Sets in which a run stopped in a state that stands for several observations."""
    merging = [name for name, runs in named.items() if any(run.stopped.example is not None for run in runs)]
    if not merging:
        return []
    listed = ", ".join(f"“{name}”" for name in merging[:MOST_NAMED]) + ", ..." * (len(merging) > MOST_NAMED)
    return [
        f"States of {listed} stand for several observations each, and were not tested for whether those lead on alike: "
        "give the page states=encoder.audit(log)."
    ]


def _few_episodes(named: Mapping[str, Runs]) -> list[str]:
    ended = [runs.about for runs in named.values() if runs.about.get("log_terminated")]
    counts = {about.get("log_episodes") for about in ended}
    few = sorted(count for count in counts if isinstance(count, int) and count < FEW_EPISODES)
    if not few:
        return []
    episodes = f"{few[0]:,} episode{'s' * (few[0] != 1)}" + (f" to {few[-1]:,}" if len(few) > 1 else "")
    return [
        f"The log has {episodes}. With fewer than {FEW_EPISODES}, steps that are served end an episode less often than "
        "in truth, since rows exist only where nothing ended their episode before."
    ]


def _few_runs(named: Mapping[str, Runs]) -> list[str]:
    """Sets of which nine of ten runs get less than half as far as the median run."""
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
