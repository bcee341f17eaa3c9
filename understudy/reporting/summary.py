"""What was done and what was found, in a few sentences and numbers: the top of the page."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from understudy.digits import decimals, percent, span_of, three_digits
from understudy.evaluation import Efficiency, Fidelity
from understudy.evaluation.fidelity import ONE_LOG
from understudy.logs.findings import counted
from understudy.reporting.decision import Advice
from understudy.reporting.learners import ON_THEIR_WAY, n_learners
from understudy.reporting.luck import is_baseline
from understudy.reporting.measurements import Measurements
from understudy.reporting.returns import (
    cut_sentence,
    earnings_cell,
    earnings_format,
    first_episodes,
    log_sentence,
    log_value,
)
from understudy.reporting.rung_words import rung_sentences
from understudy.runs import Runs
from understudy.runs.nouns import noun_of, one_of
from understudy.trust import Comparison
from understudy.trust.deploying import DeployedLearner

MOST_LISTED = 6
"""Sets named in a sentence."""

MOST_TILES = 4

SIZES = ("n_observations", "n_actions", "n_states", "n_features", "seed")
"""Settings of learners that say how large the problem is, and are not choices."""


@dataclass(frozen=True)
class Tile:
    """One number that a reader should remember, and what it is."""

    value: str
    label: str


def setup_sentence(measured: Measurements) -> str:
    """Return one sentence: which learner ran, how often, on which log."""
    named, reference = measured.finished, measured.reference
    shown = {name: runs for name, runs in named.items() if name != reference} or dict(named)
    learners = {runs.about.learner_name for runs in shown.values()}
    kind = f"{learners.pop()} learner" if len(learners) == 1 and None not in learners else "learner"
    kind += learner_settings(shown) if n_learners(shown) == 1 else ""
    who = f"{n_learners(shown)} {kind}s" if n_learners(shown) > 1 else f"A {kind}"
    counts = sorted({len(runs) for runs in shown.values()})
    times = _times(counts[0]) if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,} times"
    text = f"{who} {_where(shown)} {times}"
    if len(shown) > 1:
        simulators = {json.dumps(runs.about.simulator, default=str) for runs in shown.values()}
        alike = len(simulators) < len(shown) or len({runs.about.rows_of_log for runs in shown.values()}) > 1
        text += f" in each of {len(shown)} sets of runs" if alike else f" under each of {len(shown)} simulators"
    if reference in named and reference not in shown:
        text += f", to be compared with {len(named[str(reference)]):,} runs of “{reference}”"
    return f"{text}."


def learner_settings(sets: Mapping[str, Runs]) -> str:
    """Return the settings of the learner of these sets in brackets, those that are numbers; empty where it has none.

    >>> from understudy.runs import About
    >>> about = About(learner={"class": "QLearning", "n_actions": 3, "epsilon": 0.1, "gamma": 0.95})
    >>> learner_settings({"psrs": Runs((), about)})
    ' (epsilon 0.1, gamma 0.95)'
    """
    known = next(iter(sets.values())).about.learner
    shown = [
        f"{name} {value:g}"
        for name, value in known.items()
        if name not in SIZES and isinstance(value, int | float) and not isinstance(value, bool)
    ]
    return f" ({', '.join(shown[:MOST_LISTED])})" if shown else ""


def propensity_sentences(measured: Measurements) -> list[str]:
    """Return where the propensities of the logs came from, a sentence for each source; empty where it is not known."""
    sources = dict.fromkeys(runs.about.log_propensities for runs in measured.finished.values())
    return [f"Propensities: {source}." for source in sources if source is not None]


def earnings_sentences(measured: Measurements) -> list[str]:
    """Return what an episode earned, beside the log's own; empty unless there is one learner and no reference."""
    named, earned = measured.finished, measured.earnings
    if not earned or measured.reference is not None or n_learners(named) != 1:
        return []
    name, one = next(iter(earned.items()))
    write = three_digits(one.mean, log_value(named, "log_return") or one.mean)
    whose = f" of “{name}”" if len(named) > 1 else ""
    noun = noun_of(named[name])
    past = one.steps > measured.trusted().get(name, one.steps)
    upto = "" if noun == "decision" else f"up to step {one.steps:,}, "
    where = f" ({upto}beyond what can be believed)" if past else ""
    earned_by = f"{one_of(noun)}{whose} earned {earnings_cell(one, write)}"
    told = f"Over {first_episodes(one, noun)} of each run{where}, {earned_by}."
    return [told, *([sentence] if (sentence := log_sentence(named)) else [])]


def pending_sentences(measured: Measurements) -> list[str]:
    """Return how many outcomes were on their way when runs of delayed learners stopped, a sentence for each set."""
    sentences = []
    for name, runs in measured.finished.items():
        left = [float(run.final[ON_THEIR_WAY]) for run in runs if ON_THEIR_WAY in run.final]
        if left:
            whose = f" of “{name}”" if len(measured.finished) > 1 else ""
            mean = sum(left) / len(left)
            sentences.append(
                f"When a run{whose} stopped, {mean:,.0f} outcomes, on average, were still on their way to the learner, "
                "which never learned from them."
            )
    return sentences


def unjudged_rungs(measured: Measurements) -> list[str]:
    """Return how far runs on a ladder are exact, a sentence for each set of which `belief` says nothing."""
    left = {name: found for name, found in measured.rungs.items() if name not in measured.luck}
    return rung_sentences(left, named=len(measured.finished) > 1)


def result_sentences(measured: Measurements) -> list[str]:
    """Return how long the log could answer, and how far off the curves are, in a few sentences."""
    named, reference, probe = measured.finished, measured.reference, measured.headline_probe
    lasting, close = _lasting(measured), _close(measured)
    longest = max(lasting, key=lambda name: lasting[name].steps)
    if not close:
        sentences = [f"“{longest}” {_answered(lasting[longest])}."]
        if len(lasting) > 1:
            shortest = min(lasting, key=lambda name: lasting[name].steps)
            sentences = [
                f"“{longest}” lasted longest: it {_answered(lasting[longest])}.",
                f"“{shortest}” was the shortest, with {lasting[shortest].steps:,.0f} steps.",
            ]
        if len(lasting) > 1 and lasting[longest].steps == lasting[shortest].steps:
            sentences = [f"Each set {_answered(lasting[longest])}."]
        if reference is not None and len(named) > 1:
            why = "they share no probe" if probe is None else "the notes below say why"
            sentences.append(f"How far that is from “{reference}” could not be measured: {why}.")
        return sentences

    closest = min(close, key=lambda name: close[name].rmse)
    best = close[closest]
    digits = decimals([best.rmse, best.floor])
    off = (
        f"the mean curve of its {probe} is off by an RMSE of {best.rmse:,.{digits}f}; "
        f"the noise floor is {best.floor:,.{digits}f}"
    )
    if len(close) == 1:
        first = f"“{closest}” {_answered(lasting[closest])}. Over the first {best.horizon:,} of these, {off}."
        return [first, *_verdict(best, digits)]
    reached = ", which all sets reached" if len(close) == len(named) - 1 else ""
    sentences = [
        f"Over the first {best.horizon:,} steps{reached}, the one closest to “{reference}” is “{closest}”: {off}.",
        *_verdict(best, digits),
        f"It {_answered(lasting[closest])}.",
    ]
    after = sorted((one.rmse, name) for name, one in close.items() if name != closest)
    listed = [f"“{name}” ({rmse:,.{digits}f})" for rmse, name in after[:MOST_LISTED]]
    more = [counted(len(after) - MOST_LISTED, "other")] if len(after) > MOST_LISTED else []
    sentences.append(f"After it {'come' if len(after) > 1 else 'comes'} {_listed([*listed, *more])}.")
    if longest != closest:
        sentences.append(f"“{longest}” lasted longest, {lasting[longest].steps:,.0f} steps.")
    return sentences


def tiles(measured: Measurements, told: Advice | None = None) -> list[Tile]:
    """Return the headline in numbers: what each of several learners earned, where that could be compared.

    Else the numbers of the set that is closest to the reference or, without one, that lasted longest. What was earned
    is told as far as it can be believed, with the luck of the log, where the decision `told` knows it.
    """
    if told is not None and told.comparison is not None and told.upto:
        return _tiles_of_learners(told.comparison)
    if measured.learners is not None and measured.learners.earned:
        earned = measured.learners.earned
        ranked = sorted(earned, key=lambda name: earned[name].mean, reverse=True)
        write = earnings_format(earned)
        shown = []
        for name in ranked[:MOST_TILES]:
            range_ = f" ({earnings_cell(earned[name], write)})" if earned[name].missing else ""
            noun, past = one_of(noun_of(measured.runs[name])), _past_belief(measured, name)
            shown.append(Tile(write(earned[name].mean), f"{noun}, “{name}”{range_}{past}"))
        return shown
    lasting, close, earned = _lasting(measured), _close(measured), measured.earnings
    if close:
        name = min(close, key=lambda name: close[name].rmse)
    else:
        name = max(lasting, key=lambda name: lasting[name].steps)
    one = lasting[name]
    whose = f" of “{name}”" if len(lasting) > 1 else ""
    least = "≥ " if one.share_served is not None and 2 * one.n_limited >= one.n_runs else ""
    shown = [Tile(f"{least}{one.steps:,.0f}", f"steps, the median run{whose}")]
    if one.share_served is not None:
        shown.append(Tile(f"{least}{percent(one.share_served)}", "of the log served"))
    if close:
        best = close[name]
        digits = decimals([best.rmse, best.floor])
        label = f"RMSE of {measured.headline_probe} over {best.horizon:,} steps"
        shown.append(Tile(f"{best.rmse:,.{digits}f}", label))
        shown.append(Tile(f"{best.floor:,.{digits}f}", "noise floor of that RMSE"))
    elif told is not None and name in told.deployments:
        shown += _tiles_of_deployment(told.deployments[name], whose)
    elif name in earned:
        write = earnings_format(earned)
        without = ", cut ones left out" * (cut_sentence({name: measured.runs[name]}) is not None)
        which = f"the first {earned[name].episodes:,} of each run{without}"
        noun = one_of(noun_of(measured.runs[name]))
        shown.append(Tile(earnings_cell(earned[name], write), f"{noun}{whose}, {which}{_past_belief(measured, name)}"))
        if (log_return := log_value(measured.finished, "log_return")) is not None:
            shown.append(Tile(write(log_return), f"{noun} of the log"))
    else:
        shown.append(Tile(f"{one.n_runs:,}", "runs"))
    return shown


def _past_belief(measured: Measurements, name: str) -> str:
    """Return what a tile says where what a set earned is counted further than it can be believed."""
    past = measured.earnings[name].steps > measured.trusted().get(name, measured.earnings[name].steps)
    return ", beyond what can be believed" * past


def _tiles_of_learners(found: Comparison) -> list[Tile]:
    """Return what an episode of each learner earns, or its probe, the best first, with the log's luck."""
    names = sorted(found.learners, key=lambda name: -found.means[name].final[0])[:MOST_TILES]
    write = three_digits(*(found.means[name].final[0] for name in names))
    what = found.probe or one_of(found.windows.unit)
    shown = []
    for name in names:
        mean, low, high = found.means[name].final
        shown.append(
            Tile(
                write(mean),
                f"{what}, “{name}” (95%: {write(low)} to {write(high)})",
            )
        )
    return shown


def _tiles_of_deployment(found: DeployedLearner, whose: str) -> list[Tile]:
    """Return what an episode earns as far as the log can be believed, and what one of the log earned."""
    logged = found.against.logged
    write = three_digits(logged, found.mean)
    low, high = (f"{'+' if value >= 0 else '-'}{write(abs(value))}" for value in (found.low, found.high))
    noun, which = one_of(found.noun), span_of(found.noun, found.first, found.last)
    return [
        Tile(
            write(logged + found.mean),
            f"{noun}{whose}, {which}, as far as believed (against the log {low} to {high}, 95%)",
        ),
        Tile(write(logged), f"{noun} of the log"),
    ]


def _lasting(measured: Measurements) -> dict[str, Efficiency]:
    """Return the efficiency of each set but the reference and baselines; of these where there are no others."""
    found = measured.efficiency
    others = {name: one for name, one in found.items() if name != measured.reference}
    judged = {name: one for name, one in others.items() if not is_baseline(measured.runs[name])}
    return judged or others or found


def _close(measured: Measurements) -> dict[str, Fidelity]:
    """Return the fidelity of the headline probe in each set where it could be measured."""
    probe = measured.headline_probe
    found = {} if probe is None else measured.fidelity[probe].at_shared
    return {name: one for name, one in found.items() if isinstance(one, Fidelity)}


def _where(shown: Mapping[str, Runs]) -> str:
    """Return what the learner did, and on what."""
    own = {runs.about.own_logs for runs in shown.values()}
    if True in own:
        return "rehearsed on one log, or on one for each run," if len(own) > 1 else "rehearsed on a log for each run,"
    logs = {runs.about.rows_of_log: (runs.about.log_rows, runs.about.log_episodes) for runs in shown.values()}
    sizes = set(logs.values())
    if any(rows is None for rows, _ in sizes):
        return "ran"
    if len(logs) > 1:
        return f"rehearsed on {len(logs)} different logs"
    ((rows, episodes),) = sizes
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
