"""A learner beside the logging policy, in sentences: what it earns, from when on, how fast, and at what risk."""

from typing import Any

import numpy as np

from understudy.digits import percent, span_of, three_digits
from understudy.reporting.luck import USUAL_RUNS
from understudy.runs.nouns import one_of
from understudy.trust.against_log import UNKNOWN, AgainstLog
from understudy.trust.deploying import DeployedLearner
from understudy.trust.onsets import Onset

LOGGED = "the logging policy"

MUCH = 0.25
"""The share of the spread of the log's returns from which on it is said to be due to a single episode."""


def evidence_of(who: str, found: DeployedLearner) -> list[str]:
    """Return what an episode earns beside the log's own, how fast, and what deploying costs until then."""
    against, noun = found.against, found.noun
    write = three_digits(against.logged, found.mean)
    step = "" if noun == "decision" else f" (up to step {against.difference.steps[-1]:,})"  # each decision is a step
    together = "" if found.n_learners == 1 else f" for all {found.n_learners} learners together"
    ends = f"{_signed(found.low, write)} to {_signed(found.high, write)}"
    earned = f"{write(against.logged + found.mean)} {one_of(noun)}"
    total, low, high = (-value for value in against.regret.final)
    in_all = three_digits(total)
    earns = (
        f"In {span_of(noun, found.first, found.last)}{step}, {who} earns {earned}, "
        f"{_more_or_less(found.mean, write)} than the log, whose {noun}s earned "
        f"{write(against.logged)}{_which(against)}"
    )
    if not (found.is_known and np.isfinite(against.worse_in_all[-1])):
        return [f"{earns}; {UNKNOWN}."]
    return [
        f"{earns}: {ends} with a probability of 95%{together}, the luck of the log included{_wider(against, write)}.",
        *_rests_on_one(against),
        *_from_when(who, found),
        *_how_fast(found),
        f"By {noun} {found.last:,} deployments have earned {_more_or_less(total, in_all)} in all, on average "
        f"({_signed(high, in_all)} to {_signed(low, in_all)}); a single one has earned less than {LOGGED} by then "
        f"with a probability of {_chance(against.worse_in_all[-1])}.{_worst(found, write)}",
    ]


def _rests_on_one(against: AgainstLog) -> list[str]:
    """Return a sentence where one episode of the log makes up much of what is known of its mean."""
    if against.single < MUCH:
        return []
    return [
        f"A single {against.noun} makes up {percent(against.single)} of the spread of what {against.noun}s of the log "
        "earned: their mean, and all that is compared with it, rests on that one."
    ]


def _wider(against: AgainstLog, write: Any) -> str:
    """Return how much of an interval is for what no spread shows, in words."""
    reasons = {"episodes of the log that were cut off": against.cut, "a bound that was exceeded": against.bias}
    told = [f"{write(much)} of it, to each side, for {reason}" for reason, much in reasons.items() if much]
    return f" ({'; '.join(told)})" if told else ""


def _worst(found: DeployedLearner, write: Any) -> str:
    """Return where deployments earn least, if that is told to be less than the log: else it is the chance of many.

    Any stretch may turn out to be the one that earns least, so intervals are widened for their number.
    """
    difference = found.against.difference
    high = difference.mean + (difference.high - difference.mean) * wider(found.against.level, len(difference.mean))
    if not (high < 0).any():
        return f" No {_stretch(found)} by itself is shown to earn less than the log."
    if high[int(np.argmin(difference.mean))] >= 0:  # which one earns least is not told
        return ""
    first, last, least = found.against.worst
    return (
        f" The least that deployments earn, on average, is {_more_or_less(least, write)} {one_of(found.noun)} than the "
        f"log, in {span_of(found.noun, first, last)}."
    )


def wider(level: float, n: int) -> float:
    """Return how many times as wide intervals of a level are where n of them shall hold together.

    >>> round(wider(0.95, 16), 2)
    1.51
    """
    from scipy.stats import norm

    return float(norm.ppf((1 + 1 - (1 - level) / n) / 2) / norm.ppf((1 + level) / 2))


def _stretch(found: DeployedLearner) -> str:
    """Return what a window of episodes is, in words, such as "stretch of 25 episodes"."""
    sizes = found.against.last - found.against.first + 1
    least, most = int(sizes.min()), int(sizes.max())
    return found.noun if most == 1 else f"stretch of {f'{least:,} to ' * (least < most)}{most:,} {found.noun}s"


def at_first(found: DeployedLearner) -> float | None:
    """Return how much more the episodes before the later half earn than the log, by the mean over runs.

    None unless that is as far from the log as what the later half earns, and on the same side.
    """
    against = found.against
    earlier = against.last < found.first
    if found.begins is None or found.begins.earliest or not earlier.any():
        return None
    sizes = (against.last - against.first + 1)[earlier]
    mean = float(np.average(against.difference.mean[earlier], weights=sizes))
    return mean if (mean <= found.mean if found.worse else mean >= found.mean) else None


def where_told(found: DeployedLearner, whose: str = "this") -> str:
    """Return of which episodes the verdict is, in words that follow "better than the logging policy"."""
    before = at_first(found)
    if found.from_step == 0 or (found.from_step and (found.better or before is None)):
        return f" {found.since}"
    later = f" its later {found.noun}s ({found.first:,}{f' to {found.last:,}' * (found.last > found.first)}"
    return f" in{later}; from when on, {whose} log cannot tell)" if before is None else f", also in{later})"


def _from_when(who: str, found: DeployedLearner) -> list[str]:
    """Return between which episodes it begins to be better or worse; empty where it is from the first one on."""
    begins = found.begins
    if begins is None or begins.latest == 0:
        return []
    undecided = (begins.latest or len(found.against.last)) - 1
    of_runs = found.against.difference.from_runs[undecided] > found.against.difference.from_log[undecided]
    # Few runs show the luck of the log itself poorly: what is taken for it may be theirs.
    helps = "More runs would" if of_runs else "A longer log would"
    if found.n_runs < USUAL_RUNS:
        helps = f"More runs (--runs {USUAL_RUNS}), or a longer log, may"
    helps += " narrow this down."
    mean = "" if begins.by_mean is None else f"by the mean over runs, from {_place(found, begins.by_mean)} on"
    if _says_nothing(begins):
        if (earlier := at_first(found)) is not None:
            write = three_digits(found.against.logged, earlier)
            return [
                f"In the {found.noun}s before, {who} earns {_more_or_less(earlier, write)} {one_of(found.noun)} than "
                "the log, by the mean over runs."
            ]
        return [f"From when on {who} is {found.verdict} is not certain{mean and f': {mean}'}. {helps}"]
    who = f"{who[0].upper()}{who[1:]}"
    if begins.latest is None:
        open_ended = f"before {_place(found, begins.earliest)}, and this log cannot tell by when it does"
        return [f"{who} does not begin to be {found.verdict} {open_ended}{mean and f' ({mean})'}. {helps}"]
    return [f"{who} begins to be {found.verdict} {_between(found, begins)}{mean and f' ({mean})'}. {helps}"]


def _how_fast(found: DeployedLearner) -> list[str]:
    """Return by when half of the gain is there, and stays; empty where nothing is gained, or not by the end."""
    half = found.half_gain
    if half is None or half.by_mean is None:
        return []
    if half.latest == 0:
        return [f"At least half of that gain is there from the first {found.noun} on."]
    mean = f"(by the mean over runs, from {_place(found, half.by_mean)} on)"
    if _says_nothing(half):
        return [f"From when on half of that gain is there is not certain: {mean.strip('()')}."]
    return [f"Half of that gain is reached, and kept from then on, {_between(found, half)} {mean}."]


def _which(against: AgainstLog) -> str:
    """Return which of the log's episodes are meant, where not all are, and how many were cut off and count as whole."""
    first = [] if against.complete is None else [f"the first {against.complete:,}, before one that is not finished"]
    first += ["those that runs met by then, in the log's own order"] * against.along
    n = against.cut_off
    cut = [f"{n:,} of them {'was' if n == 1 else 'were'} cut off, and count{'s' * (n == 1)} up to there"] if n else []
    return f" ({'; '.join([*first, *cut])})" if first or cut else ""


def _says_nothing(begins: Onset) -> bool:
    """True if something may begin anywhere."""
    return not begins.earliest and begins.latest is None


def _between(found: DeployedLearner, begins: Onset) -> str:
    """Return between which episodes something begins, in words."""
    earliest = _place(found, begins.earliest)
    if begins.latest is None:
        return f"not before {earliest}, and this log cannot tell by when"
    if begins.latest == begins.earliest:
        return f"at {earliest}"
    if not begins.earliest:
        return f"at {_place(found, begins.latest)} at the latest, with a probability of 95%"
    return f"between {earliest} and {_place(found, begins.latest)} with a probability of 95%"


def _place(found: DeployedLearner, place: int) -> str:
    """Return the first episode of a window, with the step at which it began."""
    if not place:
        return f"the first {found.noun}"
    place = min(place, len(found.against.first) - 1)  # where it begins after all windows, it does after the last began
    at = "" if found.noun == "decision" else f" (step {found.begun(place):,})"
    return f"{found.noun} {int(found.against.first[place]):,}{at}"


def _more_or_less(value: float, write: Any) -> str:
    return f"{write(abs(value))} {'more' if value >= 0 else 'less'}"


def _chance(probability: float) -> str:
    return "less than 1%" if probability < 0.005 else f"{probability:.0%}"


def _signed(value: float, write: Any) -> str:
    text = write(abs(value))
    return f"{'+' if value >= 0 else '-'}{text}" if text.strip("0.") else text
