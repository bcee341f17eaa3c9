"""The decision in words, with which a page begins: deploy the learner or go on as logged, or that neither is told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.digits import span_of, three_digits
from understudy.errors import UnderstudyError
from understudy.evaluation import Halves
from understudy.reporting.belief import Belief
from understudy.reporting.deployment_words import LOGGED, evidence_of, where_told
from understudy.reporting.learners import n_learners
from understudy.reporting.luck import USUAL_RUNS, LuckOfSet, is_baseline
from understudy.reporting.measurements import Measurements
from understudy.runs import Runs
from understudy.runs.nouns import noun_of, one_of, place_of
from understudy.trust import Comparison
from understudy.trust.against_log import UNKNOWN
from understudy.trust.deploying import DeployedLearner, deploying

MOST_TOLD = 5
"""Learners of which the page says whether to deploy them."""

NOWHERE = "at no step was this log shown to be believable"
NOT_YET = "a reason to log more, and not yet one to decide"

SHARE_OF_RUNS = 0.1
"""The share of the variance that is due to runs, from which on more of them are advised."""

FEW_RUNS = 4 * USUAL_RUNS
"""Runs below which more of them may tell what was not told."""


@dataclass(frozen=True)
class Advice:
    """What to do, in a sentence, with its evidence: `deployments` and `comparison` have the numbers."""

    answer: str  # "better", "worse", "not told" (than the log), or "not believed"
    sentence: str
    evidence: list[str]
    deployments: Mapping[str, DeployedLearner]  # by the names of the sets, those that could be compared with the log
    comparison: Comparison | None = None  # of several learners on the same halves of one log
    whole: Comparison | None = None  # the same up to the end of all runs, beyond what can be believed, too
    upto: int | None = None  # the step up to which learners can be compared

    @property
    def believed(self) -> Comparison | None:
        """The comparison as far as the log can be believed; None where there is nothing to compare up to there."""
        return None if self.upto is None or self.comparison is self.whole else self.comparison

    @property
    def tone(self) -> str:
        """The answer by which the page colors its first sentence: "not told", too, where the choice is not."""
        undecided = self.comparison is not None and not self.comparison.is_decided
        return "not told" if undecided and self.answer == "better" else self.answer

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return {
            "answer": self.answer, "sentence": self.sentence, "evidence": self.evidence,
            "deployments": {name: one.to_json() for name, one in self.deployments.items()},
            "comparison": None if self.comparison is None else self.comparison.to_json(),
        }  # fmt: skip


def advice(measured: Measurements, found: Belief | None) -> Advice | None:
    """Return what to do by these runs; None where none of them is on one log.

    What an episode earns, or a probe, is compared only as far as the log can be believed.
    """
    every = [name for name in measured.luck if not is_baseline(measured.runs[name])]
    if found is None or not every:
        return None
    judged = [name for name in every if name not in found.doubted]
    if not judged:
        reasons = "; ".join(_uncapital(one) for one in dict.fromkeys(found.doubted[name] for name in every))
        return Advice("not believed", f"Do not decide by this page: {reasons}.", [], {})
    refused = [f"Do not decide by “{name}”: {_uncapital(found.doubted[name])}." for name in every if name not in judged]
    halved = _comparable(measured, judged)
    trusted, by = measured.trusted(), measured.compared_by
    upto = min((measured.trusted(by).get(name, 0) for name in halved), default=0)
    comparison, past_belief = _compared(halved, by, upto) if upto else None, _compared(halved, by)
    chosen = one_of_each_learner(measured, judged)
    if comparison is not None and comparison.best in chosen:  # the choice first
        chosen = [comparison.best, *(name for name in chosen if name != comparison.best)]
    told = {name: _deployed(measured, name, len(chosen)) for name in chosen[:MOST_TOLD]}
    several = len(chosen) > 1 or bool(refused)
    by_one = len(judged) > len(chosen)  # of several simulators, or of several runs of one learner
    whose = {
        name: f"“{name}”" if several else _learner_of(measured.runs[name]) + f" (by “{name}”)" * by_one for name in told
    }
    logs = {measured.runs[name].about.log for name in every}
    sentences = [
        _sentence(whose[name], one, trusted.get(name), noun_of(measured.runs[name]), "its" if len(logs) > 1 else "this")
        for name, one in told.items()
    ]
    deployments = {name: one for name, one in told.items() if isinstance(one, DeployedLearner)}
    (first, found_of_first), *_ = told.items()
    evidence = []
    if isinstance(found_of_first, DeployedLearner):
        evidence = evidence_of(whose[first] if several else "it", found_of_first)
    answer = found_of_first.verdict if isinstance(found_of_first, DeployedLearner) else "not told"
    if answer == "not told":
        if isinstance(found_of_first, DeployedLearner):
            evidence.append(_what_may_tell(found_of_first, measured.luck[first]))
        evidence += _beyond(measured, first, whose[first], len(chosen))
    if past_belief is not None:
        none = [name for name in halved if not measured.trusted(by).get(name)]
        noun = noun_of(*(measured.runs[name] for name in halved))
        none = none if len(none) < len(halved) else []
        sentences.insert(0, _choice(comparison, by, place_of(noun, upto) if upto else None, none, noun))
        if past_belief.is_decided and (comparison is None or not comparison.is_decided):
            sentences.insert(1, f"Beyond what can be believed, {past_belief.sentence}: {NOT_YET}.")
    main, *others = [*sentences, *refused]
    return Advice(answer, main, [*others, *evidence], deployments, comparison or past_belief, past_belief, upto or None)


def _choice(
    found: Comparison | None, probe: str | None, upto: str | None, none: Sequence[str], noun: str = "episode"
) -> str:
    """Return which of several learners to choose, or that it cannot be told; names stay as they were given.

    `none` are those of which no step can be believed, where some steps of others can.
    """
    if found is None:
        few = f"too few {noun}s end" if probe is None else f"there is no reading of {probe!r}"
        reason = f"{few} by {upto}, up to which it can be believed" if upto else NOWHERE
        if none:
            reason = f"there is no step up to which {' and '.join(f'“{name}”' for name in none)} can be believed"
        return f"Which learner to choose cannot be told from this log: {reason}."
    far = f"{upto}" + f" of {probe!r}" * (probe is not None)
    if found.is_decided:
        return f"Choose {found.best}, as far as this log can be believed ({far}): {found.sentence}."
    believed = f"s far as this log can be believed ({far}), {found.sentence}"
    if len(found.undecided) == len(found.learners) - 1 > 1:  # of two, the sentence says it itself
        return f"This log cannot tell which learner to choose: a{believed}."
    return f"A{believed}."


def _beyond(measured: Measurements, name: str, who: str, n_learners: int) -> list[str]:
    """Return what runs show past the step that can be believed, where it is clear: a reason to log more."""
    luck = measured.luck[name]
    if not isinstance(luck, LuckOfSet):
        return []
    try:
        found = deploying(name, luck.halves, n_learners=n_learners)
    except UnderstudyError:
        return []
    if found.verdict == "not told":
        return []
    write, (least, most) = three_digits(found.low, found.high), sorted(map(abs, (found.low, found.high)))
    noun = found.noun
    step = "" if noun == "decision" else f" (up to step {found.against.difference.steps[-1]:,})"
    more = "more" if found.better else "less"
    return [
        f"With what lies beyond what can be believed, in {span_of(noun, found.first, found.last)}{step}, runs of {who} "
        f"earn {write(least)} to {write(most)} {more} {one_of(noun)} than the log: {NOT_YET}."
    ]


def _what_may_tell(found: DeployedLearner, luck: LuckOfSet | str) -> str:
    """Return what may tell a learner from the log: more runs are the cheaper way, as long as they make a difference."""
    noise = isinstance(luck, LuckOfSet) and bool(luck.trusted) and luck.trusted[luck.probe].reason == "noise"
    if found.n_runs < FEW_RUNS and (noise or found.share_of_runs > SHARE_OF_RUNS):
        return f"More runs may tell (--runs {max(FEW_RUNS, 2 * found.n_runs)}), and so may a longer log."
    return "A longer log may tell."


def one_of_each_learner(measured: Measurements, judged: list[str]) -> list[str]:
    """Return a set of each learner on each log: of several simulators, the one that can be believed for longest."""
    trusted = measured.trusted()
    chosen: list[str] = []
    for name in sorted(judged, key=lambda name: -trusted.get(name, 0)):
        if all(_differ(measured.runs[one], measured.runs[name]) for one in chosen):
            chosen.append(name)
    return sorted(chosen, key=judged.index)


def _learner_of(runs: Runs) -> str:
    return runs.about.learner_name or "this learner"


def _differ(one: Runs, other: Runs) -> bool:
    """True if two sets are of two learners, or on two logs."""
    return n_learners({"one": one, "other": other}) > 1 or one.about.log != other.about.log


def _deployed(measured: Measurements, name: str, n_learners: int) -> DeployedLearner | str:
    """Return a set beside the logging policy, or why they cannot be compared."""
    luck = measured.luck[name]
    if not isinstance(luck, LuckOfSet):
        return luck
    upto = measured.trusted().get(name)
    if not upto:
        return NOWHERE
    try:
        return deploying(name, luck.halves, upto, n_learners)
    except UnderstudyError as error:
        return str(error).split(";")[0]


def _sentence(who: str, found: DeployedLearner | str, upto: int | None, noun: str, whose: str) -> str:
    untold = f"Whether deploying {who} is better than {LOGGED} cannot be told from {whose} log"
    if isinstance(found, str):
        return f"{untold}: {found}."
    far = f"up to {place_of(noun, upto or 0)}"
    if not found.is_known:
        return f"{untold}: {UNKNOWN}."
    if found.verdict == "not told":
        return f"{untold}: it can be believed {far}, and up to there both may earn the same."
    where = where_told(found, whose)
    return f"Deploying {who} is likely {found.verdict} than {LOGGED}{where}; {whose} log can be believed {far}."


def _comparable(measured: Measurements, judged: list[str]) -> dict[str, Halves]:
    """Return the sets, one of each learner, that ran on halves of one log under one simulator; empty below two."""
    halved = {name: found.halves for name in judged if isinstance(found := measured.luck[name], LuckOfSet)}
    alike = {(one.runs.about.simulator_name, one.runs.about.states) for one in halved.values()}
    learners = n_learners({name: measured.runs[name] for name in halved})
    return halved if learners == len(halved) > 1 and len(alike) == 1 else {}


def _compared(halved: Mapping[str, Halves], probe: str | None, upto: int | None = None) -> Comparison | None:
    """Return learners compared on the same halves of one log, up to a step if given; None where that is impossible."""
    try:
        found = Comparison(halved, probe, upto=upto)
        found.sentence  # noqa: B018 (raises where there is too little to compare)
    except UnderstudyError:
        return None
    return found


def _uncapital(words: str) -> str:
    return words[0].lower() + words[1:]
