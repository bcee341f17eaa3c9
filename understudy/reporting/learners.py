"""Which of several learners earned more, in a sentence, or why that cannot be told."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.evaluation import Earnings, earnings
from understudy.reporting.tables import figures
from understudy.runs import Runs

CANNOT_TELL = "Which learner earns more cannot be told: "
PER_STEP = "reward per step"
"""The probe that tells what learners earned where episodes do not end."""


@dataclass(frozen=True)
class Rivals:
    """Several learners compared: a sentence for each simulator, and what an episode earned in the sets compared."""

    sentences: list[str]
    earned: Mapping[str, Earnings]


def compare_learners(sets: Mapping[str, Runs]) -> Rivals | None:
    """Who earned more, or why that cannot be told; None where all sets are of one learner, or there is none.

    Learners are compared on the same log, under the same simulator, over the same episodes of every run. How long a
    learner lasted says how long the log could answer for it, not how good it is.
    """
    simulated = {name: runs for name, runs in sets.items() if len(runs) and runs.about.get("kind") != "real"}
    if n_learners(simulated) < 2:
        return None
    groups: dict[str, dict[str, Runs]] = {}
    for name, runs in simulated.items():
        own = runs.about.get("own_logs")
        groups.setdefault(_told(runs, "simulator", "states", *([] if own else ["log"])), {})[name] = runs
    rivals = [group for group in groups.values() if n_learners(group) > 1]
    if not rivals:
        why = "no two of them ran on the same log, with the same states, under the same simulator"
        return Rivals([f"{CANNOT_TELL}{why}."], {})
    compared = [_compared(group, earnings(group)) for group in rivals]
    return Rivals([sentence for sentence, _ in compared], {k: v for _, earned in compared for k, v in earned.items()})


def n_learners(sets: Mapping[str, Runs]) -> int:
    """How many different learners some sets of runs are of."""
    return len({_told(runs, "learner") for runs in sets.values()})


def _compared(rivals: Mapping[str, Runs], earned: Mapping[str, Earnings]) -> tuple[str, Mapping[str, Earnings]]:
    """The sentence on learners under one simulator, and what was compared."""
    names = ", ".join(f"“{name}”" for name in rivals if name not in earned)
    if n_learners({name: rivals[name] for name in earned}) < 2:
        if all(PER_STEP in runs.probes for runs in rivals.values()):
            return _compared_by_steps(rivals), {}
        return f"{CANNOT_TELL}of {names}, fewer than nine of ten runs finished an episode.", {}
    best, *others = sorted(earned, key=lambda name: earned[name].mean, reverse=True)
    ahead = {name: _difference(earned[best], earned[name]) for name in others}
    rival = min(ahead, key=lambda name: ahead[name][0] if np.isfinite(ahead[name][0]) else -np.inf)
    one, other, (low, high) = earned[best], earned[rival], ahead[rival]
    show = figures(one.mean, other.mean)
    where = f"over {_episodes(one)} of each run (steps 1 to {max(found.steps for found in earned.values()):,}), "
    if np.isfinite(low):
        allowed = _allowed(rivals, [one, other])
        apart = f"the difference is {show(low)} to {show(high)}, {allowed} allowed for (95 %)"
    else:
        apart = "single runs show no spread"
    if low > 0:
        rest = " and the others less" * (len(others) > 1)
        text = f"“{best}” earned most, {show(one.mean)} an episode, and “{rival}” {show(other.mean)}{rest}"
        sentence = f"{where[0].upper()}{where[1:]}{text}; {apart}."
    else:
        text = f"“{best}” earned {show(one.mean)} an episode and “{rival}” {show(other.mean)}"
        sentence = f"{CANNOT_TELL}{where}{text}; {apart}."
    left_out = f" Left out, since fewer than nine of ten of their runs finished an episode: {names}." if names else ""
    return sentence + left_out, earned


def _difference(one: Earnings, other: Earnings) -> tuple[float, float]:
    """By how much one may be ahead of another, at the least and at the most."""
    noise = float(np.hypot(one.error, other.error))
    return one.low - other.high - noise, one.high - other.low + noise


def _allowed(rivals: Mapping[str, Runs], earned: list[Earnings]) -> str:
    own = all(runs.about.get("own_logs") for runs in rivals.values())
    parts = ["the spread of runs"] if own else ["the spread of runs", "the luck of the log"]
    parts += ["runs that stopped early"] * any(found.missing for found in earned)
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _compared_by_steps(rivals: Mapping[str, Runs]) -> str:
    """What learners earned a step, where episodes do not end: no verdict, since one episode shows no spread."""
    last = min(int(run.steps[-1]) if len(run.steps) else 0 for runs in rivals.values() for run in runs)
    if not last:
        return f"{CANNOT_TELL}no episode ended, and some run stopped before its first reading."
    means = {}
    for name, runs in rivals.items():
        steps, values = runs.curve(PER_STEP)
        means[name] = float(values[:, steps == last].mean())
    show = figures(*means.values())
    told = ", ".join(f"“{name}” {show(mean)}" for name, mean in sorted(means.items(), key=lambda item: -item[1]))
    return (
        f"{CANNOT_TELL}no episode of this log ends, so one log has no spread to judge by. Over the first {last:,} "
        f"steps, which all runs reached, a step earned: {told}."
    )


def _episodes(earned: Earnings) -> str:
    return f"the first {earned.episodes:,} episodes" if earned.episodes > 1 else "the first episode"


def _told(runs: Runs, *names: str) -> str:
    """What runs say of themselves, to be compared."""
    told: list[Any] = [runs.about.get(name) for name in names]
    return json.dumps(told, sort_keys=True, default=str)
