"""Labels of actions: which values they spell, and in which order they are."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, InvalidOperation

import numpy as np

from understudy.errors import LogError, SettingError
from understudy.logs.arrays import codes_by_first_appearance, first_true, refuse_rows, short_repr

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
TRUTH = {"false": 0, "False": 0, "FALSE": 0, "true": 1, "True": 1, "TRUE": 1}  # as Arrow, Python and others write them
LISTED, LONGEST = 20, 60  # labels named in a sentence, and characters of each


def checked_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels as a tuple. Raise `SettingError` unless they are distinct strings that a file can hold."""
    labels = () if isinstance(labels, str) or not isinstance(labels, Iterable) else tuple(labels)
    if not labels or not all(isinstance(label, str) for label in labels) or len(set(labels)) < len(labels):
        raise SettingError(
            "actions= (or the keys of propensity=) must be a list of distinct strings, one for each action in the "
            "order of its code"
        )
    for label in labels:
        _refuse_unwritable(label, "actions=", SettingError)
    return tuple(str(label) for label in labels)


def sorted_labels(found: list[str], name: str, advice: str = "clean the column, or give actions=") -> tuple[str, ...]:
    """Return the labels found in a column, sorted: as numbers where all of them spell one, else as text.

    >>> sorted_labels(["10", "9", "1.5"], "action"), sorted_labels(["10", "9", "b"], "action")
    (('1.5', '9', '10'), ('10', '9', 'b'))
    """
    refuse_twins(found, name, advice)
    numbers = numbers_of(found)
    if numbers is None:
        return tuple(sorted(found))
    return tuple(label for _, label in sorted(zip(numbers, found, strict=True)))


def refuse_twins(labels: Sequence[str], name: str, advice: str) -> None:
    """Raise `LogError` for labels that differ only in the spaces around them, or that no file can hold."""
    twins: dict[str, str] = {}
    for label in labels:
        _refuse_unwritable(label, name, LogError)
        other = twins.setdefault(label.strip(), label)
        if other != label:
            raise LogError(
                f"{name} has the labels {short_repr(other)} and {short_repr(label)}, which differ only in spaces "
                f"around them; {advice}"
            )


def spelled_value(label: str) -> Decimal | None:
    """Return the number or truth value that a label spells; None for a word.

    >>> spelled_value("1.0") == spelled_value("1") == spelled_value("true") == 1, spelled_value("left")
    (True, None)
    """
    word = label.strip()
    return Decimal(TRUTH[word]) if word in TRUTH else spelled_number(word)


def spelled_number(label: str) -> Decimal | None:
    """Return the number that a label spells; None for a word."""
    text = label.strip()
    try:
        return Decimal(text) if NUMBER.fullmatch(text) else None
    except InvalidOperation:  # an exponent that is too large
        return None


def codes_by_label(array: np.ndarray, labels: tuple[str, ...], name: str) -> np.ndarray:
    """Return the code of each value: that of the one label that spells it.

    Raise `LogError` for the first row whose value no label spells, or more than one.
    """
    if array.dtype.kind == "f":
        refuse_rows(name, array, ~np.isfinite(array), "give every row a label")
    if array.dtype == object:
        inverse, values = codes_by_first_appearance(name, array)
    else:
        distinct, inverse = np.unique(array, return_inverse=True)
        values = distinct.tolist()
    spellings = defaultdict(list)
    for code, label in enumerate(labels):
        if (value := spelled_value(label)) is not None:
            spellings[_as_stored(value, array.dtype)].append(code)
    codes = [spellings.get(value, []) for value in values]
    found = np.array([len(code) for code in codes])[inverse]
    if (found != 1).any():
        row = first_true(found != 1)
        several = [labels[code] for code in codes[inverse[row]]]
        advice = f"{listing(several)} all spell it, so give it one label" if several else advice_on_labels(labels)
        raise LogError(f"{name} is '{short_repr(values[inverse[row]])}' in row {row}; {advice}")
    return np.array([code[0] for code in codes], np.int32)[inverse]


def positions_of(
    texts: Sequence[str], labels: Sequence[str], value: Callable[[str], Decimal | None] = spelled_number
) -> list[int | None]:
    """Return the position of each text among the labels: of the label equal to it, or of the only one of its value.

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
    """Return the numbers that the texts spell, exactly; None if one of them is not a number.

    >>> numbers_of(["10", "9.5"]), numbers_of(["10", "b"])
    ([Decimal('10'), Decimal('9.5')], None)
    """
    found = [spelled_number(text) for text in texts]
    return None if None in found else [value for value in found if value is not None]


def advice_on_labels(labels: Sequence[str]) -> str:
    """Return the advice for an action that has no label."""
    return f"give actions= every label (it has {listing(labels)})"


def listing(labels: Sequence[str]) -> str:
    """Return labels or names for a sentence: the first few of many, and the beginning of long ones."""
    short = (label if len(label) <= LONGEST else f"{label[:LONGEST]}..." for label in labels[:LISTED])
    return ", ".join(short) + ", ..." * (len(labels) > LISTED)


def _only(positions: list[int]) -> int | None:
    return positions[0] if len(positions) == 1 else None


def _as_stored(value: Decimal, dtype: np.dtype) -> Decimal | float:
    """Return a number as a column of this dtype holds it: 0.1 is another number in float32."""
    with np.errstate(over="ignore"):
        return float(dtype.type(float(value))) if dtype.kind == "f" else value


def _refuse_unwritable(label: str, name: str, error: type[LogError | SettingError]) -> None:
    """Raise the error for a label that is empty or that UTF-8 cannot hold."""
    if not label.strip():
        raise error(f"{name} has an empty label; give every action a name")
    try:
        label.encode()
    except UnicodeEncodeError:
        raise error(
            f"{name} has the label {short_repr(label)}, half of a surrogate pair, which no file can hold; rename it"
        ) from None
