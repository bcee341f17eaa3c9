"""Arrow columns of text: their distinct texts, and which of them each row has."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from understudy.errors import LogError
from understudy.logs.arrays import first_true, no_value, short_repr
from understudy.logs.arrow_columns import not_utf8
from understudy.logs.periods import is_period, period_starts


class Texts:
    """The distinct texts of a column, and which of them each row has; the pages below ask each text only once.

    `array` is text, or categories of text, as `plain_array` gives it. Raise `LogError` for a row without a text.
    """

    def __init__(self, title: str, array: Any) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        refuse_nulls(title, array)
        self.title = title  # what a message calls the column
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        self.codes = coded.indices.to_numpy(zero_copy_only=False)  # (N,) the text of each row
        self.distinct = coded.dictionary
        if coded is array:  # categories may be there that no row has
            used = np.bincount(self.codes, minlength=len(self.distinct)) > 0
            self.codes, self.distinct = (np.cumsum(used) - 1)[self.codes], self.distinct.filter(pa.array(used))
        try:
            self.distinct.validate(full=True)
            self.trimmed = pc.utf8_trim_whitespace(self.distinct)
        except pa.ArrowInvalid:
            raise not_utf8(title) from None
        empty = pc.fill_null(pc.equal(self.trimmed, ""), True).to_numpy(zero_copy_only=False)
        if empty.any():
            raise no_value(title, first_true(self.spread(empty)))

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return the value of each row, given one for each distinct text."""
        return values[self.codes]

    def matching(self, pattern: str) -> np.ndarray:
        """Return a mask of the distinct texts that match a pattern, spaces around them left out."""
        import pyarrow.compute as pc

        return pc.match_substring_regex(self.trimmed, pattern).to_numpy(zero_copy_only=False)

    def first(self, bad: np.ndarray) -> tuple[int, str]:
        """Return the first row whose text is in a mask of the distinct texts, and that text."""
        row = first_true(self.spread(bad))
        return row, self.distinct[int(self.codes[row])].as_py()

    def refuse(self, bad: np.ndarray, advice: str) -> None:
        """Raise `LogError` for the first row whose text is in a mask of the distinct texts."""
        if bad.any():
            row, text = self.first(bad)
            raise LogError(f"{self.title} is {short_repr(text)} in row {row}; {advice}")


class CodedTexts(NamedTuple):
    """A column of text: a code for each row, 0, 1, ... by first appearance, and the distinct texts by code."""

    codes: np.ndarray  # (N,) int32
    distinct: Any  # an Arrow array of text

    def missing(self) -> np.ndarray:
        """Return a mask of the distinct texts that are empty, or only spaces."""
        import pyarrow.compute as pc

        return pc.equal(pc.utf8_trim_whitespace(self.distinct), "").to_numpy(zero_copy_only=False)

    def refuse(self, name: str, bad: np.ndarray, advice: str) -> None:
        """Raise `LogError` for the first row whose text is in a mask of the distinct texts."""
        if bad.any():
            row = first_true(bad[self.codes])
            text = self.distinct[int(self.codes[row])].as_py()
            raise LogError(f"{name} is {short_repr(text)} in row {row}; {advice}")


def coded_texts(name: str, column: Any) -> CodedTexts:
    """Return an Arrow column of text, or of categories of text, as codes, without a loop over its rows in Python.

    Raise `LogError` for the first row without a value, and for text that is not UTF-8.
    """
    import pyarrow as pa

    codes, distinct, n_rows = [], [], 0
    for array in _plain(column.iterchunks()):
        refuse_nulls(f"column {name}", array, n_rows)
        is_coded = pa.types.is_dictionary(array.type)
        coded = (array.indices if is_coded else array).dictionary_encode()
        words = array.dictionary.take(coded.dictionary) if is_coded else coded.dictionary
        if words.null_count:
            refuse_nulls(f"column {name}", words.take(coded.indices), n_rows)
        codes.append(coded.indices.to_numpy())
        distinct.append(words)
        n_rows += len(array)
    # Each chunk has codes of its own: a text that several chunks have gets one code.
    joined = pa.concat_arrays(distinct).dictionary_encode()
    code_of = np.split(joined.indices.to_numpy(), np.cumsum([len(words) for words in distinct[:-1]]))
    try:
        joined.dictionary.validate(full=True)
    except pa.ArrowInvalid:
        raise not_utf8(name) from None
    return CodedTexts(np.concatenate([of[part] for of, part in zip(code_of, codes, strict=True)]), joined.dictionary)


def refuse_nulls(title: str, array: Any, first_row: int = 0) -> None:
    """Raise `LogError` for the first row of an Arrow array that is null or NaN; `first_row` is that of the array."""
    empty = array.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    if empty.any():
        raise no_value(title, first_row + first_true(empty))


def is_text(kind: Any) -> bool:
    """True for Arrow's types of text, and of categories of text."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def is_category(kind: Any) -> bool:
    """True for Arrow's types of categories whose labels are text, numbers or truth values."""
    from pyarrow import types

    if not types.is_dictionary(kind):
        return False
    labels = kind.value_type
    return is_text(labels) or types.is_integer(labels) or types.is_floating(labels) or types.is_boolean(labels)


def plain_array(column: Any) -> Any:
    """Return an Arrow column as one array of plain values, of text, or of categories of text."""
    import pyarrow as pa

    chunks = [column] if isinstance(column, pa.Array) else column.iterchunks()
    arrays = list(_plain(chunks))
    if not pa.types.is_dictionary(arrays[0].type):
        return pa.concat_arrays(arrays)
    whole = pa.chunked_array(arrays).unify_dictionaries().combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


def _plain(chunks: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    for array in chunks:
        array = period_starts(array) if is_period(array.type) else array
        while isinstance(array.type, pa.BaseExtensionType):
            array = array.storage
        if pa.types.is_run_end_encoded(array.type):
            array = pc.run_end_decode(array)
        if pa.types.is_dictionary(array.type):
            words, codes = array.dictionary, array.indices.cast(pa.int64())
            coded = is_category(array.type)
            try:
                plain = (
                    pa.DictionaryArray.from_arrays(codes, words.cast(pa.large_string())) if coded else words.take(codes)
                )
            except pa.ArrowIndexError:
                raise LogError(
                    f"a column of categories has {len(words)} of them, and rows with a number beyond these; it is "
                    "damaged: write it again"
                ) from None
            yield plain
        else:
            yield array.cast(pa.large_string()) if is_text(array.type) else array
