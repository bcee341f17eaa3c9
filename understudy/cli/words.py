"""What the library says, in the words of the command line."""

import re
import shlex
from dataclasses import replace
from typing import Any

import understudy as us
from understudy.cli.flags import COLUMN_FLAGS
from understudy.errors import visible

OTHER_FLAGS = (
    "n_actions", "ends", "order", "max_steps", "max_episode_steps", "out", "runs", "seed", "every", "workers", "level",
    "margin",
)  # fmt: skip
IN_FLAGS = {
    "turn (it|them) into numbers first, for example .*": "add a column to the file that numbers the distinct texts 0, "
    "1, ..., and name that one",
    r"turn it into codes \(np.*\) or features": "add a column of numbers to the file, and name that one",
    r"merge them with one, and let encoder\.audit\(log\) test its states": "merge them with --encoder NAME, whose "
    "states are tested before the first run",
    r"encoders\.Boxes or encoders\.Function": "--encoder boxes or --encoder forward",
}
"""Advice in Python, and what to say instead where there is none."""


def as_flags(message: str) -> str:
    """A message of the library in the words of the command line, which has no Python.

    >>> as_flags('give terminated=, sort by order_by=, or say ends="every-row"')
    'give --terminated, sort by --order-by, or say --ends every-row'
    >>> as_flags('say actions=["0", "big hat"]')
    "say --actions 0 'big hat'"
    """
    for words, instead in IN_FLAGS.items():
        message = re.sub(words, instead, message)
    names = "|".join([name.replace("-", "_") for name in COLUMN_FLAGS] + list(OTHER_FLAGS))

    def flag(found: re.Match) -> str:
        name, values = found[1].replace("_", "-"), re.findall(r'"([^"]*)"', found[2] or "")
        return " ".join([f"--{name}", *map(shlex.quote, values)])

    one = r'"[^"]*"'
    value = rf"({one}|\[{one}(?:, {one})*\])"
    return re.sub(rf"(?<![\w/])({names})=(?:{value}|(?![\w\[\"]))", flag, message)  # not in paths such as action=3/log


def in_flags(audit: us.Audit) -> us.Audit:
    """An audit in the words of the command line."""
    said = (replace(finding, sentence=as_flags(finding.sentence)) for finding in audit.findings)
    return replace(audit, findings=tuple(said))


def say(what: Any) -> None:
    """Print lines in which whatever a file brought along is visible, escape bytes included."""
    print("\n".join(map(visible, str(what).split("\n"))))
