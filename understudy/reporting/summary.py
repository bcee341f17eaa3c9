"""What was done and what came of it, in a few plain sentences."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.evaluation import Efficiency, efficiency
from understudy.reporting.tables import NONE, Table, percent
from understudy.runs import Runs


@dataclass(frozen=True)
class Tile:
    """One number that a reader should leave with."""

    value: str
    label: str


def what_was_done(named: Mapping[str, Runs], reference: str | None) -> str:
    """One sentence: which learner, how often, on which log."""
    simulated = {name: runs for name, runs in named.items() if name != reference}
    shown = simulated or named
    learners = {str(learner) for runs in shown.values() if (learner := _learner(runs))}
    who = f"a {learners.pop()} learner" if len(learners) == 1 else "a learner"
    counts = {len(runs) for runs in shown.values()}
    times = f"{counts.pop():,} times" if len(counts) == 1 else f"{min(counts):,} to {max(counts):,} times"
    sizes = {(runs.about.get("log_rows"), runs.about.get("log_episodes")) for runs in shown.values()} - {(None, None)}
    own = any(runs.about.get("own_logs") for runs in shown.values())
    where = "logs of its own" if own else "a log" if len(sizes) == 1 else "the logs" if sizes else "an environment"
    if len(sizes) == 1 and not own:
        rows, episodes = sizes.pop()
        where += f" of {rows:,} rows" + (f" in {episodes:,} episodes" if episodes else "")
    ways = f" under each of {len(shown)} simulators" if len(shown) > 1 else ""
    verb = "rehearsed on" if sizes or own else "run in"
    text = f"We had {who} {verb} {where}, {times}{ways}"
    text = text.replace("had a", "let a").replace("rehearsed on", "rehearse on").replace("run in", "learn in")
    if reference is not None and simulated:
        text += f", and set what it learned beside {len(named[reference]):,} runs of {reference}"
    return f"{text}."


def _learner(runs: Runs) -> Any:
    learner = runs.about.get("learner")
    return learner.get("class") if isinstance(learner, Mapping) else None


__all__ = ["NONE", "Efficiency", "Table", "Tile", "efficiency", "percent", "what_was_done"]
