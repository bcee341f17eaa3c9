"""What would let runs be believed for longer, in a sentence with numbers: more halves, more log, or longer runs."""

from math import ceil

from understudy.evaluation.trusted import SHARE_GOING, SHARE_OF_WHOLE
from understudy.logs.findings import counted
from understudy.reporting.luck import LuckOfSet


def what_would_help(found: LuckOfSet) -> str | None:
    """Return what would let a set be believed for longer; None where it is a baseline, which nothing helps."""
    if not found.trusted:
        return None
    trusted, runs, halves = found.trusted[found.probe], found.halves.runs, found.halves.halves
    episodes = runs.about.log_episodes
    log = "a log of twice as many episodes" + ("" if episodes is None else f" ({2 * episodes:,})")
    if trusted.reason == "noise":
        times = trusted.more_halves
        if times is not None:
            n_halves, n_runs = (ceil(times * n - 1e-9) for n in (len(halves), len(runs)))
            return (
                f"To believe it for longer: about {n_halves:,} halves and {n_runs:,} runs (--halves {n_halves} --runs "
                f"{n_runs}) would tell whether the next reading can be believed, or {log}."
            )
        return f"To believe it for longer, log more: {log} would about halve what halves and whole differ by."
    if trusted.reason == "halves end":
        return (
            f"To believe it for longer, log more: with {log}, halves would answer for as long as the whole log does "
            f"now (nine of ten runs reach step {runs.horizon(0.9):,})."
        )
    if trusted.reason == "difference":
        return f"To believe it for longer, log more: the answer still changes with the log; try {log}."
    limited = sum(run.stopped.cause == "max steps" for run in runs)
    if 2 * limited >= len(runs):
        return "Nothing but --max-steps ends it there: a larger one would show whether it can be believed for longer."
    shortest, most = runs.horizon(SHARE_OF_WHOLE), runs.horizon(SHARE_GOING)
    if trusted.reason == "too short" or 2 * shortest < most:
        about = runs.about.simulator
        can_keep = about.get("simulator") == "psrs" and not about.get("reserve")
        keep = "keep rows that were passed over for later steps (--reserve, which is as exact), " * can_keep
        often = ", or read it more often (--every)" * (trusted.reason == "too short" and runs.about.every != 1)
        return (
            f"It ends where the shortest of {len(runs):,} runs do, after {counted(shortest, 'step')} (nine of ten "
            f"reach step {most:,}). To believe it for longer, {keep}log more ({log}), or let states recur more often, "
            f"without columns of --observation that tell nothing of what follows{often}."
        )
    return f"To believe it for longer, log more: {log} would answer for about twice as many steps."
