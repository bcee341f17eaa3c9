"""Arrow tables, wherever they come from, and their columns as arrays."""

import os
import re
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import LogError
from understudy.logs.arrays import EXACT, first
from understudy.logs.labels import numbers_of

PARQUET, CSV = (".parquet", ".pq"), (".csv", ".csv.gz")
DEEPEST = 16  # lists within lists
LONGEST = 300  # characters of a path in a message
WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")
DIGITS = 76  # of Arrow's widest decimal
TRUTH_WORDS = ((b"true", b"false"), (b"True", b"False"), (b"TRUE", b"FALSE"))
INTEGRAL_FLOAT = r"^(0|-?[1-9][0-9]{0,14})\.0$"


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


def load_file(path: Path, as_written: Iterable[str] = ()) -> Any:
    """The table in a Parquet or CSV file; of a CSV these columns are told apart by their text, as `parse_csv` says."""
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
            return _load_csv(path, as_written)
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


def _load_csv(path: Path, as_written: Iterable[str]) -> Any:
    import pyarrow as pa

    # A file, not a path, since Arrow takes no path that is not UTF-8.
    packed = "gzip" if path.name.lower().endswith(".gz") else None
    with open(path, "rb") as file, pa.input_stream(file, compression=packed) as stream:
        return parse_csv(stream.read(), as_written)


def parse_csv(content: bytes, as_written: Iterable[str] = ()) -> Any:
    """The table that a CSV text is. An empty cell is a null everywhere; NA, null and nan are where numbers are.

    Types are guessed, except of the columns that are told apart by their text (`as_written`): 7 and 007 are two ids.
    These become numbers or truth values only where no two texts could be one value, and are text otherwise.
    """
    import pyarrow as pa

    _refuse_other_forms(content)
    types = {name: pa.large_binary() for name in as_written if name == name.encode(errors="replace").decode()}
    table = _with_long_numbers(_parse(content, types), content)
    for at, name in enumerate(table.column_names):
        column = table.column(at)
        if name in types:
            column = _told_by_text(_text(column))
        elif str(column.type).startswith(WORDS[:-1]):
            column = _text(column)
        table = table.set_column(at, name, column)
    return table


def _refuse_other_forms(content: bytes) -> None:
    """Refuse what spreadsheets save under the name of CSV, with what to do about it."""
    header = content.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].split(b"\r", 1)[0]
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in header:
        raise LogError("the file is UTF-16, or not text; save it as UTF-8", "file")
    try:
        words = header.decode()
    except UnicodeDecodeError:
        raise LogError(
            "the header holds text that is not UTF-8 (is it Latin-1?); save the file as UTF-8", "file"
        ) from None
    if words.startswith("sep="):
        raise LogError(f"the first line is {words[:20]}, an instruction to a spreadsheet; delete that line", "file")
    for sign, name in ((";", "';'"), ("\t", "tabs")):
        if sign in words and "," not in words:
            raise LogError(
                f"the file seems to separate columns by {name}; save it with commas between columns, and with points "
                "in decimals",
                "file",
            )


def _parse(content: bytes, types: dict[str, Any], missing_text: bool = False) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    # One block, since types are guessed from the first: a reward of 0 for a million rows may be 0.5 in the next.
    options = arrow_csv.ReadOptions(block_size=min(len(content) + 1, 2**31 - 1))
    meaning = arrow_csv.ConvertOptions(strings_can_be_null=missing_text, column_types=types)
    return arrow_csv.read_csv(pa.BufferReader(content), options, convert_options=meaning)


def _text(column: Any) -> Any:
    """A column of a CSV as text with nulls for empty cells. Whether it is UTF-8 is asked of columns that are used."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = column.cast(pa.large_binary()).combine_chunks()
    array = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    text = pc.if_else(pc.equal(pc.binary_length(array), 0), None, array)
    return text.view(pa.large_string())


def _told_by_text(text: Any) -> Any:
    """Integers, truth values or text, whichever has a value of its own for each of these texts.

    So 7 and 007, 1.1 and 1.10, 16 and 0x10 stay text. Integers that were written as floats (3.0) are floats where all
    of them were.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        numbers = text.cast(pa.int64())
        return numbers if pc.all(pc.equal(numbers.cast(pa.large_string()), text)).as_py() else text
    except pa.ArrowInvalid:  # something else than int64 is among them
        pass
    content = text.view(pa.large_binary())  # which may be compared though it is not UTF-8
    for true, false in TRUTH_WORDS:
        if pc.all(pc.is_in(content, pa.array([true, false], content.type), skip_nulls=True)).as_py():
            return pc.equal(content, true)
    if pc.all(pc.match_substring_regex(content, INTEGRAL_FLOAT)).as_py():
        return text.cast(pa.float64())
    return text


def _with_long_numbers(table: Any, content: bytes) -> Any:
    """The table with whole numbers beyond int64 as they are written: Arrow rounds them to float64."""
    import pyarrow as pa

    rounded = [at for at, column in enumerate(table.columns) if pa.types.is_float64(column.type) and _is_long(column)]
    if rounded:
        written = _parse(content, {table.column_names[at]: pa.large_string() for at in rounded}, missing_text=True)
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
    except (UnicodeDecodeError, pa.ArrowException, NotImplementedError) as error:
        kind = str(column.type)[:LONGEST]
        if isinstance(error, UnicodeDecodeError) or "string" in kind:
            raise not_utf8(name) from None
        raise LogError(
            f"column {name} holds {kind}, which cannot be read ({reason(error)}); convert it first"
        ) from None


def not_utf8(name: str) -> LogError:
    """What to say of a column whose text cannot be decoded."""
    return LogError(f"column {name} holds text that is not UTF-8 (is it Latin-1?); write it again as UTF-8")


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


def sort_key(name: str, column: Any) -> Any:
    """An Arrow column by whose values rows are sorted.

    Text that spells numbers stands in their order, other text in its own, ordered categories in theirs. A column with
    nulls or NaN is refused.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    array = pa.concat_arrays(column.chunks) if column.num_chunks else column.combine_chunks()
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
        raise LogError(f"order_by column {name} has no value in row {first(empty)}; fill it in")
    return array


def _ranks(name: str, texts: Any) -> np.ndarray:
    """The place of each text among the others, equal numbers in one."""
    try:
        words = texts.to_pylist()
    except UnicodeDecodeError:
        raise not_utf8(name) from None
    keys: list = numbers_of(words) or words
    place = {key: at for at, key in enumerate(sorted(set(keys)))}
    return np.array([place[key] for key in keys], np.int64)


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
        raise LogError(
            f"column {name} has {lengths[row]} entr{'y' if lengths[row] == 1 else 'ies'} in row {row} and {width} in "
            "row 0; give all the same"
        )
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
