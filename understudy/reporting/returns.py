"""What episodes earned, beside what the log's own episodes earned, in words."""

from collections.abc import Callable, Mapping

from understudy.digits import percent, three_digits
from understudy.evaluation import Earnings
from understudy.reporting.naming import quoted
from understudy.runs import Runs
from understudy.runs.logged import why_unknown
from understudy.runs.nouns import noun_of, one_of
from understudy.tables import NONE


def earnings_cell(earned: Earnings | None, write: Callable[[float], str]) -> str:
    """Return what an episode earned; a range where some runs did not finish all the episodes that are counted."""
    if earned is None:
        return NONE
    low, high = write(earned.low), write(earned.high)
    return f"{low} to {high}" if earned.missing and low != high else write(earned.mean)


def earnings_format(earned: Mapping[str, Earnings]) -> Callable[[float], str]:
    """Return a function that writes what episodes earned, with the same decimals in all sets."""
    return three_digits(*(found.mean for found in earned.values()))


def first_episodes(earned: Earnings, noun: str = "episode") -> str:
    """Return which episodes of each run are counted, such as "the first 20 episodes"."""
    return f"the first {earned.episodes:,} {noun}s" if earned.episodes > 1 else f"the first {noun}"


def notes_on_returns(
    runs: Mapping[str, Runs], earned: Mapping[str, Earnings], trusted: Mapping[str, int] | None = None
) -> list[str]:
    """Return sentences on which episodes are counted, which sets have none, and what the log's own episodes earned.

    `trusted` is the step up to which each set can be believed, where it is known: what is counted may go beyond it.
    """
    notes, noun = [], noun_of(*runs.values())
    if earned:
        steps = max(found.steps for found in earned.values())
        alike = ", the same number in every set" if len(earned) > 1 else ""
        which = first_episodes(next(iter(earned.values())), noun)
        far = "" if noun == "decision" else f" (steps 1 to {steps:,})"
        beyond = [name for name, one in earned.items() if one.steps > (trusted or {}).get(name, one.steps)]
        of = f" of {quoted(beyond)}" * (len(beyond) < len(earned))
        past = f", beyond what can be believed{of}" * bool(beyond)
        notes.append(f"Return{_of_column(runs, noun)}: the mean over {which} of each run{far}{alike}{past}.")
    if any(" to " in earnings_cell(found, earnings_format(earned)) for found in earned.values()):
        notes.append(
            f"A range of returns: some runs stopped before the last of these {noun}s; its ends are what the mean would "
            "be if each missing one had earned the lowest and the highest return seen; missing ones may have earned "
            "less, or more, than any that was seen."
        )
    if (cut := cut_sentence({name: runs[name] for name in earned})) is not None:
        notes.append(cut)
    none = [name for name, set_ in runs.items() if len(set_) and name not in earned]
    if none:
        notes.append(f"No return of {quoted(none)}: fewer than nine of ten runs finished {one_of(noun)}.")
    if (sentence := log_sentence(runs)) is not None:
        notes.append(sentence)
    return notes


def _of_column(runs: Mapping[str, Runs], noun: str) -> str:
    """Return what a return is the sum of, by the name of its column, where all sets have one and the same."""
    names = {set_.about.log_reward_column for set_ in runs.values() if not set_.about.is_real}
    name = names.pop() if len(names) == 1 else None
    of = f"“{name}” of {one_of(noun)}" if noun == "decision" else f"the sum of “{name}” over {one_of(noun)}"
    return "" if name is None else f", {of}"


def cut_sentence(runs: Mapping[str, Runs]) -> str | None:
    """Return how many episodes were cut, so that returns leave them out; None where none was."""
    cut = sum(len(run.cuts) for set_ in runs.values() for run in set_ if run.cuts is not None)
    if not cut:
        return None
    n_episodes = cut + sum(len(run.ends) for set_ in runs.values() for run in set_)
    return (
        f"Returns leave out the {cut:,} of {n_episodes:,} episodes ({percent(cut / n_episodes)}) that were cut where "
        "the log had no answer: they have none, and may have earned less, or more, than the others."
    )


def log_sentence(runs: Mapping[str, Runs]) -> str | None:
    """Return what the log's episodes earned, or its steps where episodes do not end; None where sets share no log."""
    mean, reward = log_value(runs, "log_return"), log_value(runs, "log_reward")
    if mean is None:
        if reward is None:
            return None
        n_episodes = log_value(runs, "log_episodes")
        cut_off = log_value(runs, "log_cut_off") if n_episodes != 1 else None
        why = f"; {why_unknown(int(cut_off), int(n_episodes))}" if cut_off and n_episodes else ""
        return f"The log itself earned {three_digits(reward)(reward)} a step{why}."
    cut_off = log_value(runs, "log_cut_off")
    part = f" ({int(cut_off):,} were cut off, and count up to there)" if cut_off else ""
    n, of = log_value(runs, "log_episodes"), log_value(runs, "log_return_of")
    noun = noun_of(*runs.values())
    whose = f"The log's own {noun}s" if of is None or n == of else f"The log's first {int(of):,} {noun}s, all finished,"
    return f"{whose} earned {three_digits(mean)(mean)} on average{part}."


def log_value(runs: Mapping[str, Runs], field: str) -> float | None:
    """Return a field of `About` that describes the log, such as "log_return"; None where sets do not share one log."""
    known = {value for set_ in runs.values() if (value := getattr(set_.about, field)) is not None}
    shared = len(known) == 1 and not any(set_.about.own_logs for set_ in runs.values())
    return known.pop() if shared else None
