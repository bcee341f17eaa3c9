"""Labels of actions: which values they spell, and in what order they stand."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, InvalidOperation

import numpy as np

from understudy.errors import LogError
from understudy.logs.arrays import codes_of, first, refuse, shown

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
TRUTH = {"false": 0, "False": 0, "FALSE": 0, "true": 1, "True": 1, "TRUE": 1}  # as Arrow, Python and others write them
LISTED, LONGEST = 20, 60  # labels named in a sentence, and characters of each


def checked(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels that were given, once they are distinct strings that a file can hold."""
    labels = () if isinstance(labels, str) or not isinstance(labels, Iterable) else tuple(labels)
    if not labels or not all(isinstance(label, str) for label in labels) or len(set(labels)) < len(labels):
        raise LogError(
            "actions= (or the keys of propensity=) must be a list of distinct strings, one for each action in the "
            "order of its code"
        )
    for label in labels:
        _refuse_unwritable(label, "actions=")
    return tuple(str(label) for label in labels)


def in_order(found: list[str], name: str) -> tuple[str, ...]:
    """Labels found in a column, sorted: as numbers where all of them spell one, else as text.

    >>> in_order(["10", "9", "1.5"], "action"), in_order(["10", "9", "b"], "action")
    (('1.5', '9', '10'), ('10', '9', 'b'))
    """
    twins: dict[str, str] = {}
    for label in found:
        _refuse_unwritable(label, name)
        other = twins.setdefault(label.strip(), label)
        if other != label:
            raise LogError(
                f"{name} has the labels {shown(other)} and {shown(label)}, which differ only in spaces around them; "
                "clean the column, or give actions="
            )
    numbers = numbers_of(found)
    if numbers is None:
        return tuple(sorted(found))
    return tuple(label for _, label in sorted(zip(numbers, found, strict=True)))


def spelled(label: str) -> Decimal | None:
    """The number or truth value that a label spells; None where it is a word.

    >>> spelled("1.0") == spelled("1") == spelled("true") == 1, spelled("left")
    (True, None)
    """
    word = label.strip()
    return Decimal(TRUTH[word]) if word in TRUTH else number(word)


def number(label: str) -> Decimal | None:
    """The number that a label spells; None where it is a word."""
    text = label.strip()
    try:
        return Decimal(text) if NUMBER.fullmatch(text) else None
    except InvalidOperation:  # an exponent beyond all bounds
        return None


def matched(array: np.ndarray, labels: tuple[str, ...], name: str) -> np.ndarray:
    """The code of each value, by the label that spells it; refused where none does, or more than one."""
    if array.dtype.kind == "f":
        refuse(name, array, ~np.isfinite(array), "give every row a label")
    if array.dtype == object:
        inverse, values = codes_of(name, array)
    else:
        distinct, inverse = np.unique(array, return_inverse=True)
        values = distinct.tolist()
    spellings = defaultdict(list)
    for code, label in enumerate(labels):
        if (value := spelled(label)) is not None:
            spellings[_as_stored(value, array.dtype)].append(code)
    codes = [spellings.get(value, []) for value in values]
    found = np.array([len(code) for code in codes])[inverse]
    if (found != 1).any():
        row = first(found != 1)
        several = [labels[code] for code in codes[inverse[row]]]
        move = f"{listed(several)} all spell it, so give it one label" if several else every_label(labels)
        raise LogError(f"{name} is '{shown(values[inverse[row]])}' in row {row}; {move}")
    return np.array([code[0] for code in codes], np.int32)[inverse]


def positions_of(
    texts: Sequence[str], labels: Sequence[str], value: Callable[[str], Decimal | None] = number
) -> list[int | None]:
    """The position of each text among the labels: of the label that is equal to it, or of the one of the same value.

    >>> positions_of(["0.50", "left", "2"], ["left", "0.5"])
    [1, 0, None]
    """
    same = {label: at for at, label in enumerate(labels)}
    alike = defaultdict(list)
    for at, label in enumerate(labels):
        alike[value(label)].append(at)
    alike.pop(None, None)
    return [same[text] if text in same else _only(alike.get(value(text), [])) for text in texts]


def numbers_of(texts: Sequence[str]) -> list[Decimal] | None:
    """The numbers that the texts spell, exactly; None where one of them spells none.

    >>> numbers_of(["10", "9.5"]), numbers_of(["10", "b"])
    ([Decimal('10'), Decimal('9.5')], None)
    """
    found = [number(text) for text in texts]
    return None if None in found else [value for value in found if value is not None]


def every_label(labels: Sequence[str]) -> str:
    """What to do about an action that has no label."""
    return f"give actions= every label (it has {listed(labels)})"


def listed(labels: Sequence[str]) -> str:
    """Labels or names for a sentence: the first few of many, and of long ones the beginning."""
    short = (label if len(label) <= LONGEST else f"{label[:LONGEST]}..." for label in labels[:LISTED])
    return ", ".join(short) + ", ..." * (len(labels) > LISTED)


def _only(places: list[int]) -> int | None:
    return places[0] if len(places) == 1 else None


def _as_stored(value: Decimal, dtype: np.dtype) -> Decimal | float:
    """A number as a column of this dtype holds it: 0.1 is another number in float32."""
    with np.errstate(over="ignore"):
        return float(dtype.type(float(value))) if dtype.kind == "f" else value


def _refuse_unwritable(label: str, name: str) -> None:
    if not label.strip():
        raise LogError(f"{name} has an empty label; give every action a name")
    try:
        label.encode()
    except UnicodeEncodeError:
        raise LogError(
            f"{name} has the label {shown(label)}, half of a surrogate pair, which no file can hold; rename it"
        ) from None
