"""Arrow tables from Parquet and CSV files, and from DataFrames."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from understudy.errors import LogError
from understudy.logs.arrow_columns import values_to_arrow
from understudy.logs.csv_tables import parse_csv
from understudy.logs.labels import listing
from understudy.storage import error_reason

PARQUET, CSV = (".parquet", ".pq"), (".csv", ".csv.gz")
LONGEST = 300  # characters of a path in a message


def checked_path(path: str | os.PathLike) -> Path:
    """Return the path. Raise `LogError` for one that no system can hold."""
    text = os.fsdecode(path)
    try:
        possible = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise LogError(
            f"{shown_path(text)} cannot be a path, since it holds a NUL or half a surrogate pair; rename it", "file"
        )
    return Path(text)


def shown_path(path: str | os.PathLike) -> str:
    """Return a path as a message shows it: its middle left out where it is very long."""
    text = os.fsdecode(path)
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}...{text[-LONGEST // 2 :]}"


def load_file(path: Path, as_written: Iterable[str] = (), **columns: Iterable[str]) -> Any:
    """Return the table in a Parquet or CSV file; for `as_written` and other columns, see `parse_csv`."""
    import pyarrow as pa

    name, title = path.name.lower(), shown_path(path)
    try:
        if path.is_dir():
            raise LogError(f"{title} is a folder; name a file (in Python, read several and concatenate them)", "file")
        if not path.exists():
            raise LogError(f"{title} does not exist; check the path", "file")
        if not path.is_file():  # reading a pipe could wait forever
            raise LogError(f"{title} is not a plain file; save its content as one", "file")
        if path.stat().st_size == 0:
            raise LogError(f"{title} is an empty file; write it again", "file")
        if name.endswith(CSV):
            return _load_csv(path, as_written, **columns)
        if name.endswith(PARQUET) or _starts_like_parquet(path):
            return _load_parquet(path)
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, MemoryError) as error:
        raise LogError(
            f"{title} cannot be read ({error_reason(error)}); write it again, or check the path", "file"
        ) from None
    raise LogError(f"{title} is neither Parquet nor named {' or '.join(CSV)}; convert or rename it", "file")


def _starts_like_parquet(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def _load_parquet(path: Path) -> Any:
    import pyarrow.parquet as pq

    with open(path, "rb") as file:  # a file, not a path: from a path Arrow would guess partitions
        table = pq.ParquetFile(file, page_checksum_verification=True).read()
    table.column_names  # noqa: B018 - decodes them, or raises here
    return table


def _load_csv(path: Path, as_written: Iterable[str], **columns: Iterable[str]) -> Any:
    import pyarrow as pa

    # A file, not a path, since Arrow takes no path that is not UTF-8.
    packed = "gzip" if path.name.lower().endswith(".gz") else None
    with open(path, "rb") as file, pa.input_stream(file, compression=packed) as stream:
        return parse_csv(stream.read(), as_written, **columns)


def load_frame(source: Any) -> Any:
    """Return a pandas, polars or other DataFrame, or a mapping of names to columns, as an Arrow table."""
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return source
    if isinstance(source, Mapping):
        return _load_mapping(source)
    if not hasattr(source, "__arrow_c_stream__"):  # the Arrow PyCapsule interface, which DataFrames implement
        raise LogError(f"cannot read a {type(source).__name__}; give a path or a DataFrame, or use Log.from_columns")
    try:
        return pa.table(source)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        _refuse_mixed_column(source, error)
        raise LogError(f"the table has no Arrow form ({error_reason(error)}); convert its columns first") from None


def _refuse_mixed_column(source: Any, error: Exception) -> None:
    """Raise `LogError` for the column of a pandas frame that pyarrow names in its error, with the rows at fault."""
    found = re.fullmatch("Conversion failed for column (.*) with type .*", str(error.args[-1]) if error.args else "")
    if found and found[1] in source:
        values_to_arrow(f"column {found[1]}", source[found[1]])


def _load_mapping(columns: Mapping[Any, Any]) -> Any:
    import pyarrow as pa

    if not columns or not all(isinstance(name, str) for name in columns):
        raise LogError("a mapping of columns has their names as text; give at least observation, action and reward")
    arrays = {name: values_to_arrow(name, values) for name, values in columns.items()}
    if len({len(array) for array in arrays.values()}) > 1:
        lengths = listing([f"{name} {len(array):,}" for name, array in arrays.items()])
        raise LogError(f"columns differ in length: {lengths}; give each one value a row", "lengths")
    return pa.table(arrays)
