"""How episodes ended, told by the words of a column: left, bought, timeout."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.logs.arrays import short_repr
from understudy.logs.ends import last_rows
from understudy.logs.labels import LONGEST, listing
from understudy.mapped import new_array

OTHER_WORDS = "other-words"
"""The rule of the note on words that end episodes, perhaps, and were not named."""

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


def notes_on_other_words(
    table: Any, named: Mapping[str, Sequence[str]], columns: Mapping[str, np.ndarray]
) -> list[str]:
    """Return a note for each column whose last words of episodes without an end were not named.

    `named` has the values that were named of each column. A word that was forgotten leaves episodes without an end, as
    if the recording had stopped there.
    """
    import pyarrow.compute as pc

    if not named or "episode" not in columns:
        return []
    last = last_rows(columns["episode"])
    for flag in (columns[role] for role in ("terminated", "truncated") if role in columns):
        last = last[~flag[last]]
    source, notes = columns.get("source_row"), []
    rows = np.sort(last if source is None else source[last])
    for name, values in named.items() if len(rows) else ():
        words = [str(word) for word in pc.unique(table.column(name).take(rows).drop_null()).to_pylist()]
        others = [word for word in words if word.strip() and word not in values]
        if others:
            notes.append(
                f"{OTHER_WORDS}: {name} says {listing(sorted(others)[:5])} in the last rows of some of the "
                f"{len(rows):,} episodes that have no end, and only {listing(list(values))} were named; where that "
                "ended an episode, name it as well, in terminated= or truncated="
            )
    return notes
