"""Numbers, dates and times that are spelled as text."""

from contextlib import suppress
from typing import Any

import numpy as np

from understudy.logs.arrays import COMMAS, refuse_inexact
from understudy.logs.labels import spelled_number
from understudy.logs.texts import Texts

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
WHOLE = r"^[+-]?[0-9]+$"
LONG = r"^[+-]?[0-9]{16,}$"  # whole numbers that float64 may round
PADDED = r"^[+-]?0[0-9]"
"""Leading zeros: 007 is a label, since as a number it would be equal to 7."""

NOT_A_NUMBER = "the other values are numbers, so write one, or name the column in categories= if its values are labels"

DATE = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?$"
)
ZONED = r"[0-9](Z|[T ][0-9:.]+[+-][0-9:]+)$"
TIME = r"^[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?$"


def numbers_in(texts: Texts) -> np.ndarray:
    """Return the number that each distinct text spells: int64 where all of them are whole, else float64.

    Raise `LogError` for a text that spells no number, and for whole numbers that float64 would round.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    words = ~texts.matching(NUMBER)
    if words.any():
        comma = COMMAS.fullmatch(texts.first(words)[1].strip())
        advice = "write numbers with a point before decimals and without other commas"
        texts.refuse(words, advice if comma else NOT_A_NUMBER)
    spelled = pc.replace_substring_regex(texts.trimmed, r"^\+", "")
    if pc.all(pc.match_substring_regex(spelled, WHOLE)).as_py():
        with suppress(pa.ArrowInvalid):  # beyond int64
            return spelled.cast(pa.int64()).to_numpy(zero_copy_only=False)
    values = spelled.cast(pa.float64()).to_numpy(zero_copy_only=False)
    inexact = texts.matching(LONG)
    for at in np.flatnonzero(inexact):
        inexact[at] = spelled_number(spelled[int(at)].as_py()) != values[at].item()
    refuse_inexact(texts.title, texts.spread(np.array(texts.distinct)), texts.spread(inexact))
    return values


def times_in(texts: Texts) -> Any:
    """Return the date, or the time of day, that each distinct text spells, as an Arrow array.

    Raise `LogError` for a text that spells none, and where some have a time zone and others do not.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    dates, zoned = texts.matching(DATE), texts.matching(ZONED)
    of_day = not dates.any()
    what = "a time of day" if of_day else "a date"
    texts.refuse(~texts.matching(TIME) if of_day else ~dates, f"the other values are {what} each, so write {what}")
    texts.refuse(~zoned & zoned.any(), "it has no time zone and others have one, so write one in every row")
    texts.refuse(texts.matching(r"\.[0-9]{6}[0-9]*[1-9]"), "round times to microseconds")
    spelled = pc.replace_substring_regex(texts.trimmed, r"(\.[0-9]{6})0+", r"\1")
    if of_day:
        spelled = pc.replace_substring_regex(spelled, "^", "1970-01-01T")
    kind = pa.timestamp("us", "UTC" if zoned.any() else None)
    try:
        times = spelled.cast(kind)
    except pa.ArrowInvalid:
        texts.refuse(np.array([_is_impossible(text, kind) for text in spelled]), "there is no such date or time")
        raise
    return times.cast(pa.int64()).cast(pa.time64("us")) if of_day else times


def _is_impossible(text: Any, kind: Any) -> bool:
    import pyarrow as pa

    try:
        text.cast(kind)
    except pa.ArrowInvalid:
        return True
    return False
