"""What was done and what came of it, in a few plain sentences."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from understudy.evaluation import Efficiency, Fidelity, earnings, efficiency
from understudy.evaluation.fidelity import ONE_LOG
from understudy.reporting.learners import Rivals, n_learners
from understudy.reporting.tables import (
    Comparisons,
    decimals,
    earned_cell,
    figures,
    figures_of,
    logged,
    logged_sentence,
    percent,
)
from understudy.runs import Runs

MOST_LISTED = 6
"""Sets named in a sentence."""

MOST_TILES = 4


@dataclass(frozen=True)
class Tile:
    """One number that a reader should leave with."""

    value: str
    label: str


def what_was_done(named: Mapping[str, Runs], reference: str | None) -> str:
    """One sentence: which learner, how often, on which log."""
    shown = {name: runs for name, runs in named.items() if name != reference} or dict(named)
    learners = {runs.about.get("learner", {}).get("class", "") for runs in shown.values()}
    kind = f"{learners.pop()} learner" if len(learners) == 1 and "" not in learners else "learner"
    who = f"{n_learners(shown)} {kind}s" if n_learners(shown) > 1 else f"A {kind}"
    counts = sorted({len(runs) for runs in shown.values()})
    times = _times(counts[0]) if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,} times"
    text = f"{who} {_where(shown)} {times}"
    if len(shown) > 1:
        simulators = {json.dumps(runs.about.get("simulator"), default=str) for runs in shown.values()}
        alike = len(simulators) < len(shown)
        text += f" in each of {len(shown)} sets of runs" if alike else f" under each of {len(shown)} simulators"
    if reference in named and reference not in shown:
        text += f", to be compared with {len(named[str(reference)]):,} runs of “{reference}”"
    return f"{text}."


def what_was_earned(named: Mapping[str, Runs], reference: str | None) -> list[str]:
    """What an episode earned, beside the log's own: where one learner is looked at by itself."""
    earned = earnings(named) if reference is None and n_learners(named) == 1 else {}
    if not earned:
        return []
    name, one = next(iter(earned.items()))
    show = figures(one.mean, logged(named, "log_return") or one.mean)
    whose = f" of “{name}”" if len(named) > 1 else ""
    which = f"the first {one.episodes:,} episodes" if one.episodes > 1 else "the first episode"
    sentences = [f"Over {which} of each run, an episode{whose} earned {earned_cell(one, show)}."]
    return sentences + ([told] if (told := logged_sentence(named)) else [])


def what_came_of_it(
    named: Mapping[str, Runs], reference: str | None, probe: str | None, found: Comparisons | None
) -> list[str]:
    """The answer in a few sentences: how long the log could answer, and how far off the curves are."""
    lasting = {name: efficiency(runs) for name, runs in named.items() if name != reference or len(named) == 1}
    measured = _measured(found)
    longest = max(lasting, key=lambda name: lasting[name].steps)
    if not measured or found is None:
        sentences = [f"“{longest}” {_answered(lasting[longest])}."]
        if len(lasting) > 1:
            shortest = min(lasting, key=lambda name: lasting[name].steps)
            sentences = [
                f"“{longest}” lasted longest: it {_answered(lasting[longest])}.",
                f"“{shortest}” was the shortest, with {lasting[shortest].steps:,.0f} steps.",
            ]
        if reference is not None and len(named) > 1:
            why = "they share no probe" if found is None else "the notes below say why"
            sentences.append(f"How far that is from “{reference}” could not be measured: {why}.")
        return sentences

    closest = min(measured, key=lambda name: measured[name].rmse)
    best = measured[closest]
    digits = decimals([best.rmse, best.floor])
    off = (
        f"the mean curve of its {probe} is off by an RMSE of {best.rmse:,.{digits}f}; "
        f"the noise floor is {best.floor:,.{digits}f}"
    )
    if len(measured) == 1:
        first = f"“{closest}” {_answered(lasting[closest])}. Over the first {best.horizon:,} of these, {off}."
        return [first, *_verdict(best, digits)]
    reached = ", which all sets reached" if len(measured) == len(found.together) else ""
    sentences = [
        f"Over the first {best.horizon:,} steps{reached}, the one closest to “{reference}” is “{closest}”: {off}.",
        *_verdict(best, digits),
        f"It {_answered(lasting[closest])}.",
    ]
    after = sorted((one.rmse, name) for name, one in measured.items() if name != closest)
    listed = [f"“{name}” ({rmse:,.{digits}f})" for rmse, name in after[:MOST_LISTED]]
    more = [f"{len(after) - MOST_LISTED} others"] if len(after) > MOST_LISTED else []
    sentences.append(f"After it {'come' if len(after) > 1 else 'comes'} {_listed([*listed, *more])}.")
    if longest != closest:
        sentences.append(f"“{longest}” lasted longest, {lasting[longest].steps:,.0f} steps.")
    return sentences


def tiles(
    named: Mapping[str, Runs],
    reference: str | None,
    probe: str | None,
    found: Comparisons | None,
    rivals: Rivals | None = None,
) -> list[Tile]:
    """The headline in numbers: what each of several learners earned, where that could be compared.

    Else of the set that is closest to the reference, or that lasted longest.
    """
    if rivals is not None and rivals.earned:
        ranked = sorted(rivals.earned, key=lambda name: rivals.earned[name].mean, reverse=True)
        show = figures_of(rivals.earned)
        shown = []
        for name in ranked[:MOST_TILES]:
            earned_by = rivals.earned[name]
            range_ = f" ({earned_cell(earned_by, show)})" if earned_by.missing else ""
            shown.append(Tile(show(earned_by.mean), f"an episode, “{name}”{range_}"))
        return shown
    measured = _measured(found)
    lasting = {name: efficiency(runs) for name, runs in named.items() if name != reference or len(named) == 1}
    if measured:
        name = min(measured, key=lambda name: measured[name].rmse)
    else:
        name = max(lasting, key=lambda name: lasting[name].steps)
    one = lasting[name]
    least = "≥ " if one.share_served is not None and 2 * one.n_limited >= one.n_runs else ""
    shown = [Tile(f"{least}{one.steps:,.0f}", "steps, the median run" + (f" of “{name}”" if len(lasting) > 1 else ""))]
    if one.share_served is not None:
        shown.append(Tile(f"{least}{percent(one.share_served)}", "of the log served"))
    if measured:
        best = measured[name]
        digits = decimals([best.rmse, best.floor])
        shown.append(Tile(f"{best.rmse:,.{digits}f}", f"RMSE of {probe} over {best.horizon:,} steps"))
        shown.append(Tile(f"{best.floor:,.{digits}f}", "noise floor of that RMSE"))
    elif (earned := earnings(named)).get(name) is not None:
        show = figures_of(earned)
        whose = f" of “{name}”" if len(lasting) > 1 else ""
        which = f"the first {earned[name].episodes:,} of each run"
        shown.append(Tile(earned_cell(earned[name], show), f"an episode{whose}, {which}"))
        if (log_return := logged(named, "log_return")) is not None:
            shown.append(Tile(show(log_return), "an episode of the log"))
    else:
        shown.append(Tile(f"{one.n_runs:,}", "runs"))
    return shown


def _measured(found: Comparisons | None) -> dict[str, Fidelity]:
    together = {} if found is None else found.together
    return {name: one for name, one in together.items() if isinstance(one, Fidelity)}


def _where(shown: Mapping[str, Runs]) -> str:
    """What the learner did, and on what."""
    own = {bool(runs.about.get("own_logs")) for runs in shown.values()}
    if True in own:
        return "rehearsed on one log, or on one for each run," if len(own) > 1 else "rehearsed on a log for each run,"
    logs = {runs.about.get("log_rows"): runs.about.get("log_episodes") for runs in shown.values()}
    if None in logs:
        return "ran"
    if len(logs) > 1:
        return f"rehearsed on {len(logs)} logs"
    ((rows, episodes),) = logs.items()
    return f"rehearsed on a log of {rows:,} rows" + (f" ({episodes:,} episodes)" if episodes else "")


def _answered(one: Efficiency) -> str:
    middle = "" if one.n_runs == 1 else ", the median over runs" if one.share_served is None else "; median over runs"
    if one.share_served is None:
        return f"went on for {one.steps:,.0f} steps{middle}"
    least = "at least " if 2 * one.n_limited >= one.n_runs else ""
    return f"could answer for {least}{one.steps:,.0f} steps ({percent(one.share_served)} of the log{middle})"


def _verdict(one: Fidelity, digits: int) -> list[str]:
    if one.interval is None or one.margin is None:
        return ["The runs share one log, whose luck is in this number too."] if one.note == ONE_LOG else []
    low, high = (max(0.0, end) ** 0.5 for end in one.interval)
    return [
        f"Noise taken off, the error is between {low:,.{digits}f} and {high:,.{digits}f} ({one.level:.0%}): "
        f"{one.verdict} at a margin of {one.margin:,.{digits}f}."
    ]


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
