"""Values of a column as the numbers that a coding gives them: text to codes, dates to days or seconds."""

from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.logs.arrays import refuse_inexact, refuse_rows
from understudy.logs.arrow_columns import to_numpy
from understudy.logs.column_coding import FALSE_TRUE, MICROSECONDS, NUMBERS, ColumnCoding
from understudy.logs.columns import observations
from understudy.logs.labels import TRUTH, listing
from understudy.logs.spellings import numbers_in, times_in
from understudy.logs.texts import Texts, is_text, refuse_nulls


def coded_values(coding: ColumnCoding, title: str, array: Any, unseen: str) -> np.ndarray:
    """Return the number of each value of an Arrow array (as `plain_array` gives it), by a coding.

    Raise `LogError` for the first row without a value, or with one that the coding has no number for: what is neither
    a number nor a date where others are, and, unless `unseen` is "other", a category without a label.
    """
    if coding.kind == "category":
        return _category_codes(coding, Texts(title, as_texts(title, array)), unseen)
    texts = Texts(title, array) if is_text(array.type) else None
    if coding.kind == "truth":
        return _truth_codes(coding, title, array) if texts is None else _truth_codes_of_texts(coding, texts)
    if coding.kind in NUMBERS:
        return as_logged(coding.name, title, array) if texts is None else texts.spread(numbers_in(texts))
    if texts is not None:
        return texts.spread(_since(coding, title, times_in(texts)))
    refuse_nulls(title, array)
    return _since(coding, title, array)


def as_logged(name: str, title: str, array: Any) -> np.ndarray:
    """Return numbers and truth values as observations hold them; there may be NaN among floats."""
    from pyarrow import types

    if not types.is_floating(array.type):
        refuse_nulls(title, array)
    return observations(title, to_numpy(name, array))


def as_texts(title: str, array: Any) -> Any:
    """Return values of any kind as text, or as categories of text. Raise `LogError` for what has no text."""
    import pyarrow as pa

    if is_text(array.type):
        return array
    refuse_nulls(title, array)
    try:
        return array.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise LogError(f"{title} holds {array.type}, which cannot be categories; give text or numbers") from None


def kind_of_times(kind: Any) -> str | None:
    """Return date, time or duration for an Arrow type of these; else None."""
    from pyarrow import types

    if types.is_date(kind) or types.is_timestamp(kind):
        return "date"
    return "time" if types.is_time(kind) else "duration" if types.is_duration(kind) else None


def has_zone(kind: Any) -> bool:
    """True for Arrow's types of dates with a time zone."""
    from pyarrow import types

    return types.is_timestamp(kind) and kind.tz is not None


def microseconds(title: str, times: Any) -> np.ndarray:
    """Return dates, times or durations as int64: microseconds since 1970, since midnight, or in all.

    Raise `LogError` for times that are not whole microseconds.
    """
    import pyarrow as pa

    target = {
        "date": pa.timestamp("us", times.type.tz if has_zone(times.type) else None),
        "time": pa.time64("us"),
        "duration": pa.duration("us"),
    }[kind_of_times(times.type) or "date"]
    try:
        return times.cast(target).cast(pa.int64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        raise LogError(f"{title} holds {times.type} finer than microseconds; round them to microseconds") from None


def _category_codes(coding: ColumnCoding, texts: Texts, unseen: str) -> np.ndarray:
    code_of = {label: code for code, label in enumerate(coding.labels)}
    codes = np.array([code_of.get(text, len(code_of)) for text in texts.distinct.to_pylist()], np.int64)
    if unseen != "other":
        texts.refuse(
            codes == len(code_of),
            f"the coding of {coding.name} has no such value (it has {listing(coding.labels)}); correct it, or give "
            'unseen="other" for a code that all such values share',
        )
    return texts.spread(codes)


def _truth_codes(coding: ColumnCoding, title: str, array: Any) -> np.ndarray:
    numbers = as_logged(coding.name, title, array)
    refuse_rows(title, numbers, (numbers != 0) & (numbers != 1), f"give {' or '.join(coding.labels)}")
    return numbers.astype(np.uint8)


def _truth_codes_of_texts(coding: ColumnCoding, texts: Texts) -> np.ndarray:
    words = TRUTH if coding.labels == FALSE_TRUE else {label: code for code, label in enumerate(coding.labels)}
    codes = np.array([words.get(text, -1) for text in texts.trimmed.to_pylist()])
    texts.refuse(codes < 0, f"give {' or '.join(coding.labels)}")
    return texts.spread(codes).astype(np.uint8)


def _since(coding: ColumnCoding, title: str, times: Any) -> np.ndarray:
    """Return dates as days or seconds since the origin of the coding, times and durations as seconds; float64."""
    kind = kind_of_times(times.type)
    if kind != coding.kind or has_zone(times.type) != coding.has_zone:
        zones = {True: " with time zones", False: " without time zones"}[coding.has_zone] * (coding.kind == "date")
        raise LogError(f"{title} holds {times.type}, and {coding.name} is coded as {coding.kind}s{zones}; convert it")
    ticks, unit = microseconds(title, times) - coding.zero, MICROSECONDS[coding.unit or "days"]
    numbers = ticks / unit
    refuse_inexact(title, ticks, np.rint(numbers * unit).astype(np.int64) != ticks)
    return numbers
