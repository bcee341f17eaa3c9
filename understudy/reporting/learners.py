"""Which of several learners earned more, or why that cannot be told, in a sentence."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from understudy.digits import three_digits
from understudy.evaluation import Earnings, earnings
from understudy.reporting.naming import quoted
from understudy.reporting.returns import first_episodes
from understudy.runs import Runs

CANNOT_TELL = "Which learner earns more cannot be told: "
PER_STEP = "reward per step"
"""The name of the probe that learners are compared by where episodes do not end."""

ON_THEIR_WAY = "outcomes on their way"
"""The name of the probe that counts outcomes that a delayed learner has not learned from yet."""

SHARED = {
    "rows_of_log": "the rows, actions, rewards or propensities of their logs",
    "states": "the states that observations are merged into",
    "simulator": "the simulator or its settings",
}
"""What sets of runs must have in common to be compared, and words for each."""

SAME_AGAIN = (
    "rehearse them on the same file, with the same --encoder and --simulator and its settings, or give all learners to "
    "understudy compare"
)


@dataclass(frozen=True)
class LearnerComparison:
    """Several learners compared: a sentence for each simulator, and what an episode earned in each set compared."""

    sentences: list[str]
    earned: Mapping[str, Earnings]


def compare_learners(sets: Mapping[str, Runs]) -> LearnerComparison | None:
    """Return who earned more, or why that cannot be told; None where the simulated sets are of fewer than two learners.

    Learners are compared on the same log, under the same simulator, over the same episodes of every run. How long a
    learner lasted says how long the log could answer for it, not how good it is.
    """
    simulated = {name: runs for name, runs in sets.items() if len(runs) and not runs.about.is_real}
    if n_learners(simulated) < 2:
        return None
    groups: dict[str, dict[str, Runs]] = {}
    for name, runs in simulated.items():
        groups.setdefault(_key(runs, *SHARED), {})[name] = runs
    comparable = [group for group in groups.values() if n_learners(group) > 1]
    if not comparable:
        why = "no two of them ran on the same log, with the same states, under the same simulator"
        return LearnerComparison([f"{CANNOT_TELL}{why}{_differing(simulated)}; {SAME_AGAIN}."], {})
    compared = [_compare(group, earnings(group)) for group in comparable]
    earned = {name: one for _, found in compared for name, one in found.items()}
    return LearnerComparison([sentence for sentence, _ in compared], earned)


def _differing(sets: Mapping[str, Runs]) -> str:
    """Return in what the first two sets of different learners differ, in words."""
    (one, ours), *others = sets.items()
    other, theirs = next((name, runs) for name, runs in others if n_learners({one: ours, name: runs}) > 1)
    words = [word for field, word in SHARED.items() if _key(ours, field) != _key(theirs, field)]
    return f" (“{one}” and “{other}” differ in {' and in '.join(words)})"


def n_learners(sets: Mapping[str, Runs]) -> int:
    """Return how many different learners these sets of runs are of."""
    return len({_key(runs, "learner") for runs in sets.values()})


def _compare(sets: Mapping[str, Runs], earned: Mapping[str, Earnings]) -> tuple[str, Mapping[str, Earnings]]:
    """Return the sentence on learners under one simulator, and what an episode earned in the sets compared."""
    names = quoted(name for name in sets if name not in earned)
    if n_learners({name: sets[name] for name in earned}) < 2:
        if all(PER_STEP in runs.probes for runs in sets.values()):
            return _compare_by_steps(sets), {}
        return f"{CANNOT_TELL}of {names}, fewer than nine of ten runs finished an episode.", {}
    best, *others = sorted(earned, key=lambda name: earned[name].mean, reverse=True)
    others = [name for name in others if _key(sets[name], "learner") != _key(sets[best], "learner")]
    ahead = {name: _difference(earned[best], earned[name]) for name in others}
    rival = min(ahead, key=lambda name: ahead[name][0] if np.isfinite(ahead[name][0]) else -np.inf)
    one, other, (low, high) = earned[best], earned[rival], ahead[rival]
    write = three_digits(one.mean, other.mean)
    where = f"over {first_episodes(one)} of each run (steps 1 to {max(found.steps for found in earned.values()):,}), "
    if np.isfinite(low):
        allowed = _allowed(sets, [one, other])
        apart = f"the difference is {write(low)} to {write(high)}, {allowed} allowed for (95%)"
    else:
        apart = "single runs show no spread"
    if low > 0:
        rest = " and the others less" * (len(others) > 1)
        text = f"“{best}” earned most, {write(one.mean)} an episode, and “{rival}” {write(other.mean)}{rest}"
        sentence = f"{where[0].upper()}{where[1:]}{text}; {apart}."
    else:
        text = f"“{best}” earned {write(one.mean)} an episode and “{rival}” {write(other.mean)}"
        sentence = f"{CANNOT_TELL}{where}{text}; {apart}."
    left_out = f" Left out, since fewer than nine of ten of their runs finished an episode: {names}." if names else ""
    return sentence + left_out, earned


def _difference(one: Earnings, other: Earnings) -> tuple[float, float]:
    """Return by how much one is ahead of another at least and at most, errors and missing episodes allowed for."""
    noise = float(np.hypot(one.error, other.error))
    return one.low - other.high - noise, one.high - other.low + noise


def _allowed(sets: Mapping[str, Runs], earned: list[Earnings]) -> str:
    """Return what the interval of a difference allows for, in words."""
    own = all(runs.about.own_logs for runs in sets.values())
    parts = ["the spread of runs"] if own else ["the spread of runs", "the luck of the log"]
    parts += ["runs that stopped early"] * any(found.missing for found in earned)
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _compare_by_steps(sets: Mapping[str, Runs]) -> str:
    """Return what learners earned a step, where episodes do not end: no verdict, since one episode shows no spread."""
    last = min(int(run.steps[-1]) if len(run.steps) else 0 for runs in sets.values() for run in runs)
    if not last:
        return f"{CANNOT_TELL}no episode ended, and some run stopped before its first reading."
    means = {}
    for name, runs in sets.items():
        steps, values = runs.curve(PER_STEP)
        means[name] = float(values[:, steps == last].mean())
    write = three_digits(*means.values())
    listed = ", ".join(f"“{name}” {write(mean)}" for name, mean in sorted(means.items(), key=lambda item: -item[1]))
    return (
        f"{CANNOT_TELL}no episode of this log ends, so one log has no spread to judge by. Over the first {last:,} "
        f"steps, which all runs reached, a step earned: {listed}."
    )


def _key(runs: Runs, *fields: str) -> str:
    """Return these fields of `About` as a text, equal for sets that agree in them; runs with logs of their own do."""
    fields = tuple(field for field in fields if field != "rows_of_log" or not runs.about.own_logs)
    return json.dumps([getattr(runs.about, field) for field in fields], sort_keys=True, default=str)
