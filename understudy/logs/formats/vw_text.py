"""Vowpal Wabbit's text of contextual bandits: a line for each decision, or a line for each action that was offered."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from understudy.errors import LogError
from understudy.logs.compression import lines_of
from understudy.logs.formats.decisions import Decisions
from understudy.logs.formats.feature_columns import Value
from understudy.logs.formats.loaded import LoadedTable

LABEL = re.compile(r"(?P<action>\d+):(?P<cost>[^:\s]+):(?P<probability>[^:\s]+)")
WHOLE = re.compile(r"-?[0-9]{1,15}")
LABELED_LINE = re.compile(rf"\s*(?:(?:\d+\s+)*{LABEL.pattern}(?:\s+\d+)*\s*(?:'?\S*)?|shared)\s*\|".encode())
OTHER_LABELS = {
    "ca": "actions that are numbers on a line (continuous); bin them, and log the number of the bin with the "
    "probability of the whole bin",
    "ccb": "several slots for one decision; write a line for each slot, with the slot as a feature",
    "slates": "several slots for one decision; write a line for each slot, with the slot as a feature",
}


class Line(NamedTuple):
    """A line in its parts."""

    number: int
    label: list[str]  # the words before the first |
    features: tuple[tuple[str, Value], ...]


def is_vw_text(head: bytes) -> bool:
    """True if a file that begins so is Vowpal Wabbit's text of contextual bandits.

    >>> is_vw_text(b"1:-0.5:0.25 |user age:31"), is_vw_text(b"shared | page=home"), is_vw_text(b"action,reward")
    (True, True, False)
    """
    return LABELED_LINE.match(head) is not None


def load_vw_text(path: Path, progress: bool | None = None) -> LoadedTable:
    """Return the decisions in a file of Vowpal Wabbit's text.

    Either each line is a decision, `action:cost:probability | features`, or the lines up to an empty one are: first
    `shared | features`, then a line for each action, of which the chosen one has the label. The reward is the negative
    cost. A feature `page=home` is the text home in the column page, `age:31` a number, and a word alone is 1 where it
    is and 0 elsewhere; a namespace becomes a prefix, `user.age`.
    """
    decisions = Decisions()
    for lines in _decisions(_lines(path, progress)):
        if len(lines) == 1 and lines[0].label:
            _add_line(decisions, lines[0])
        else:
            _add_block(decisions, lines)
    return decisions.to_table()


def _lines(path: Path, progress: bool | None) -> Iterator[Line | None]:
    """Yield the lines in their parts, None for an empty one."""
    for number, text in lines_of(path, progress):
        if not text.strip():
            yield None
            continue
        before, bar, after = text.partition("|")
        if not bar:
            raise LogError(f"line {number} has no |, which divides label and features; check which file it is", "file")
        words = before.split()
        if words and (words[-1].startswith("'") or not before[-1].isspace()) and not _is_label(words[-1]):
            words.pop()  # a tag
        yield Line(number, words, tuple(_features(number, after)))


def _is_label(word: str) -> bool:
    return word in ("shared", *OTHER_LABELS) or word[0].isdigit()


def _decisions(lines: Iterator[Line | None]) -> Iterator[list[Line]]:
    """Yield the lines of each decision: up to an empty line, or one by one where each has a label of its own."""
    block: list[Line] = []
    by_line: bool | None = None
    for line in lines:
        if line is not None:
            if line.label and line.label[0] in OTHER_LABELS:
                raise LogError(f"line {line.number} is about {OTHER_LABELS[line.label[0]]}")
            if by_line is None and block:  # the second line decides
                by_line = bool(block[0].label and line.label) and block[0].label != ["shared"]
            if by_line and block:
                yield block
                block = []
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _add_line(decisions: Decisions, line: Line) -> None:
    """Add a decision of one line, whose label may list further actions: `1 2:-1:0.5 3 | ...`."""
    labels = [word for word in line.label if ":" in word]
    if len(labels) != 1:
        raise _no_label(line.number, f"{len(labels)} labels")
    action, cost, probability = _label(line.number, labels[0])
    if action < 1:
        raise LogError(f"line {line.number} chose action {action}, and they are numbered from 1 up; fix the line")
    others = [int(word) for word in line.label if word.isdigit()]
    decisions.add(line.number, line.features, action - 1, cost, probability, n_actions=max([action, *others]))


def _add_block(decisions: Decisions, lines: list[Line]) -> None:
    """Add a decision of several lines: what is shared, then the actions."""
    shared = lines[0].label == ["shared"]
    context, offered = (lines[0].features if shared else ()), lines[shared:]
    labeled = [at for at, line in enumerate(offered) if line.label]
    if not shared and len(labeled) < len(offered) and (len(labeled) > 1 or len(offered) == 1):
        raise _only_predicted(next(line.number for line in offered if not line.label))
    if len(labeled) != 1 or len(offered[labeled[0]].label) != 1:
        raise _no_label(lines[0].number, f"{len(labeled)} labels up to the next empty line")
    chosen = labeled[0]
    _, cost, probability = _label(offered[chosen].number, offered[chosen].label[0])
    features = tuple(line.features for line in offered)
    decisions.add(lines[0].number, context, chosen, cost, probability, offered=features)


def _no_label(line: int, found: str) -> LogError:
    return LogError(
        f"the decision in line {line} has {found}, and needs one action:cost:probability, of the action that was taken"
    )


def _only_predicted(line: int) -> LogError:
    return LogError(
        f"line {line} has no label, among lines that are a decision each; leave out lines that were only to be "
        "predicted, or put an empty line after each decision if its actions are a line each"
    )


def _label(line: int, word: str) -> tuple[int, float, float]:
    found = LABEL.fullmatch(word)
    if found is None:
        raise LogError(f"line {line} has the label {word[:60]}, which is not action:cost:probability; fix the line")
    return int(found["action"]), _number(line, found["cost"]), _number(line, found["probability"])


def _features(line: int, text: str) -> Iterator[tuple[str, Value]]:
    """Yield the features of a line by name."""
    for part in text.split("|"):
        words = part.split()
        prefix = ""
        scale: Any = 1
        if words and not part[0].isspace():
            namespace, colon, weight = words.pop(0).partition(":")
            prefix, scale = f"{namespace}.", _number(line, weight) if colon else 1
        for at, word in enumerate(words):
            name, colon, weight = word.rpartition(":")
            key, equal, value = word.partition("=")
            if colon:
                yield prefix + (name or str(at)), _number(line, weight) * scale
            elif equal and key and value:
                yield prefix + key, value
            else:
                yield prefix + word, scale


def _number(line: int, text: str) -> Any:
    """Return a number: an integer where it is written as one."""
    try:
        return int(text) if WHOLE.fullmatch(text) else float(text)
    except ValueError:
        raise LogError(f"line {line} has {text[:60]!r} where a number must be; fix the line") from None
