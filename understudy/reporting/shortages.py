"""What to log more of, so that runs go on for longer, in the words of the log's own columns and labels."""

from collections import Counter
from collections.abc import Mapping

from understudy.contracts import Stop
from understudy.evaluation import efficiency
from understudy.logs.findings import counted
from understudy.reporting.luck import is_baseline
from understudy.runs import Runs
from understudy.trust import Forecast

MANY_OFFERED = 3
"""Rows that were offered for one that was served, from which it is said why."""

MOST_NAMED = 4
"""Places that a sentence names."""

NEVER = "never logged"

EVERYWHERE = {
    "no opening": "episodes, all of whose openings were used",
    "used up": "episodes, all of which were offered",
    "no row": "rows, all of which were used",
}
"""What to log more of where a run did not stop in a state."""

TAKEN_FOR_GRANTED = {
    "--simulator qbe": "which takes rows by what is observed and done, and is exact where the logger chose by nothing "
    "else than what is observed, or its states",
    "--reserve": "which keeps rows that were not accepted for later steps, and is as exact",
}
"""What each flag does to answer for longer, and on what condition."""


CAUSES_IN_WORDS = {
    "queue empty": "no row was left",
    "queue empty for action": "no row with the chosen action was left",
    "unsupported": "no row was left in which the chosen action could be taken",
    NEVER: "the log never acted from there",
    "no state": "the encoder knows no state for it",
    "no row": "every row was used",
    "no opening": "no episode was left to begin with",
    "used up": "every episode was offered",
    "too many cut": "too many episodes had to be cut",
    "max steps": "it was to go no further (--max-steps)",
    "learner ended": "the learner asked for no further step",
    "cut off": "the recording stopped there",
}
"""Why a run stopped, for readers who know nothing of queues. Causes that are not here are words already."""


def shortage_sentences(sets: Mapping[str, Runs]) -> list[str]:
    """Return what to log more of, a sentence for each set of which runs stopped since the log had no answer.

    Baselines are left out: they use up other rows than a learner.
    """
    sentences = []
    for name, runs in sets.items():
        if runs.about.is_real or is_baseline(runs):
            continue
        stops = [run.stopped for run in runs]
        words = {stop.group: missing for stop in stops if (missing := shortage(stop))}
        lacking, never = (
            Counter(
                words[one.group] for one in stops if one.group in words and (one.cause == "never logged") == unknown
            )
            for unknown in (False, True)
        )
        whose = f"For “{name}”, log" if len(sets) > 1 else "Log"
        if lacking:
            sentences.append(f"{whose} more of what ran out first: {_listed(lacking, len(runs))}.")
        if never:
            sentences.append(
                f"{whose} what is done after {_listed(never, len(runs))}: this log has seen it and has no row that "
                "begins there, so that more of the same log may not help."
            )
        if not words:
            continue
        offered = efficiency(runs).rows_per_step if runs.about.simulator_name == "replay" else None
        if offered is not None and offered >= MANY_OFFERED:
            sentences.append(
                f"One row in {offered:.1f} was served{f' for “{name}”' * (len(sets) > 1)}: as many as the smallest "
                "probability that the logging policy gave to an action lets be. A policy that gives each action more "
                "serves more of its log; so does --bound quantile, which says by how much it may be off."
            )
    return sentences


def _listed(counts: Counter[str], n_runs: int) -> str:
    """Return what runs lacked most often, and how many of them."""
    named = [f"{what} ({count:,} of {n_runs:,} runs)" for what, count in counts.most_common(MOST_NAMED)]
    more = f"; and {counted(len(counts) - MOST_NAMED, 'other')}" * (len(counts) > MOST_NAMED)
    return "; ".join(named) + more


def longer_sentences(forecasts: Mapping[str, Forecast]) -> list[str]:
    """Return with which flags the same log would answer for longer, by a few pre-runs, and what that takes for granted.

    >>> found = Forecast(100, (90, 110), 0.9, 10, {}, 19, 0, longer={"--simulator qbe": 300})
    >>> print(*longer_sentences({"replay": found}))  # doctest: +ELLIPSIS
    The same log would answer for about 300 steps (instead of 100) with --simulator qbe, which takes rows by what ...
    """
    return [
        f"The same log would answer for about {steps:,} steps (instead of {found.steps:,}"
        f"{f' for “{name}”' * (len(forecasts) > 1)}) with {flag}, {TAKEN_FOR_GRANTED.get(flag, 'by a few pre-runs')}."
        for name, found in forecasts.items()
        for flag, steps in found.longer.items()
    ]


def shortage(stop: Stop) -> str | None:
    """Return what was missing when a run stopped, in the words of the log; None where nothing was.

    >>> shortage(Stop("queue empty for action", state=3, place="page=3", action=1, label="b", column="arm"))
    'page=3, arm=b'
    >>> shortage(Stop("max steps")) is None
    True
    """
    return EVERYWHERE.get(stop.cause) if stop.where is None else stop.what
