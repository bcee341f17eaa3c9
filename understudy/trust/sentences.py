"""The decision between learners as a sentence, with its evidence."""

from collections.abc import Mapping

import numpy as np

from understudy.digits import between, span_of
from understudy.runs.nouns import one_of
from understudy.trust.decisions import Decision
from understudy.trust.windows import Windows

MOST_NAMED = 5
"""Learners that a sentence names one by one."""

FAR = 2
"""How many times as far the others must reach before the learner that ends first is named."""


def sentence_of(best: str, decisions: Mapping[str, Decision], windows: Windows, probe: str | None) -> str:
    """Return the decision between the best learner and the others, with its evidence and what limits it."""
    if len(decisions) == 1:
        [(other, decision)] = decisions.items()
        text = _of_two(best, other, decision, windows, probe)
    else:
        text = _of_many(best, decisions, windows, probe)
    return text + _limits(windows)


def _of_two(best: str, other: str, decision: Decision, windows: Windows, probe: str | None) -> str:
    where = _later_half(decision, windows)
    if not np.isfinite(decision.low):
        return f"this log cannot tell {best} from {other}: halves of it answer too few steps to show its luck"
    if not decision.ahead:
        low, high, what = decision.low, decision.high, _unit(probe, windows) or f" in {probe!r}"
        return f"this log cannot tell {best} from {other}: {where} they differ by {between(low, high)}{what}"
    by = f"by {between(decision.low, decision.high)}{_unit(probe, windows)} {where}"
    if not decision.begins or decision.reverse:
        before = _before(other, decision, windows, probe)
        return f"{best} {_more(probe)} than {other} {_begin(decision, windows)}{by}{before}"
    begin = _begin(decision, windows).removesuffix(", ")  # told of the span as a whole, and later window by window
    return f"{best} {_more(probe)} than {other} {by}; window by window, that shows {begin}"


def _of_many(best: str, decisions: Mapping[str, Decision], windows: Windows, probe: str | None) -> str:
    n = len(decisions) + 1
    where = _later_half(next(iter(decisions.values())), windows)
    closest = sorted(decisions, key=lambda name: decisions[name].mean)
    close = [name for name in closest if not decisions[name].ahead]
    if not close:
        rival = decisions[closest[0]]
        return (
            f"{best} {_more(probe)} than each of the {n - 1} others {where}: {between(rival.low, rival.high)}"
            f"{_unit(probe, windows)} more than {closest[0]}, which comes closest"
        )
    if len(close) == n - 1:
        return f"none of the {n} can be told from the best: {best} was ahead {where}, and any of them may be the best"
    named = ", ".join(close[:MOST_NAMED]) + (f" and {len(close) - MOST_NAMED} more" if len(close) > MOST_NAMED else "")
    n_less = n - 1 - len(close)
    one = "one" if len(close) == 1 else f"one of {len(close)}"
    rest = "other" if n_less == 1 else f"other {n_less}"
    return (
        f"the best of the {n} is {best} or {one} that cannot be told from it ({named}); {where} the {rest} "
        f"{_less(probe, n_less)}"
    )


def _later_half(decision: Decision, windows: Windows) -> str:
    return f"over {span_of(windows.unit, windows.first(decision.first), int(windows.ends[-1]))}"


def _begin(decision: Decision, windows: Windows) -> str:
    """Return from where on the one is ahead, in words; an episode with the step at which the slower one began it."""
    if decision.begins is None:
        return ""
    if decision.begins == 0:
        return f"from the first {'reading' if windows.unit == 'step' else windows.unit} on, "
    if windows.unit == "step":
        return f"from step {windows.ends[decision.begins]:,} on, "
    if windows.unit == "decision":  # each is a step
        return f"from decision {windows.first(decision.begins):,} on, "
    step = int(decision.curve.steps[decision.begins - 1])
    return f"from episode {windows.first(decision.begins):,} (step {step:,}) on, "


def _before(other: str, decision: Decision, windows: Windows, probe: str | None) -> str:
    """Return what is known of the time before the one is ahead."""
    if decision.reverse:
        return f"; at first {other} {_more(probe)}"
    if decision.begins is None:
        return "; from where on, this log cannot tell"
    return "" if decision.begins == 0 else "; before that this log cannot tell them apart"


def _limits(windows: Windows) -> str:
    """Return what cuts the comparison short, where one learner ends long before the others."""
    last = int(windows.ends[-1])
    if windows.longest < FAR * last:
        return ""
    return (
        f"; compared up to {windows.unit} {last:,}, where runs of {windows.shortest} end (the others reach "
        f"{windows.longest:,})"
    )


def _more(probe: str | None) -> str:
    return "earns more" if probe is None else f"has more {probe!r}"


def _less(probe: str | None, n: int) -> str:
    return f"earn{'s' * (n == 1)} less" if probe is None else f"{'has' if n == 1 else 'have'} less {probe!r}"


def _unit(probe: str | None, windows: Windows) -> str:
    return f" {one_of(windows.unit)}" if probe is None else ""
