"""How episodes ended, told by the words of a column: left, bought, timeout."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.logs.arrays import short_repr
from understudy.logs.labels import LONGEST, listing
from understudy.mapped import new_array

MOST_KEPT = 1000
"""Values of a column that are kept for a message; one with more of them is hardly about ends."""


def is_one_of(title: str, column: Any, values: Sequence[str]) -> np.ndarray:
    """Return, (N,), True for each row in which an Arrow column has one of these values, written as text.

    A row without a value has none of them. Raise `LogError` where a value is in no row.

    >>> import pyarrow as pa
    >>> is_one_of("terminated column end", pa.chunked_array([["left", None, "timeout"]]), ["left"])
    array([ True, False, False])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    found, at = new_array(len(column), bool), 0
    unseen, seen = set(values), dict[str, None]()
    for chunk in column.iterchunks():
        try:
            plain = chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
            words = pc.cast(plain, pa.string())
        except pa.ArrowException:
            raise LogError(f"{title} holds {str(chunk.type)[:LONGEST]}, not words; name another column") from None
        told = pc.is_in(words, value_set=pa.array(values, pa.string()))
        unseen -= set(pc.unique(words.filter(told)).to_pylist())
        if len(seen) < MOST_KEPT:
            seen |= dict.fromkeys(pc.unique(words).drop_null().to_pylist()[:MOST_KEPT])
        found[at : at + len(chunk)] = told.to_numpy(zero_copy_only=False)
        at += len(chunk)
    if unseen:
        value = next(value for value in values if value in unseen)
        close = get_close_matches(value, seen, n=1)
        hint = f"did you mean {close[0]}?" if close else "name one of these"
        known = f"its values are {listing(list(seen))}" if seen else "it has no values"
        raise LogError(f"{title} is never {short_repr(value)}: {known}; {hint}")
    return found
