"""How episodes ended, told by the words of a column: left, bought, timeout."""

from collections import Counter
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
    """Return a note for each column of whose words some seem to end episodes, too, and were not named.

    `named` has the values that were named of each column. Such a word is in last rows only, of episodes that have no
    end without it: a word that was forgotten looks as if the recording had stopped there.
    """
    if not named or "episode" not in columns:
        return []
    last = last_rows(columns["episode"])
    for flag in (columns[role] for role in ("terminated", "truncated") if role in columns):
        last = last[~flag[last]]
    source, notes = columns.get("source_row"), []
    rows = np.sort(last if source is None else source[last])
    for name, values in named.items() if len(rows) else ():
        in_last, everywhere = _counts_of_words(table.column(name), rows)
        others = [word for word, n in in_last.items() if word.strip() and word not in values and n == everywhere[word]]
        if others:
            said = listing(sorted(others)[:5])
            n = sum(in_last[word] for word in others)
            notes.append(
                f"{OTHER_WORDS}: {name} says {said} where episodes stop, {n:,} times in {len(rows):,} episodes that "
                f"have no end, and what was named is {listing(list(values))}; where that ended an episode, name it as "
                "well, in terminated= or truncated="
            )
    return notes


def _counts_of_words(column: Any, rows: np.ndarray) -> tuple[Counter[str], Counter[str]]:
    """Return how often each word is in these rows of an Arrow column, ascending, and how often it is in all of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    in_rows, everywhere, at = Counter[str](), Counter[str](), 0
    for chunk in column.iterchunks():
        plain = chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
        words = pc.cast(plain, pa.string())
        begin, end = np.searchsorted(rows, [at, at + len(chunk)])
        for found, part in ((in_rows, words.take(pa.array(rows[begin:end] - at))), (everywhere, words)):
            for one in pc.value_counts(part.drop_null()).to_pylist():
                found[one["values"]] += one["counts"]
        at += len(chunk)
    return in_rows, everywhere
