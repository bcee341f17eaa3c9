"""Tables from objects of other libraries: DataFrames, DuckDB's relations and results, Arrow's datasets and streams."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Protocol, runtime_checkable

from understudy.errors import LogError
from understudy.logs.arrow_columns import values_to_arrow
from understudy.logs.labels import listing
from understudy.logs.streamed import StreamedTable
from understudy.progress import Report, progress_bar
from understudy.storage import error_reason

LARGE = 1_000_000  # rows from which on progress is shown unless told otherwise


@runtime_checkable
class ArrowStreamable(Protocol):
    """A table of any library that keeps to the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


@runtime_checkable
class ArrowDataset(Protocol):
    """A dataset of Arrow's: files that are read when they are asked for."""

    schema: Any

    def scanner(self, **options: Any) -> Any: ...

    def count_rows(self) -> int: ...


@runtime_checkable
class ArrowScanner(Protocol):
    """A choice of columns and rows of a dataset."""

    def to_reader(self) -> Any: ...

    def count_rows(self) -> int: ...


@runtime_checkable
class DuckResult(Protocol):
    """A relation or result of DuckDB, from version 2 on."""

    def to_arrow_reader(self) -> Any: ...


@runtime_checkable
class OldDuckResult(Protocol):
    """A relation or result of DuckDB 1."""

    def fetch_record_batch(self) -> Any: ...


def load_object(source: Any, progress: bool | None = None) -> Any:
    """Return a mapping of columns, a DataFrame, a relation of DuckDB or a dataset of Arrow's as an Arrow table.

    What is not in memory yet is read in batches; a dataset of Parquet files is a `StreamedTable`. `progress` is as in
    `read`.
    """
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return source
    if isinstance(source, Mapping):
        return _load_mapping(source)
    try:
        if isinstance(source, ArrowDataset) and _is_parquet(source):
            return StreamedTable(source.schema, source.count_rows(), partial(_scanned, source), progress)
        reader, total = _reader(source)
        if reader is not None:
            return _collected(reader, total, progress)
        if isinstance(source, ArrowStreamable):
            return pa.table(source)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, OSError) as error:
        _refuse_twice_named(error)
        _refuse_mixed_column(source, error)
        raise LogError(f"the table has no Arrow form ({error_reason(error)}); convert its columns first") from None
    raise LogError(f"cannot read a {type(source).__name__}; give a path or a DataFrame, or use Log.from_columns")


def _is_parquet(dataset: ArrowDataset) -> bool:
    """True for a dataset of Parquet files: others, such as CSV, would be parsed again for each column."""
    from pyarrow import dataset as arrow

    return isinstance(dataset, arrow.FileSystemDataset) and isinstance(dataset.format, arrow.ParquetFileFormat)


def _scanned(dataset: Any, names: Sequence[str]) -> Iterator[Any]:
    """Yield tables of some columns of a dataset of Parquet files."""
    import pyarrow as pa
    from pyarrow import dataset as arrow

    checked = arrow.ParquetFragmentScanOptions(page_checksum_verification=True)
    few = {"batch_readahead": 2, "fragment_readahead": 1}  # by default a column of a small log is in memory as a whole
    try:
        columns = {name: arrow.field(name) for name in names}
        for batch in dataset.scanner(columns=columns, fragment_scan_options=checked, **few).to_batches():
            yield pa.table(batch)
    except (pa.ArrowException, OSError) as error:
        raise LogError(f"column {names[0]} cannot be read ({error_reason(error)}); check the dataset", "file") from None


def _reader(source: Any) -> tuple[Any, int | None]:
    """Return a reader of what is not in memory yet and its number of rows, if known; None for other objects."""
    import pyarrow as pa

    if isinstance(source, pa.RecordBatchReader):
        return source, None
    if isinstance(source, ArrowDataset):
        return source.scanner().to_reader(), source.count_rows()
    if isinstance(source, ArrowScanner):
        return source.to_reader(), source.count_rows()
    if isinstance(source, DuckResult):
        return source.to_arrow_reader(), None
    if isinstance(source, OldDuckResult):
        return source.fetch_record_batch(), None
    return None, None


def _collected(reader: Any, total: int | None, progress: bool | None) -> Any:
    import pyarrow as pa

    batches, rows = [], 0
    report: Report | None = None
    with ExitStack() as shown:
        for batch in reader:
            batches.append(batch)
            rows += batch.num_rows
            if report is None and (progress or (progress is None and rows >= LARGE)):
                report = shown.enter_context(progress_bar("reading rows", total, progress))
            if report is not None:
                report(rows)
    return pa.Table.from_batches(batches, reader.schema)


def _refuse_twice_named(error: Exception) -> None:
    """Raise `LogError` for names that two columns of a pandas frame have, as pyarrow lists them in its error."""
    found = re.fullmatch(r"Duplicate column names found: (\[.*\])", str(error.args[0]) if error.args else "", re.DOTALL)
    if found:
        names = re.findall(r"'([^']*)'", found[1])
        twice = next((name for name in names if names.count(name) > 1), found[1])
        raise LogError(
            f"the frame has {max(2, names.count(twice))} columns named {twice}; rename all but one"
        ) from None


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
