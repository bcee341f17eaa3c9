"""Messages of the library in the words of the command line, and their way to the terminal."""

import argparse
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import understudy as us
from understudy.cli.flags import COLUMN_FLAGS
from understudy.errors import visible
from understudy.logs.source_files import is_pattern
from understudy.reporting.belief import Belief
from understudy.reporting.decision import Advice, advice
from understudy.reporting.measurements import Measurements
from understudy.reporting.summary import pending_sentences
from understudy.tables import Table

OTHER_FLAGS = (
    "n_actions", "ends", "coding", "like", "unseen", "order", "openings", "max_steps", "max_episode_steps", "out",
    "runs", "seed", "every", "workers", "backend", "level", "margin", "steps", "pre_runs", "halves", "format", "bound",
    "batch", "period", "epsilon", "alpha", "gamma", "initial", "epoch_steps", "stack_size", "exploration", "noise",
    "ridge", "then", "radius", "max_cut",
)  # fmt: skip
ADVICE = {
    r"turn it into codes \(np.*\) or features": "add a column of numbers to the file, and name that one",
    r"merge them with one, and let encoder\.audit\(log\) test its states": "merge them with --encoder NAME, whose "
    "states are tested before the first run",
    r"log\.with_propensities\(\.\.\.\)": "--propensities FILE",
    r"us\.estimate_propensities\(log\)": "--estimate-propensities",
    r"us\.replay\(log\)": "--bandit without --simulator",
    r'(decision by itself,[^;]*) say ends="every-row"': r"\1 give --bandit",
    r'propensity="state mean"': "--mean-propensity",
    r"\bthen=\('like', 'cut'\)": "--then like,cut",
    r", or give it repeated\(copies\), as understudy\.contracts\.\w+ describes it": "",
    r"\bn_samples=": "--propensity-samples",
    r"\bn_actions=(\d+)": r"--n-actions \1",
    r"\brenormalize=True": "--renormalize",
    r"\berrors=['\"]keep['\"]": "--keep-going",
    r"say with features= what [^,;]* saw, or use qbe": "use qbe",
    r"; say with features= what .*": "; use qbe, which needs no propensities",
    r'\bby="arrival"': "--delay arrival",
    r'\bby="time"': "--period",
    r"\bdecisions=": "--delay DECISIONS",
    r"probe=us\.probes\.reward_so_far": "--probe reward-so-far",
    r"encoders\.Boxes or encoders\.Function": "--encoder boxes or --encoder forward",
}
"""Advice that is about Python code, as patterns, and what the command line says instead."""

OF_STATES = ("chosen-propensity", "distinct-observations", "no-next-observation")
"""Findings of an audit that do not concern replay, which offers each row with its own observation."""


def as_flags(message: str) -> str:
    """Return a message of the library with flags in the place of Python's arguments.

    >>> as_flags('give terminated=, sort by order_by=, or say ends="every-row"')
    'give --terminated, sort by --order-by, or say --ends every-row'
    >>> as_flags('say actions=["0", "big hat"]')
    "say --actions 0 'big hat'"
    """
    for words, instead in ADVICE.items():
        message = re.sub(words, instead, message)
    names = "|".join([name.replace("-", "_") for name in COLUMN_FLAGS] + list(OTHER_FLAGS))

    def flag(found: re.Match) -> str:
        name, values = found[1].replace("_", "-"), re.findall(one, found[2] or "")
        return " ".join([f"--{name}", *(shlex.quote(value[1:-1]) for value in values)])

    one = r"""(?:"[^"]*"|'[^']*')"""
    value = rf"({one}|\[{one}(?:, {one})*\])"
    return re.sub(rf"(?<![\w/])({names})=(?:{value}|(?![\w\[\"]))", flag, message)  # not in paths such as action=3/log


def in_flags(audit: us.Audit) -> us.Audit:
    """Return an audit whose sentences have flags in the place of Python's arguments."""
    findings = (replace(finding, sentence=as_flags(finding.sentence)) for finding in audit.findings)
    return replace(audit, findings=tuple(findings))


def name_of_log(log: str) -> str:
    """Return the name of a log's file, folder or pattern, or the id of a Minari data set, for a title."""
    return Path(log).name or Path(log).resolve().name


def plain_name(log: str) -> str:
    """Return the name that a results folder has from a log: of its file or folder, or what a pattern begins with.

    >>> plain_name("logs/events.parquet"), plain_name("logs/events-*.parquet"), plain_name("logs/*.parquet")
    ('events', 'events', 'logs')
    """
    for name in (name_of_log(log), *(folder.name for folder in Path(log).resolve().parents)):
        known = re.split(r"[*?[]", name)[0].rstrip("-_=. ") if is_pattern(log) else name
        if plain := known.split(".")[0]:
            return plain
    return "log"


def audit_of(log: us.Log, options: argparse.Namespace) -> us.Audit:
    """Return the audit of a log in the words of the command line.

    With --bandit it leaves out what concerns states, next observations and the propensities of actions not taken:
    replay uses none of these.
    """
    audit = in_flags(us.check(log))
    if not options.bandit:
        return audit
    return replace(audit, findings=tuple(one for one in audit.findings if one.rule not in OF_STATES))


def say(text: Any) -> None:
    """Print text with control characters written out: names from files may hold escape bytes."""
    print("\n".join(map(visible, str(text).split("\n"))))


def say_decision(measured: Measurements, found: Belief | None) -> Advice | None:
    """Print what to do, as the page begins, and how far to believe the runs; return the former."""
    told = advice(measured, found)
    if told is not None and told.answer != "not believed":  # which the next lines say
        say("\n".join(["", told.sentence, *(f"  {sentence}" for sentence in told.evidence)]))
    if found is not None:
        say(f"\n{found}\n")
    return told


def say_pending(measured: Measurements) -> None:
    """Print how many outcomes were on their way to delayed learners when their runs stopped."""
    for sentence in pending_sentences(measured):
        say(sentence)


def print_table(table: Table) -> None:
    """Print a table in the width of the terminal, or wider where its numbers need more."""
    from rich.console import Console

    from understudy.reporting.terminal import as_rich, least_width

    class Raising(Console):
        """A console that raises where its reader has gone: by itself it ends the program, with exit code 1."""

        def on_broken_pipe(self) -> None:
            raise

    console = Raising()
    console.width = max(console.width, least_width(table))
    console.print(as_rich(table, console.width))


def show_table(measured: Measurements) -> None:
    """Print how long the log could answer, how close curves are, what ran out and which learner earned more."""
    from understudy.reporting.terminal import brief_table

    print_table(brief_table(measured))
    if measured.learners is not None:
        say("\n".join(measured.learners.sentences))
