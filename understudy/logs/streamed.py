"""Tables whose columns are read when they are asked for, piece by piece, so that no second copy of a log is needed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.errors import LogError
from understudy.progress import progress_bar

LARGE = 10_000_000  # rows from which on progress is shown unless told otherwise

Read = Callable[[Sequence[str]], Iterator[Any]]
"""A function of the names of columns that yields Arrow tables of these columns, one for some rows after another."""


@dataclass(frozen=True)
class StreamedTable:
    """A table that is not in memory. It has those methods of Arrow's tables that readers use."""

    schema: Any
    num_rows: int
    read: Read
    progress: bool | None = None  # as in `read`

    @property
    def column_names(self) -> list[str]:
        """The names of the columns; two may have one name."""
        return list(self.schema.names)

    def column(self, name: str) -> "StreamedColumn":
        """Return the column of this name, which only one may have; nothing is read yet."""
        return StreamedColumn(self, name)

    def pieces(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield Arrow tables of these columns, one for some rows after another.

        Raise `LogError` where they have not as many rows as was said before.
        """
        import pyarrow as pa

        found = 0
        show = False if self.progress is None and self.num_rows < LARGE else self.progress
        with progress_bar(f"reading {names[0]}"[:60], self.num_rows, show) as report:
            for piece in self.read(names):
                found += piece.num_rows
                if found > self.num_rows:
                    break
                yield piece
                report(found)
        pa.default_memory_pool().release_unused()  # what was unpacked for these columns
        if found != self.num_rows:
            more = "more" if found > self.num_rows else f"{found:,}"
            raise LogError(
                f"column {names[0]} has {more} rows, and there should be {self.num_rows:,}; write the file again",
                "file",
            )

    def select(self, names: Sequence[str]) -> Any:
        """Return an Arrow table of these columns, in memory."""
        import pyarrow as pa

        return pa.concat_tables(self.pieces(names))


@dataclass(frozen=True)
class StreamedColumn:
    """A column of a streamed table. It has those methods of Arrow's columns that readers use."""

    table: StreamedTable
    name: str

    @property
    def type(self) -> Any:
        """The Arrow type of the values."""
        return self.table.schema.field(self.name).type

    def __len__(self) -> int:
        return self.table.num_rows

    def iterchunks(self) -> Iterator[Any]:
        """Yield the values as Arrow arrays, in the order of rows; they are read now."""
        for piece in self.table.pieces([self.name]):
            yield from piece.column(0).iterchunks()

    def combine_chunks(self) -> Any:
        """Return the whole column in memory."""
        import pyarrow as pa

        return pa.chunked_array(list(self.iterchunks()), self.type).combine_chunks()
