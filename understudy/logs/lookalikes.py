"""Categories whose texts look like numbers or dates, written in a way that could mean more than one thing."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from understudy.logs.arrays import COMMAS, short_repr
from understudy.logs.column_coding import ColumnCoding
from understudy.logs.labels import NUMBER

MOSTLY = 0.5  # of the labels; fewer are labels that happen to look so
MISSING = ("na", "n/a", "nan", "none", "null", "nil", "missing", "-", "?", "#n/a")
"""How texts say, in lower case, that there is no value."""


class Look(NamedTuple):
    """What texts look like: a pattern, and what to do where they are what they look like."""

    pattern: re.Pattern[str]
    advice: str


LOOKS = (
    Look(COMMAS, "numbers, write them with a point before decimals and without other commas (1000, 0.5)"),
    Look(re.compile(r"[+-]?[0-9]+([.,][0-9]+)?\s?%"), "numbers, write them without the sign (5 or 0.05 for 5%)"),
    Look(re.compile(r"[$€£¥]\s?[0-9][0-9.,]*|[0-9][0-9.,]*\s?[$€£¥]"), "numbers, write them without the currency"),
    Look(re.compile(r"[+-]?[0-9]{1,3}([ '_][0-9]{3})+([.,][0-9]+)?"), "numbers, write them without gaps (1000)"),
    Look(
        re.compile(r"[0-9]{1,2}([/.-])[0-9]{1,2}\1([0-9]{4}|[0-9]{2})( .*)?"),
        "dates, write them as 2024-05-31: day and month may be in either order",
    ),
    Look(re.compile(r"[0-9]{4}[/.][0-9]{1,2}[/.][0-9]{1,2}([ T].*)?"), "dates, write them as 2024-05-31"),
)


def looks_like(labels: Iterable[str]) -> tuple[str, str] | None:
    """Return a label that is written as numbers or dates may be, and the advice for it; None where most are not.

    Plain numbers beside them count as numbers.

    >>> looks_like(["999", "1,000"])
    ('1,000', 'numbers, write them with a point before decimals and without other commas (1000, 0.5)')
    >>> looks_like(["red", "1,000", "blue"]) is None
    True
    """
    texts = [label.strip() for label in labels]
    plain = sum(NUMBER.fullmatch(text) is not None for text in texts)
    for pattern, advice in LOOKS:
        found = [text for text in texts if pattern.fullmatch(text)]
        numbers = plain if advice.startswith("numbers") else 0
        if found and len(found) + numbers > MOSTLY * len(texts):
            return found[0], advice
    return None


def notes_on_categories(columns: Iterable[ColumnCoding], named: Iterable[str]) -> list[str]:
    """Return a note for each column of categories that look like numbers or dates, but for those named as categories.

    >>> notes_on_categories([ColumnCoding("paid", "category", ("5%", "7%"))], named=())
    ["coding: paid holds texts such as '5%', which are coded as categories; if these are numbers, write them without \
the sign (5 or 0.05 for 5%), or name the column in categories= if they are labels"]
    """
    named = set(named)
    notes = []
    for column in columns:
        found = looks_like(column.labels) if column.kind == "category" and column.name not in named else None
        if found is not None:
            notes.append(
                f"coding: {column.name} holds texts such as {short_repr(found[0])}, which are coded as categories; if "
                f"these are {found[1]}, or name the column in categories= if they are labels"
            )
        if column.kind == "category" and column.name not in named:
            notes += notes_on_labels(column.name, column.labels)
    return notes


def notes_on_labels(title: str, labels: Iterable[str]) -> list[str]:
    """Return notes on labels of categories or actions that may be mistakes: missing values, other capital letters.

    >>> notes_on_labels("vip", ["yes", "no", "none"])
    ["coding: vip has the label 'none', which is a value like others; leave cells empty that have no value"]
    """
    notes, seen = [], dict[str, str]()
    for label in labels:
        other = seen.setdefault(label.strip().casefold(), label)
        if other != label:
            notes.append(
                f"coding: {title} has the labels {short_repr(other)} and {short_repr(label)}, which differ only in "
                "capital letters and are two; write them alike if they are one"
            )
            break
    for lower, label in seen.items():
        if lower in MISSING:
            notes.append(
                f"coding: {title} has the label {short_repr(label)}, which is a value like others; leave cells empty "
                "that have no value"
            )
            break
    return notes
