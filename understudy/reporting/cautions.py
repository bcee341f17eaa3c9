"""What a reader must know before believing a page."""

from collections.abc import Mapping

from understudy.evaluation.earnings import SHARE
from understudy.logs.rules import FEW_EPISODES
from understudy.runs import Runs

MOST_NAMED = 3
"""Sets named in one sentence."""


def cautions(named: Mapping[str, Runs]) -> list[str]:
    """A sentence for each reason to be careful: few logged episodes, and lengths that few runs reached."""
    simulated = {name: runs for name, runs in named.items() if runs.about.get("kind") != "real" and len(runs)}
    return [*_few_episodes(simulated), *_few_runs(simulated)]


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
    listed = ", ".join(
        f"“{name}” step {early[name]:,} (half: {named[name].horizon(0.5):,})" for name in list(early)[:MOST_NAMED]
    )
    more = f" and {len(early) - MOST_NAMED} others" * (len(early) > MOST_NAMED)
    return [
        f"Few runs got as far as the longest: nine of ten reached, of {listed}{more}. What lies beyond is about the "
        "runs that lasted, and whether a run lasts depends on what happened in it."
    ]
