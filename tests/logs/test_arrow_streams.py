import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from understudy.errors import LogError
from understudy.logs import Log, arrow_streams, read
from understudy.logs.streamed import StreamedTable

COLUMNS = {"observation": [0, 1, 2, 5], "action": ["a", "b", "a", "b"], "reward": [0.0, 0.5, 1.0, 0.0]}
EXPECTED = Log.from_columns(**COLUMNS, ends="every-row").fingerprint


class Stream:
    """A table of a library that only keeps to the PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table(COLUMNS).__arrow_c_stream__(requested_schema)


def dataset(tmp_path):
    ds.write_dataset(pa.table(COLUMNS), tmp_path / "parts", format="parquet")
    return ds.dataset(tmp_path / "parts")


@pytest.mark.parametrize(
    "make",
    [
        lambda tmp_path: Stream(),
        lambda tmp_path: pa.table(COLUMNS),
        lambda tmp_path: pa.table(COLUMNS).to_reader(max_chunksize=3),
        dataset,
        lambda tmp_path: dataset(tmp_path).scanner(columns=list(COLUMNS)),
    ],
    ids=["capsule", "table", "reader", "dataset", "scanner"],
)
def test_whatever_gives_arrow_is_read(tmp_path, make):
    assert read(make(tmp_path), ends="every-row").fingerprint == EXPECTED


def test_what_duckdb_reads_is_read():
    duckdb = pytest.importorskip("duckdb", reason="in the extra [test]")
    connection = duckdb.connect()
    connection.register("clicks", pa.table(COLUMNS))
    assert read(connection.sql("select * from clicks"), ends="every-row").fingerprint == EXPECTED
    with warnings.catch_warnings():  # DuckDB advises to use sql()
        warnings.simplefilter("ignore")
        assert read(connection.execute("select * from clicks"), ends="every-row").fingerprint == EXPECTED
    wide = connection.sql("select range as observation, 0 as action, 1.0::double as reward from range(300000)")
    assert read(wide, ends="every-row").observation.tolist() == list(range(300_000))


def test_results_of_duckdb_1_are_read():
    class Old:
        def fetch_record_batch(self):
            return pa.table(COLUMNS).to_reader()

    assert read(Old(), ends="every-row").fingerprint == EXPECTED


def test_an_error_in_the_middle_of_a_stream_is_told_in_a_sentence():
    def batches():
        yield pa.record_batch(COLUMNS)
        raise OSError("the network is gone")

    reader = pa.RecordBatchReader.from_batches(pa.table(COLUMNS).schema, batches())
    with pytest.raises(LogError, match="the network is gone"):
        read(reader, ends="every-row")


def test_progress_of_a_stream_counts_rows(capsys, monkeypatch):
    table = pa.table({"observation": np.zeros(5000, int), "action": np.zeros(5000, int), "reward": np.zeros(5000)})
    read(table.to_reader(max_chunksize=1000), ends="every-row", progress=True)
    assert "reading rows" in capsys.readouterr().err
    monkeypatch.setattr(arrow_streams, "LARGE", 1000)
    read(table.to_reader(max_chunksize=1000), ends="every-row", progress=False)
    read(table.to_reader(max_chunksize=1000), ends="every-row")  # not a terminal: a line after ten seconds
    assert capsys.readouterr().err == ""


def test_two_columns_of_a_frame_with_one_name_are_refused():
    frame = pd.DataFrame([[1, 0, 1.0, 2.0]], columns=["observation", "action", "reward", "reward"])
    with pytest.raises(LogError, match="the frame has 2 columns named reward; rename all but one"):
        read(frame)


def test_a_dataset_of_parquet_is_read_column_by_column_and_with_its_filter(tmp_path):
    table = pa.table({**COLUMNS, "day": [1, 2, 2, 2], "a.b": [0, 0, 0, 0], "a": [7, 8, 9, 10]})
    ds.write_dataset(table, tmp_path / "days", format="parquet", partitioning=["day"], partitioning_flavor="hive")
    days = ds.dataset(tmp_path / "days", partitioning="hive")
    assert isinstance(arrow_streams.load_object(days), StreamedTable)
    assert read(days, ends="every-row").fingerprint == EXPECTED
    later = read(days.filter(ds.field("day") == 2), observation=["day", "a"], ends="every-row")
    assert later.observation.tolist() == [[2, 8], [2, 9], [2, 10]]


def test_a_dataset_of_another_format_is_read_once(tmp_path):
    ds.write_dataset(pa.table(COLUMNS), tmp_path / "parts", format="csv")
    parts = ds.dataset(tmp_path / "parts", format="csv")
    assert isinstance(arrow_streams.load_object(parts), pa.Table)
    assert read(parts, ends="every-row").fingerprint == EXPECTED


def test_a_dataset_whose_files_are_gone_is_refused_in_one_sentence(tmp_path):
    parts = dataset(tmp_path)
    table = arrow_streams.load_object(parts)
    for path in (tmp_path / "parts").iterdir():
        path.unlink()
    with pytest.raises(LogError, match=r"column reward cannot be read .*; check the dataset"):
        table.column("reward").combine_chunks()
