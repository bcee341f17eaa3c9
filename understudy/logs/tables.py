"""Arrow tables, wherever they come from, and their columns as arrays."""

import os
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from understudy.logs.arrays import EXACT, first
from understudy.logs.findings import LogError

PARQUET, CSV = (".parquet", ".pq"), (".csv", ".csv.gz")
DEEPEST = 16  # lists within lists
LONGEST = 300  # characters of a path in a message
WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
DIGITS = 76  # of Arrow's widest decimal


def path_of(path: str | os.PathLike) -> Path:
    """The path, if a system can be asked for it at all."""
    text = os.fsdecode(path)
    try:
        possible = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise LogError(
            f"{named(text)} cannot be a path, since it holds a NUL or half a surrogate pair; rename it", "file"
        )
    return Path(text)


def named(path: str | os.PathLike) -> str:
    """A path for a message: whole, unless nobody would read it."""
    text = os.fsdecode(path)
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}...{text[-LONGEST // 2 :]}"


def load_file(path: Path) -> Any:
    """The table in a Parquet or CSV file."""
    import pyarrow as pa

    name, title = path.name.lower(), named(path)
    try:
        if path.is_dir():
            raise LogError(f"{title} is a folder; name a file (in Python, read several and concatenate them)", "file")
        if not path.exists():
            raise LogError(f"{title} does not exist; check the path", "file")
        if not path.is_file():  # a pipe would be waited for
            raise LogError(f"{title} is not a plain file; save its content as one", "file")
        if path.stat().st_size == 0:
            raise LogError(f"{title} is an empty file; write it again", "file")
        if name.endswith(CSV):
            return _load_csv(path)
        if name.endswith(PARQUET) or _starts_like_parquet(path):
            return _load_parquet(path)
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, MemoryError) as error:
        raise LogError(f"{title} cannot be read ({reason(error)}); write it again, or check the path", "file") from None
    raise LogError(f"{title} is neither Parquet nor named {' or '.join(CSV)}; convert or rename it", "file")


def _starts_like_parquet(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def _load_parquet(path: Path) -> Any:
    import pyarrow.parquet as pq

    with open(path, "rb") as file:  # a file, not a path, so that nothing else is guessed from the name
        table = pq.ParquetFile(file, page_checksum_verification=True).read()
    table.column_names  # noqa: B018 - decodes them, or raises here
    return table


def _load_csv(path: Path) -> Any:
    import pyarrow as pa

    with pa.input_stream(str(path)) as stream:
        return parse_csv(stream.read())


def parse_csv(content: bytes) -> Any:
    """The table that a CSV text is. An empty cell is a null, in columns of text too."""
    table = _parse(content, {})
    table.column_names  # noqa: B018 - decodes the header, or raises here
    return _with_long_numbers(table, content)


def _parse(content: bytes, types: dict[str, Any]) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    # One block, since types are guessed from the first: a reward of 0 for a million rows may be 0.5 in the next.
    options = arrow_csv.ReadOptions(block_size=min(len(content) + 1, 2**31 - 1))
    meaning = arrow_csv.ConvertOptions(strings_can_be_null=True, column_types=types)
    return arrow_csv.read_csv(pa.BufferReader(content), options, convert_options=meaning)


def _with_long_numbers(table: Any, content: bytes) -> Any:
    """The table with whole numbers beyond int64 as they are written: Arrow rounds them to float64."""
    import pyarrow as pa

    rounded = [at for at, column in enumerate(table.columns) if pa.types.is_float64(column.type) and _is_long(column)]
    if rounded:
        written = _parse(content, {table.column_names[at]: pa.large_string() for at in rounded})
        for at in rounded:
            texts = written.column(at).to_pylist()
            whole = [text for text in texts if text is not None and WHOLE.fullmatch(text)]
            exact: Any = None
            if len(whole) + texts.count(None) == len(texts) and max(map(len, whole)) <= DIGITS:
                numbers = [None if text is None else Decimal(text.strip()) for text in texts]
                exact = pa.array(numbers, pa.decimal256(DIGITS, 0))
            elif any(Decimal(text.strip()) != Decimal(float(text)) for text in whole):
                exact = written.column(at)  # as text, since no type of number holds them all
            if exact is not None:
                table = table.set_column(at, table.column_names[at], exact)
    return table


def _is_long(column: Any) -> bool:
    import pyarrow.compute as pc

    largest = pc.max(pc.abs(column)).as_py()
    return largest is not None and largest >= EXACT


def load_frame(source: Any) -> Any:
    """The table that a pandas, polars or other DataFrame is."""
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return source
    if not hasattr(source, "__arrow_c_stream__"):
        raise LogError(f"cannot read a {type(source).__name__}; give a path or a DataFrame, or use Log.from_columns")
    try:
        return pa.table(source)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise LogError(f"the table has no Arrow form ({reason(error)}); convert its columns first") from None


def reason(error: BaseException) -> str:
    """What the system says of an error, or the first line of what the error does."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).strip().split("\n")[0].rstrip(".")[:LONGEST] or type(error).__name__


def values(name: str, column: Any, height: int | None = None) -> np.ndarray:
    """An Arrow column as an array: nulls are NaN among floats and refused elsewhere, lists become rows.

    `height` is the number of rows, where these are the entries of a column of lists.
    """
    import pyarrow as pa

    try:
        return _values(name, column, height)
    except UnicodeDecodeError:
        raise LogError(f"column {name} holds text that is not UTF-8; write it again as UTF-8") from None
    except (pa.ArrowException, NotImplementedError) as error:
        kind = str(column.type)[:LONGEST]
        raise LogError(
            f"column {name} holds {kind}, which cannot be read ({reason(error)}); convert it first"
        ) from None


def _values(name: str, column: Any, height: int | None) -> np.ndarray:
    import pyarrow as pa
    import pyarrow.compute as pc

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # combined into more than one, since 2 GiB did not suffice
        return np.concatenate([values(name, chunk) for chunk in array.chunks])
    kind, types = array.type, pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return values(name, array.storage, height)
    if types.is_run_end_encoded(kind):
        return values(name, pc.run_end_decode(array), height)
    if types.is_dictionary(kind):
        words = array.dictionary
        if types.is_string_view(words.type):  # Arrow cannot take from these yet
            words = words.cast(pa.large_string())
        return values(name, words.take(array.indices), height)
    if types.is_decimal(kind):
        return _numbers(array)
    if array.null_count and not types.is_floating(kind):
        entry = first(array.is_null().to_numpy(zero_copy_only=False))
        row = entry if height is None else entry * height // len(array)
        raise LogError(f"column {name} has no value in row {row}; fill it in, or drop the row")
    if _is_list(kind):
        return _unlisted(name, array, height or len(array))
    if types.is_time(kind):  # as Python's times they would lose their nanoseconds
        since_midnight = array.cast(pa.int32() if types.is_time32(kind) else pa.int64())
        return since_midnight.to_numpy().astype(f"m8[{kind.unit}]")
    if types.is_interval(kind) or not (types.is_primitive(kind) or str(kind).startswith(WORDS)):
        raise LogError(
            f"column {name} holds {str(kind)[:LONGEST]}, which is neither numbers, text, dates nor plain lists; "
            "convert it first"
        )
    return array.to_numpy(zero_copy_only=False)


WORDS = ("string", "large_string", "binary", "large_binary", "fixed_size_binary", "null")
"""How the names of Arrow's kinds of text and bytes begin, and of nothing."""


def _numbers(array: Any) -> np.ndarray:
    """Decimals, exactly: integers as such, those of few digits as the nearest floats, others as Python's."""
    import pyarrow as pa

    if array.type.scale <= 0 and not array.null_count:
        for dtype in (pa.int64(), pa.uint64()):
            try:
                return array.cast(dtype).to_numpy()
            except pa.ArrowInvalid:  # too large, or negative
                continue
    if array.type.precision <= 15:  # which a float64 tells apart; by way of text, since Arrow's own cast rounds twice
        return array.cast(pa.large_string()).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return array.to_numpy(zero_copy_only=False)


def _unlisted(name: str, array: Any, height: int) -> np.ndarray:
    inner, depth = array.type, 0
    while _is_list(inner):
        inner, depth = inner.value_type, depth + 1
    if depth > DEEPEST:
        raise LogError(f"column {name} holds lists {depth} deep, and {DEEPEST} is the most; flatten them")
    lengths = array.value_lengths().to_numpy(zero_copy_only=False)
    width = int(lengths[0]) if len(lengths) else 0
    if np.any(lengths != width):
        row = first(lengths != width)
        raise LogError(f"column {name} has {lengths[row]} entries in row {row} and {width} in row 0; give all the same")
    entries = values(name, array.flatten(), height)
    return entries.reshape(len(array), width, *entries.shape[1:])


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def listed(column: np.ndarray) -> Any:
    """As an Arrow array, a fixed-size list for each dimension after the first."""
    import pyarrow as pa

    array = pa.array(np.ascontiguousarray(column).reshape(-1))
    for width in reversed(column.shape[1:]):
        array = pa.FixedSizeListArray.from_arrays(array, width)
    return array
