"""Tables whose columns are read when they are asked for, chunk by chunk, so that no second copy of a log is needed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from understudy.errors import LogError
from understudy.progress import progress_bar

LARGE = 10_000_000  # rows from which on progress is shown unless told otherwise

Read = Callable[[str], Iterator[Any]]
"""A function of a column's name that yields its values, in the order of rows, as Arrow arrays."""


@dataclass(frozen=True)
class StreamedColumn:
    """A column of which one chunk after another is read. It has those methods of Arrow's columns that readers use."""

    name: str
    type: Any
    n_rows: int
    read: Read
    progress: bool | None = None

    def __len__(self) -> int:
        return self.n_rows

    def iterchunks(self) -> Iterator[Any]:
        """Yield the chunks. Raise `LogError` where they have not as many rows as was said before."""
        import pyarrow as pa

        found = 0
        show = False if self.progress is None and self.n_rows < LARGE else self.progress
        with progress_bar(f"reading {self.name}"[:60], self.n_rows, show) as report:
            for chunk in self.read(self.name):
                found += len(chunk)
                if found > self.n_rows:
                    break
                yield chunk
                report(found)
        pa.default_memory_pool().release_unused()  # what was unpacked for this column; the next one may be larger
        if found != self.n_rows:
            more = "more" if found > self.n_rows else f"{found:,}"
            raise LogError(
                f"column {self.name} has {more} rows, and there should be {self.n_rows:,}; write the file again", "file"
            )

    def combine_chunks(self) -> Any:
        """Return the whole column in memory."""
        import pyarrow as pa

        return pa.chunked_array(list(self.iterchunks()), self.type).combine_chunks()


@dataclass(frozen=True)
class StreamedTable:
    """A table that is not in memory. It has those methods of Arrow's tables that readers use."""

    schema: Any
    num_rows: int
    read: Read
    progress: bool | None = None

    @property
    def column_names(self) -> list[str]:
        """The names of the columns; two may have one name."""
        return list(self.schema.names)

    def column(self, name: str) -> StreamedColumn:
        """Return the column of this name, which only one may have; nothing is read yet."""
        return StreamedColumn(name, self.schema.field(name).type, self.num_rows, self.read, self.progress)

    def select(self, names: list[str]) -> Any:
        """Return an Arrow table of these columns, in memory."""
        import pyarrow as pa

        return pa.table({name: self.column(name).combine_chunks() for name in names})
