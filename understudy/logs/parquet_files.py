"""Parquet files, one or many, as one table: a column is read when it is asked for, one group of rows after another."""

import json
import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from understudy.errors import LogError
from understudy.logs.arrow_columns import LONGEST
from understudy.logs.source_files import SourceFile, refuse_no_file, refuse_unreadable, shown_path
from understudy.logs.streamed import StreamedTable
from understudy.storage import parse_json

PARQUET = (".parquet", ".pq")
"""The endings of Parquet files."""

MAGIC = (b"PAR1", b"PARE")  # how files begin, plain and encrypted
ROWS_AT_ONCE = 2**17
"""Small groups of rows are read together, up to so many rows; large ones are read as a whole."""

MOST_READERS = 4
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
NULL = "__HIVE_DEFAULT_PARTITION__"
"""What Hive writes for a missing value."""

OURS = b"understudy"
"""The key of what `write` stores beside the columns."""


class _Opened(NamedTuple):
    """A file of which the footer has been read."""

    file: SourceFile
    stamp: tuple[int, int]  # size and time of change: the file must stay as it is while its columns are read
    metadata: Any
    schema: Any

    @property
    def title(self) -> str:
        return shown_path(self.file.path)

    def has(self, name: str) -> bool:
        """True if one column of the file has this name."""
        return self.schema.get_field_index(name) >= 0


def parquet_table(files: Sequence[SourceFile], progress: bool | None = None) -> StreamedTable:
    """Return the rows of all files, in this order, as one table; only the files' footers are read here.

    A name in a file's partition is a column, unless the file has one of that name: of integers where all files have
    integers there, else of text. Raise `LogError` where a file is not Parquet. Where a column is not in all files, or
    not of one type, that is raised when it is read.
    """
    import pyarrow as pa

    opened = [_opened(file) for file in files]
    fields = list(opened[0].schema)
    known = set(opened[0].schema.names)
    for one in opened[1:]:
        fields += [field for field in one.schema if field.name not in known]
        known.update(one.schema.names)
    partition = {name: None for one in opened for name in one.file.partition if name not in known}
    kinds = {name: _partition_type(name, opened) for name in partition}
    fields += [pa.field(name, kind) for name, kind in kinds.items()]
    stored = _stored(opened)
    schema = pa.schema(fields, None if stored is None else {OURS: stored})
    read = partial(_read, opened, schema)
    return StreamedTable(schema, sum(one.metadata.num_rows for one in opened), read, progress)


def _opened(file: SourceFile) -> _Opened:
    import pyarrow.parquet as pq

    refuse_no_file(file.path)
    with refuse_unreadable(file.path), open(file.path, "rb") as stream:  # Arrow takes no path that is not UTF-8
        if stream.read(4) not in MAGIC and file.path.suffix not in PARQUET:
            raise LogError(
                f"{shown_path(file.path)} is not a Parquet file; convert it (understudy convert), or name the Parquet "
                "files beside it by a pattern such as 'logs/*.parquet'",
                "file",
            )
        stream.seek(0)
        parquet = pq.ParquetFile(stream)
        metadata, schema = parquet.metadata, parquet.schema_arrow
        schema.names  # noqa: B018 - decodes them, or raises here
        counts = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        if min(counts, default=0) < 0 or sum(counts) != metadata.num_rows:
            raise LogError(f"{shown_path(file.path)} says of itself how many rows it has in two ways; write it again")
        return _Opened(file, _stamp(stream), metadata, schema)


def _stamp(stream: Any) -> tuple[int, int]:
    found = os.fstat(stream.fileno())
    return found.st_size, found.st_mtime_ns


def _partition_type(name: str, opened: Sequence[_Opened]) -> Any:
    import pyarrow as pa

    values = [one.file.partition.get(name, NULL) for one in opened]
    return pa.int64() if all(WHOLE.fullmatch(value) for value in values if value != NULL) else pa.string()


def _read(opened: Sequence[_Opened], schema: Any, names: Sequence[str]) -> Iterator[Any]:
    """Yield tables of some columns, in the order of files and rows; the next ones are read meanwhile."""
    import pyarrow as pa

    for name in names:
        _refuse_unlike(opened, name)
    parts = [partial(_part, one, schema, names, groups) for one in opened for groups in _groups(one.metadata)]
    n_readers = min(MOST_READERS, pa.cpu_count(), len(parts))
    if n_readers < 2:
        yield from (part() for part in parts)
        return
    pending: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(n_readers) as readers:
        try:
            for part in parts:
                pending.append(readers.submit(part))
                if len(pending) > n_readers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for waiting in pending:
                waiting.cancel()


def _groups(metadata: Any) -> Iterator[list[int]]:
    """Yield the numbers of groups of rows that are read together."""
    together: list[int] = []
    n_rows = 0
    for group in range(metadata.num_row_groups):
        together.append(group)
        n_rows += metadata.row_group(group).num_rows
        if n_rows >= ROWS_AT_ONCE:
            yield together
            together, n_rows = [], 0
    if together:
        yield together


def _part(one: _Opened, schema: Any, names: Sequence[str], groups: list[int]) -> Any:
    """Return a table of some columns in some groups of rows of a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n_rows = sum(one.metadata.row_group(group).num_rows for group in groups)
    in_file = [name for name in names if one.has(name)]
    columns = {name: _repeated(one.file.partition[name], schema.field(name).type, n_rows)
               for name in names if name not in in_file}  # fmt: skip
    if in_file:
        with refuse_unreadable(one.file.path), open(one.file.path, "rb") as stream:
            if _stamp(stream) != one.stamp:
                raise LogError(f"{one.title} was changed while it was read; read it again", "file")
            parquet = pq.ParquetFile(stream, metadata=one.metadata, page_checksum_verification=True)
            table = parquet.read_row_groups(groups, columns=in_file, use_threads=False)
        columns |= {name: table.column(name) for name in in_file}  # which may have more: a has a.b
    return pa.table({name: columns[name] for name in names})


def _repeated(value: str, kind: Any, n_rows: int) -> Any:
    """Return what the folder of a file says, for so many of its rows."""
    import pyarrow as pa

    known = None if value == NULL else int(value) if pa.types.is_integer(kind) else value
    return pa.repeat(pa.scalar(known, kind), n_rows)


def _refuse_unlike(opened: Sequence[_Opened], name: str) -> None:
    """Raise `LogError` for the first file that has no column of this name, or one of another type than the others."""
    has = [one.has(name) or name in one.file.partition for one in opened]
    if not all(has):
        lacks, other = opened[has.index(False)], opened[has.index(True)]
        raise LogError(
            f"{lacks.title} has no column {name}, and {other.title} has one; add it to the file, or leave the column "
            "out of all files",
            "file",
        )
    kinds = [one.schema.field(name).type if one.has(name) else None for one in opened]
    for one, kind in zip(opened, kinds, strict=True):
        if kind != kinds[0]:
            raise LogError(
                f"column {name} holds {_in_words(kind)} in {one.title} and {_in_words(kinds[0])} in {opened[0].title}; "
                "write it with one type",
                "file",
            )


def _in_words(kind: Any) -> str:
    return "text in the name of a folder" if kind is None else str(kind)[:LONGEST]


def _stored(opened: Sequence[_Opened]) -> bytes | None:
    """Return what `write` stored beside the columns. Raise `LogError` where files do not belong to one log."""
    texts = [(one.schema.metadata or {}).get(OURS) for one in opened]
    if len(set(texts)) == 1:
        return texts[0]
    joined: dict[str, Any] = {}
    for one, text in zip(opened, texts, strict=True):
        try:
            known = parse_json(text or "{}")
            joined = joined or known
            different = [name for name in {*joined, *known} - MAY_DIFFER if joined.get(name) != known.get(name)]
            joined = {**joined, **_joined(joined, known)}
        except (AttributeError, TypeError, ValueError):
            different = ["metadata"]
        if different or not known:
            raise LogError(
                f"{one.title} has other {min(different, default='metadata')} stored beside its columns than "
                f"{opened[0].title}; read them one by one, with like= the first, and join them by us.concatenate",
                "file",
            )
    return json.dumps(joined).encode()


MAY_DIFFER = {"notes", "n_observations", "max_episode_steps"}
"""What files of one log may have stored differently."""


def _joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return what two files of one log may say differently, for both."""
    notes = [note for known in (one, other) for note in known.get("notes") or ()]
    sizes: list[Any] = [known.get("n_observations") for known in (one, other)]
    limits = [known.get("max_episode_steps") for known in (one, other)]
    return {
        "notes": list(dict.fromkeys(notes)),
        "n_observations": None if None in sizes else max(sizes),
        "max_episode_steps": limits[0] if limits[0] == limits[1] else None,
    }
