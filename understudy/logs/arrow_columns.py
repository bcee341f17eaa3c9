"""Arrow columns as NumPy arrays, and back."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.logs.arrays import as_array, first_true, no_value, short_repr
from understudy.logs.labels import numbers_of
from understudy.logs.lookalikes import looks_like
from understudy.logs.streamed import StreamedColumn, StreamedTable
from understudy.mapped import new_array
from understudy.storage import error_reason

DEEPEST = 16  # lists within lists
AT_ONCE = 64  # columns that are read from files together: each time a file is opened costs time, and each column memory
LONGEST = 300  # characters of a type in a message
ARROW_UNITS = ("D", "s", "ms", "us", "ns")  # of NumPy's dates that Arrow takes
TEXT_TYPES = ("string", "large_string", "binary", "large_binary", "fixed_size_binary")
"""How the names of Arrow's types of text and bytes begin."""


def to_numpy(name: str, column: Any, n_rows: int | None = None) -> np.ndarray:
    """Return an Arrow column as an array. Nulls become NaN among floats, and raise `LogError` elsewhere.

    A column of lists becomes an array of more dimensions; `n_rows` is the number of rows of such a column, where
    `column` holds the entries of its lists.
    """
    import pyarrow as pa

    try:
        filled = _filled(column)
        return _converted(name, column, n_rows) if filled is None else filled
    except (UnicodeDecodeError, pa.ArrowException, NotImplementedError) as error:
        kind = str(column.type)[:LONGEST]
        if isinstance(error, UnicodeDecodeError) or "string" in kind:
            raise not_utf8(name) from None
        raise LogError(
            f"column {name} holds {kind}, which cannot be read ({error_reason(error)}); convert it first"
        ) from None
    except MemoryError:
        raise LogError(
            f"column {name} has {len(column):,} rows, which do not fit into memory; read fewer files or columns"
        ) from None


def _filled(column: Any) -> np.ndarray | None:
    """Return numbers, truth values, or lists of these, as one array that is filled chunk by chunk.

    None for a column that is one chunk in memory, or that `_converted` has to look at as a whole, to name the row at
    fault or to choose a dtype.
    """
    import pyarrow as pa

    in_chunks = isinstance(column, StreamedColumn) or (isinstance(column, pa.ChunkedArray) and column.num_chunks > 1)
    if not in_chunks or not _is_plain(column.type):
        return None
    filled, n_filled = None, 0
    for chunk in column.iterchunks():
        part = _entries(chunk)
        if part is None or (filled is not None and part.shape[1:] != filled.shape[1:]):
            return None
        if filled is None:
            filled = new_array((len(column), *part.shape[1:]), part.dtype)
        filled[n_filled : n_filled + len(part)] = part
        n_filled += len(part)
    return filled


def _is_plain(kind: Any) -> bool:
    """True for numbers, truth values, and lists of these, of which a NumPy array has one dtype whatever they are."""
    for _ in range(DEEPEST):
        kind = kind.value_type if _is_list(kind) else kind
    return _is_number(kind)


def side_by_side(table: Any, names: Sequence[str]) -> np.ndarray | None:
    """Return columns of one type of numbers as a matrix, (N, names), filled piece by piece.

    None where they have no such type, or where a value is missing that `to_numpy` would refuse with its row.
    """
    from pyarrow import types

    kinds = {table.schema.field(name).type for name in names}
    if len(kinds) > 1 or not _is_number(kind := kinds.pop()):
        return None
    matrix: np.ndarray | None = None
    for begin in range(0, len(names), AT_ONCE):
        block, row = names[begin : begin + AT_ONCE], 0
        for piece in table.pieces(block) if isinstance(table, StreamedTable) else [table.select(block)]:
            for at, column in enumerate(piece.columns, start=begin):
                if column.null_count and not types.is_floating(kind):
                    return None
                values = column.to_numpy()
                if matrix is None:
                    matrix = new_array((table.num_rows, len(names)), values.dtype)
                matrix[row : row + len(values), at] = values
            row += piece.num_rows
    return matrix


def _is_number(kind: Any) -> bool:
    """True for Arrow's types of numbers and truth values that have a NumPy dtype."""
    from pyarrow import types

    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)


def _entries(chunk: Any) -> np.ndarray | None:
    """Return one chunk of a plain column as an array; None where a value is missing, or lists differ in length."""
    from pyarrow import types

    shape = [len(chunk)]
    while _is_list(chunk.type):
        lengths = chunk.value_lengths().to_numpy(zero_copy_only=False)
        if chunk.null_count or not len(lengths) or (lengths != lengths[0]).any():
            return None
        shape.append(int(lengths[0]))
        chunk = chunk.flatten()
    if chunk.null_count and not types.is_floating(chunk.type):
        return None
    return chunk.to_numpy(zero_copy_only=False).reshape(shape)


def not_utf8(name: str) -> LogError:
    """Return the error for a column whose text cannot be decoded."""
    return LogError(f"column {name} holds text that is not UTF-8 (is it Latin-1?); write it again as UTF-8")


def _converted(name: str, column: Any, n_rows: int | None) -> np.ndarray:
    import pyarrow as pa
    import pyarrow.compute as pc

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray | StreamedColumn) else column
    if isinstance(array, pa.ChunkedArray):  # it stays in chunks where it has more than 2 GiB
        return np.concatenate([to_numpy(name, chunk) for chunk in array.chunks])
    kind, types = array.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return to_numpy(name, array.storage, n_rows)
    if types.is_run_end_encoded(kind):
        return to_numpy(name, pc.run_end_decode(array), n_rows)
    if types.is_dictionary(kind):
        words = array.dictionary
        if types.is_string_view(words.type):  # Arrow cannot take from these yet
            words = words.cast(pa.large_string())
        return to_numpy(name, words.take(array.indices), n_rows)
    if types.is_decimal(kind):
        return _decimals(array)
    if array.null_count and not types.is_floating(kind):
        entry = first_true(array.is_null().to_numpy(zero_copy_only=False))
        row = entry if n_rows is None else entry * n_rows // len(array)
        raise no_value(f"column {name}", row)
    if _is_list(kind):
        return _from_lists(name, array, n_rows or len(array))
    if types.is_time(kind):  # as Python's times they would lose their nanoseconds
        since_midnight = array.cast(pa.int32() if types.is_time32(kind) else pa.int64())
        return since_midnight.to_numpy().astype(f"m8[{kind.unit}]")
    if types.is_interval(kind) or not (types.is_primitive(kind) or str(kind).startswith((*TEXT_TYPES, "null"))):
        raise LogError(
            f"column {name} holds {str(kind)[:LONGEST]}, which is neither numbers, text, dates nor plain lists; "
            "convert it first"
        )
    return array.to_numpy(zero_copy_only=False)


PADDED_DATE = re.compile("[0-9]{4}[/.][0-9]{2}[/.][0-9]{2}([ T].*)?")
"""Dates whose letters sort as they do."""


def sort_key(name: str, column: Any) -> Any:
    """Return an Arrow column of sort keys for a column that rows are sorted by.

    Text that spells numbers is sorted as numbers, other text as text, ordered categories in their order. Raise
    `LogError` for nulls and NaN.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    chunks = list(column.iterchunks())
    array = pa.concat_arrays(chunks) if chunks else column.combine_chunks()
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if pa.types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    coded = pa.types.is_dictionary(array.type)
    ranks = None
    if coded and array.type.ordered:
        ranks = np.arange(len(array.dictionary))
    elif "string" in str(array.type.value_type if coded else array.type):
        array = array if coded else array.cast(pa.large_string()).dictionary_encode()
        ranks = _ranks(name, array.dictionary)
    elif coded:
        array = array.dictionary.take(array.indices)
    if ranks is not None:
        array = pa.array(ranks).take(array.indices)
    empty = array.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    if empty.any():
        raise LogError(f"order_by column {name} has no value in row {first_true(empty)}; fill it in")
    return array


def _ranks(name: str, texts: Any) -> np.ndarray:
    """Return the rank of each text among the others; texts that spell one number have one rank."""
    try:
        words = texts.to_pylist()
    except UnicodeDecodeError:
        raise not_utf8(name) from None
    numbers = numbers_of(words)
    found = looks_like(words) if numbers is None else None
    if found is not None and not all(map(PADDED_DATE.fullmatch, words)):
        raise LogError(
            f"order_by column {name} holds texts such as {short_repr(found[0])}, which would be sorted letter by "
            f"letter; if they are {found[1]}, or sort the rows beforehand"
        )
    keys: list = numbers or words
    rank = {key: at for at, key in enumerate(sorted(set(keys)))}
    return np.array([rank[key] for key in keys], np.int64)


def _decimals(array: Any) -> np.ndarray:
    """Return Arrow decimals without loss: as integers, as floats where they have few digits, or as Python decimals."""
    import pyarrow as pa

    if array.type.scale <= 0 and not array.null_count:
        for dtype in (pa.int64(), pa.uint64()):
            try:
                return array.cast(dtype).to_numpy()
            except pa.ArrowInvalid:  # too large, or negative
                continue
    if array.type.precision <= 15:  # which float64 keeps different; cast as text, since Arrow's own cast rounds twice
        return array.cast(pa.large_string()).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return array.to_numpy(zero_copy_only=False)


def _from_lists(name: str, array: Any, n_rows: int) -> np.ndarray:
    """Return a column of lists, which may be nested, as an array with a dimension for each level."""
    inner, depth = array.type, 0
    while _is_list(inner):
        inner, depth = inner.value_type, depth + 1
    if depth > DEEPEST:
        raise LogError(f"column {name} holds lists {depth} deep, and {DEEPEST} is the most; flatten them")
    lengths = array.value_lengths().to_numpy(zero_copy_only=False)
    width = int(lengths[0]) if len(lengths) else 0
    if np.any(lengths != width):
        row = first_true(lengths != width)
        raise LogError(
            f"column {name} has {lengths[row]} entr{'y' if lengths[row] == 1 else 'ies'} in row {row} and {width} in "
            "row 0; give all the same"
        )
    entries = to_numpy(name, array.flatten(), n_rows)
    return entries.reshape(len(array), width, *entries.shape[1:])


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def to_arrow(column: np.ndarray) -> Any:
    """Return a NumPy column as an Arrow array, a fixed-size list for each dimension after the first."""
    import pyarrow as pa

    array = pa.array(np.ascontiguousarray(column).reshape(-1))
    for width in reversed(column.shape[1:]):
        array = pa.FixedSizeListArray.from_arrays(array, width)
    return array


def values_to_arrow(name: str, values: Any) -> Any:
    """Return a column that a user gives as an Arrow array. Raise `LogError` where it mixes text and other values."""
    import pyarrow as pa

    array = as_array(name, values)
    if array.dtype.kind in "biuf":
        return to_arrow(array)
    if array.ndim > 1:
        raise LogError(f"{name} has shape {array.shape} and is not numbers; give each of its entries a column")
    if array.dtype.kind == "M" and np.datetime_data(array.dtype)[0] not in ARROW_UNITS:
        array = array.astype("M8[s]")
    plain = array.dtype.kind in "mM" or isinstance(values, np.ndarray)
    try:
        return pa.array(array if plain else values, from_pandas=True)
    except (pa.ArrowException, OverflowError) as error:
        text = np.array([isinstance(item, str) for item in array.tolist()])
        missing = array != array
        if text.any() and (~text & ~missing).any():
            one, other = first_true(text), first_true(~text & ~missing)
            raise LogError(
                f"{name} holds text ({short_repr(array[one])} in row {one}) and other values "
                f"({short_repr(array[other])} in row {other}); make all of them text, or all of them numbers"
            ) from None
        raise LogError(f"{name} has no Arrow form ({error_reason(error)}); convert it first") from None
