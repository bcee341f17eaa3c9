"""Columns that are read when they are asked for."""

import pyarrow as pa
import pytest

from understudy.errors import LogError
from understudy.logs.streamed import StreamedTable


def column(*chunks, n_rows=3):
    tables = [pa.table({"reward": pa.array(chunk)}) for chunk in chunks]
    return StreamedTable(pa.schema({"reward": pa.int64()}), n_rows, lambda names: iter(tables)).column("reward")


def test_nothing_is_read_before_it_is_asked_for():
    asked = []

    def read(names):
        asked.extend(names)
        yield pa.table({name: [1, 2] for name in names})

    table = StreamedTable(pa.schema({"a": pa.int64(), "b": pa.int64()}), 2, read)
    assert (table.column_names, len(table.column("a")), asked) == (["a", "b"], 2, [])
    assert table.column("b").combine_chunks().to_pylist() == [1, 2]
    assert table.select(["a", "b"]).to_pydict() == {"a": [1, 2], "b": [1, 2]}
    assert asked == ["b", "a", "b"]


@pytest.mark.parametrize("chunks", [([1, 2],), ([1], [2, 3, 4]), ()])
def test_a_column_with_other_rows_than_promised_is_refused(chunks):
    with pytest.raises(LogError, match=r"column reward has .* rows, and there should be 3; write the file again"):
        list(column(*chunks).iterchunks())


def test_chunks_come_in_their_order():
    assert [chunk.to_pylist() for chunk in column([1], [2, 3]).iterchunks()] == [[1], [2, 3]]


def test_progress_is_shown_when_asked_for(capsys):
    table = pa.table({"reward": [1]})
    shown = StreamedTable(table.schema, 1, lambda names: iter([table]), progress=True)
    list(shown.column("reward").iterchunks())
    assert "reading reward" in capsys.readouterr().err
