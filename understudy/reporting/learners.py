"""Which of several learners earned more, in one sentence, or why that cannot be told."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.evaluation import Earnings, earnings
from understudy.runs import Runs

CANNOT_TELL = "Which learner earns more cannot be told: "


@dataclass(frozen=True)
class Rivals:
    """Several learners compared: a sentence, and what an episode earned in each set that could be compared."""

    sentence: str
    earned: Mapping[str, Earnings]


def compare_learners(sets: Mapping[str, Runs]) -> Rivals | None:
    """Who earned more, or why that cannot be told; None where all sets are of one learner, or there is none.

    Learners are compared on the same log, under the same simulator, over the same episodes of every run. How long a
    learner lasted says how long the log could answer for it, not how good it is.
    """
    simulated = {name: runs for name, runs in sets.items() if len(runs) and runs.about.get("kind") != "real"}
    if len({_told(runs, "learner") for runs in simulated.values()}) < 2:
        return None
    groups: dict[str, dict[str, Runs]] = {}
    for name, runs in simulated.items():
        groups.setdefault(_told(runs, "simulator", "states", "log", "own_logs"), {})[name] = runs
    rivals = max(groups.values(), key=lambda group: len({_told(runs, "learner") for runs in group.values()}))
    if len({_told(runs, "learner") for runs in rivals.values()}) < 2:
        why = "no two of them ran on the same log, with the same states, under the same simulator"
        return Rivals(f"{CANNOT_TELL}{why}.", {})
    earned = earnings(rivals)
    if not earned:
        return Rivals(f"{CANNOT_TELL}in some set, fewer than nine of ten runs finished an episode.", {})
    return Rivals(_compared(rivals, earned), earned)


def _compared(rivals: Mapping[str, Runs], earned: Mapping[str, Earnings]) -> str:
    best, second = sorted(earned, key=lambda name: earned[name].mean, reverse=True)[:2]
    one, other = earned[best], earned[second]
    gap, noise = one.low - other.high, float(np.hypot(one.error, other.error))
    which = f"the first {one.episodes:,} episodes" if one.episodes > 1 else "the first episode"
    where = f"Over {which} of each run (steps 1 to {max(found.steps for found in earned.values()):,}), "
    by = f"by {one.mean - other.mean:,.3g}, where the spread of runs leaves ±{noise:,.2g} open"
    absent = " and runs that stopped early are counted as badly as they may have gone" * (
        one.missing + other.missing > 0
    )
    if gap > noise:  # never where the noise is not known
        first = f"{where}“{best}” earned most, {one.mean:,.3f} an episode, ahead of “{second}” ({other.mean:,.3f}) {by}"
    else:
        first = (
            f"{CANNOT_TELL}{where[0].lower()}{where[1:]}“{best}” earned {one.mean:,.3f} an episode and “{second}” "
            f"{other.mean:,.3f}, apart {by}"
        )
    own = all(runs.about.get("own_logs") for runs in rivals.values())
    return f"{first}{absent}{'' if own else '; the luck of this one log is not in that'}."


def _told(runs: Runs, *names: str) -> str:
    """What runs say of themselves, to be compared."""
    told: list[Any] = [runs.about.get(name) for name in names]
    return json.dumps(told, sort_keys=True, default=str)
