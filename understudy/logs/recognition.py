"""Which kind of values a column of observations holds, and the coding that follows from it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.logs.arrays import is_missing, short_repr
from understudy.logs.coded_values import as_texts, has_zone, kind_of_times, microseconds
from understudy.logs.column_coding import FALSE_TRUE, MICROSECONDS, NUMBERS, ORIGIN, TIMES, ColumnCoding
from understudy.logs.labels import TRUTH, refuse_twins, sorted_labels
from understudy.logs.lookalikes import looks_like
from understudy.logs.spellings import DATE, NUMBER, PADDED, TIME, times_in
from understudy.logs.texts import Texts, is_text, refuse_nulls

YES_NO = (("no", "yes"), ("No", "Yes"), ("NO", "YES"))
INT64 = r"^[+-]?[0-9]{1,18}$"
CLEAN = "clean the column"
MANY_ROWS, NEARLY_ALL = 100, 0.9
"""In so many rows, or more, texts of which more than this share are distinct are ids or free text, not categories."""


def needs_coding(kind: Any) -> bool:
    """True for Arrow types that are not numbers: text, categories of text, dates, times and durations."""
    return is_text(kind) or kind_of_times(kind) is not None


def recognize(name: str, parts: Mapping[str, Any], as_category: bool) -> ColumnCoding:
    """Return the coding of a column, from its values and from those of the column of next observations.

    `parts` has both as Arrow arrays, under the words that messages call them by. With `as_category`, values of any
    kind are categories.
    """
    if as_category or any(_is_category(array) for array in parts.values()):
        return _category(name, parts, as_category)
    kind = _common_kind({title: _kind(array) for title, array in parts.items()})
    words: tuple[str, ...] = FALSE_TRUE
    if kind == "text":
        kind, words = _kind_of_texts([Texts(title, array) for title, array in parts.items()])
    if kind == "category":
        return _category(name, parts, as_category)
    if kind in TIMES:
        return _of_times(name, kind, parts)
    return ColumnCoding(name, kind, words if kind == "truth" else ())


def _is_category(array: Any) -> bool:
    from pyarrow import types

    return types.is_dictionary(array.type)


def _kind(array: Any) -> str:
    from pyarrow import types

    if is_text(array.type):
        return "text"
    if types.is_boolean(array.type):
        return "truth"
    whole = types.is_integer(array.type) or (types.is_decimal(array.type) and array.type.scale <= 0)
    return kind_of_times(array.type) or ("integer" if whole else "number")


def _common_kind(kinds: Mapping[str, str]) -> str:
    """Return the kind of observations and next observations; text may spell whatever the other column holds."""
    found = set(kinds.values()) - {"text"}
    if len(found) < 2:
        return found.pop() if found else "text"
    if found <= {"truth", *NUMBERS}:
        return "number" if "number" in found else "integer"
    holding = " and ".join(f"{title} holds {kind}s" for title, kind in kinds.items())
    raise LogError(f"{holding}; write both alike")


def _kind_of_texts(columns: list[Texts]) -> tuple[str, tuple[str, ...]]:
    """Return what the texts spell, and the words of truth values.

    Numbers, dates or times they are if more than half of the distinct ones are; the others are then refused with their
    row when the column is coded.
    """
    import pyarrow as pa

    texts = pa.concat_arrays([column.trimmed for column in columns]).unique()
    few = tuple(sorted(texts[: len(TRUTH) + 1].to_pylist()))
    if set(few) <= set(TRUTH) or few in YES_NO:
        return "truth", few if few in YES_NO else FALSE_TRUE
    numbers, padded = _matching(texts, NUMBER), _matching(texts, PADDED)
    if (numbers & ~padded).mean() > 0.5 and not (numbers.all() and padded.any()):
        return "integer" if _matching(texts, INT64)[numbers].all() else "number", ()
    if _matching(texts, DATE).mean() > 0.5:
        return "date", ()
    return "time" if _matching(texts, TIME).mean() > 0.5 else "category", ()


def _matching(texts: Any, pattern: str) -> np.ndarray:
    import pyarrow.compute as pc

    return pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)


def _category(name: str, parts: Mapping[str, Any], as_category: bool) -> ColumnCoding:
    """Return the coding of categories: in the order that the column gives them, or sorted."""
    columns = [Texts(title, as_texts(title, array)) for title, array in parts.items()]
    if not as_category:
        _refuse_nearly_distinct(name, columns[0])
    given = [label for array in parts.values() if _is_category(array) for label in array.dictionary.to_pylist()]
    given = list(dict.fromkeys(label for label in given if not is_missing(label)))
    rest = sorted({text for column in columns for text in column.distinct.to_pylist()}.difference(given))
    if given:
        refuse_twins(given + rest, columns[0].title, CLEAN)
        return ColumnCoding(name, "category", (*given, *rest))
    return ColumnCoding(name, "category", sorted_labels(rest, columns[0].title, CLEAN))


def _refuse_nearly_distinct(name: str, texts: Texts) -> None:
    """Raise `LogError` for ids and free text: categories that hardly recur teach a learner nothing."""
    n_rows, n_distinct = len(texts.codes), len(texts.distinct)
    if n_rows >= MANY_ROWS and n_distinct > NEARLY_ALL * n_rows:
        if look := looks_like(texts.distinct.to_pylist()):
            raise LogError(
                f"{texts.title} has {n_distinct:,} distinct texts such as {short_repr(look[0])} in {n_rows:,} rows; if "
                f"these are {look[1]}, or give categories={_in_quotes(name)} to code them as labels"
            )
        raise LogError(
            f"{texts.title} has {n_distinct:,} distinct texts in {n_rows:,} rows, like ids or free text "
            f"({short_repr(texts.distinct[0].as_py())} in row 0), from which nothing can be learned; leave it out, or "
            f"replace it by a column of few categories, or give categories={_in_quotes(name)} to code it all the same"
        )


def _in_quotes(name: str) -> str:
    return f'["{name}"]' if '"' not in name else repr([name])


def _of_times(name: str, kind: str, parts: Mapping[str, Any]) -> ColumnCoding:
    """Return the coding of times: dates from the first one on, in days if none has a time of day or a zone."""
    ticks, zones = [], set()
    for title, array in parts.items():
        if is_text(array.type):
            array = times_in(Texts(title, array))
        refuse_nulls(title, array)
        ticks.append(microseconds(title, array))
        zones.add(has_zone(array.type))
    if kind != "date":
        return ColumnCoding(name, kind, unit="seconds")
    first, zoned = min(int(part.min()) for part in ticks), zones == {True}
    whole = not zoned and not any((part % MICROSECONDS["days"]).any() for part in ticks)
    unit = "M8[D]" if whole else "M8[us]" if first % MICROSECONDS["seconds"] else "M8[s]"
    origin = str(np.datetime64(first, "us").astype(unit)) + "Z" * zoned
    if not ORIGIN.fullmatch(origin):
        raise LogError(f"{next(iter(parts))} has dates outside of the years 1 to 9999, such as {origin}; correct them")
    return ColumnCoding(name, "date", origin=origin, unit="days" if whole else "seconds")
