"""Arrow tables, wherever they come from, and their columns as arrays."""

from pathlib import Path
from typing import Any

import numpy as np

from understudy.logs import columns
from understudy.logs.columns import LogError

PARQUET, CSV = (".parquet", ".pq"), (".csv", ".csv.gz")


def load_file(path: Path) -> Any:
    """The table in a Parquet or CSV file."""
    import pyarrow as pa

    name = path.name.lower()
    try:
        if path.is_dir():
            raise LogError(f"{path} is a folder; read its files one by one and concatenate them", "file")
        if not path.exists():
            raise LogError(f"{path} does not exist; check the path", "file")
        if path.stat().st_size == 0:
            raise LogError(f"{path} is an empty file; write it again", "file")
        if name.endswith(CSV):
            return _load_csv(path)
        if name.endswith(PARQUET) or _starts_like_parquet(path):
            return _load_parquet(path)
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise LogError(f"{path} cannot be read ({reason(error)}); write it again, or check the path", "file") from None
    raise LogError(f"{path} is neither Parquet nor named {' or '.join(CSV)}; convert or rename it", "file")


def _starts_like_parquet(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def _load_parquet(path: Path) -> Any:
    import pyarrow.parquet as pq

    with open(path, "rb") as file:  # a file, not a path, so that nothing else is guessed from the name
        return pq.ParquetFile(file).read()


def _load_csv(path: Path) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    with pa.input_stream(str(path)) as stream:
        content = stream.read()
    # One block, since types are guessed from the first: a reward of 0 for a million rows may be 0.5 in the next.
    options = arrow_csv.ReadOptions(block_size=min(len(content) + 1, 2**31 - 1))
    table = arrow_csv.read_csv(pa.BufferReader(content), options)
    table.column_names  # noqa: B018 - decodes the header, or raises here
    return table


def load_frame(source: Any) -> Any:
    """The table that a pandas, polars or other DataFrame is."""
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return source
    if not hasattr(source, "__arrow_c_stream__"):
        raise LogError(f"cannot read a {type(source).__name__}; give a path or a DataFrame, or use Log.from_columns")
    try:
        return pa.table(source)
    except (pa.ArrowException, TypeError) as error:
        raise LogError(f"the table has no Arrow form ({reason(error)}); convert its columns first") from None


def reason(error: BaseException) -> str:
    """The first line of what an error says."""
    return str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__


def values(name: str, column: Any, height: int | None = None) -> np.ndarray:
    """An Arrow column as an array: nulls are NaN among floats and refused elsewhere, lists become rows.

    `height` is the number of rows, where these are the entries of a column of lists.
    """
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # combined into more than one, since 2 GiB did not suffice
        return np.concatenate([values(name, chunk) for chunk in array.chunks])
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return values(name, array.storage)
    if pa.types.is_dictionary(kind):
        words = array.dictionary
        if pa.types.is_string_view(words.type):  # Arrow cannot take from these yet
            words = words.cast(pa.large_string())
        return values(name, words.take(array.indices))
    if pa.types.is_decimal(kind):
        return values(name, array.cast(pa.float64()))
    if array.null_count and not pa.types.is_floating(kind):
        entry = columns.first(array.is_null().to_numpy(zero_copy_only=False))
        row = entry if height is None else entry * height // len(array)
        raise LogError(f"column {name} has no value in row {row}; fill it in, or drop the row")
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _unlisted(name, array, height or len(array))
    return array.to_numpy(zero_copy_only=False)


def _unlisted(name: str, array: Any, height: int) -> np.ndarray:
    lengths = array.value_lengths().to_numpy(zero_copy_only=False)
    width = int(lengths[0]) if len(lengths) else 0
    if np.any(lengths != width):
        row = columns.first(lengths != width)
        raise LogError(f"column {name} has {lengths[row]} entries in row {row} and {width} in row 0; give all the same")
    entries = values(name, array.flatten(), height)
    return entries.reshape(len(array), width, *entries.shape[1:])


def listed(column: np.ndarray) -> Any:
    """As an Arrow array, a fixed-size list for each dimension after the first."""
    import pyarrow as pa

    array = pa.array(np.ascontiguousarray(column).reshape(-1))
    for width in reversed(column.shape[1:]):
        array = pa.FixedSizeListArray.from_arrays(array, width)
    return array
