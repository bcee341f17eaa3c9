"""What would let runs be believed for longer, in a sentence with numbers: more halves, more log, or longer runs."""

from math import ceil

from understudy.evaluation import Trusted
from understudy.reporting.luck import LuckOfSet

MOST_TIMES = 10
"""How many times as many halves are worth a try: where it takes more, a larger log is the cheaper way."""


def what_would_help(found: LuckOfSet) -> str | None:
    """Return what would let a set be believed for longer; None where it is a baseline, which nothing helps."""
    if not found.trusted:
        return None
    trusted, runs, halves = found.trusted[found.probe], found.halves.runs, found.halves.halves
    episodes = runs.about.log_episodes
    log = "a log of twice as many episodes" + ("" if episodes is None else f" ({2 * episodes:,})")
    if trusted.reason == "noise":
        times = _times(trusted)
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
    return f"To believe it for longer, log more: {log} would answer for about twice as many steps."


def _times(trusted: Trusted) -> float | None:
    """Return how many times as many halves and runs would bring the error within the margin; None for too many.

    The error falls with the root of their number.
    """
    room = trusted.margin - abs(trusted.difference)
    times = (trusted.error / room) ** 2 if room > 0 else float("inf")
    return max(times, 1.1) if times <= MOST_TIMES else None
