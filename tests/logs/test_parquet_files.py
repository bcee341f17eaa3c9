"""Parquet files, one or many, as one table."""

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from benchmarks.reading import child
from understudy.errors import LogError, SettingError
from understudy.logs import parquet_files
from understudy.logs.log import Log
from understudy.logs.parquet_files import parquet_table
from understudy.logs.reading import read
from understudy.logs.source_files import SourceFile, files_of
from understudy.logs.writing import write

N = 1000
NAMES = {"observation": ["page", "load"], "action": "arm", "episode": "visit", "terminated": "sold", "time": "when"}


def rows(n=N, seed=0):
    """Rows with all kinds of columns: text, lists, numbers, dates, truth values; episodes of some ten rows."""
    rng = np.random.default_rng(seed)
    over = rng.random(n) < 0.1
    episode = np.cumsum(over) - over
    propensity = rng.dirichlet(np.ones(3), n)
    when = np.datetime64("2024-05-01") + np.sort(rng.integers(3 * 86400, size=n)).astype("m8[s]")
    return pa.table(
        {
            "page": rng.choice(["home", "cart", "sale"], n),
            "load": rng.random(n),
            "arm": rng.choice(["b", "a", "c"], n),
            "reward": rng.normal(size=n).astype(np.float32),
            "visit": [f"visit-{one}" for one in episode],
            "sold": over,
            "when": when,
            "propensity": pa.FixedSizeListArray.from_arrays(propensity.reshape(-1), 3),
            "unused": ["x" * 20] * n,
        }
    )


def in_files(table, folder, cuts, **options):
    """Write rows to several files, cut anywhere, also within episodes."""
    folder.mkdir(exist_ok=True)
    borders = [0, *cuts, len(table)]
    paths = [folder / f"part-{number}.parquet" for number in range(len(borders) - 1)]
    for path, first, last in zip(paths, borders[:-1], borders[1:], strict=True):
        pq.write_table(table.slice(first, last - first), path, **options)
    return paths


@pytest.mark.parametrize("readers", [1, 4])
@pytest.mark.parametrize("group", [7, 64, 10_000])
def test_one_file_many_files_a_folder_a_pattern_and_a_dataset_are_one_log(tmp_path, monkeypatch, group, readers):
    monkeypatch.setattr(parquet_files, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(pa, "cpu_count", lambda: readers)
    table = rows()
    pq.write_table(table, tmp_path / "one.parquet")
    cuts = [1, 333, 334, *range(400, 1000, 50)]  # more than ten files: part-9 is before part-10
    paths = in_files(table, tmp_path / "many", cuts, row_group_size=group)
    log = read(table, **NAMES)
    assert len(log) == N - 1  # the last one has no next observation, and is dropped
    sources = [
        tmp_path / "one.parquet", str(tmp_path / "many"), f"{tmp_path}/many/*.parquet", paths,
        list(map(str, paths)), tuple(paths), ds.dataset([str(path) for path in paths]),
    ]  # fmt: skip
    for source in sources:
        other = read(source, **NAMES)
        assert other.fingerprint == log.fingerprint
        assert (other.spec, other.notes, other.max_episode_steps) == (log.spec, log.notes, log.max_episode_steps)


def test_files_in_another_order_are_another_log_and_order_by_brings_it_back(tmp_path):
    table = rows().append_column("at", pa.array(np.arange(N)))
    paths = in_files(table, tmp_path / "many", [300, 600])
    log = read(table, **NAMES)
    turned = {name: columns for name, columns in NAMES.items() if name != "time"}
    assert read(paths[::-1], **turned).fingerprint != read(table, **turned).fingerprint
    assert read(paths[::-1], **NAMES, order_by="at").fingerprint == log.fingerprint


def test_only_the_columns_of_the_log_are_read(tmp_path, monkeypatch):
    paths = in_files(rows(), tmp_path / "many", [500])
    asked = []
    whole = pq.ParquetFile.read_row_groups

    def noted(self, groups, columns, **options):
        asked.extend(columns)
        return whole(self, groups, columns, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", noted)
    read(paths, **NAMES)
    assert sorted(set(asked)) == ["arm", "load", "page", "propensity", "reward", "sold", "visit", "when"]
    assert max(map(asked.count, asked)) == 2  # once from each file


def test_partitions_are_columns(tmp_path):
    table = rows()
    day = table.column("when").cast(pa.string()).to_pylist()
    table = table.append_column("day", pa.array([text[:10] for text in day]))
    table = table.append_column("shop", pa.array([int(text[9]) * 11 for text in day]))
    hive = tmp_path / "hive"
    pq.write_to_dataset(table, hive, ["day", "shop"])
    names = {**NAMES, "observation": ["day", "shop", "page"]}
    log = read(table, **names)
    assert log.spec.coding.columns[0].kind == "date"
    assert log.spec.coding.columns[1].kind == "integer"
    for source in (hive, f"{hive}/day=*", f"{hive}/**/*.parquet", files_in(hive)):
        assert read(source, **names).fingerprint == log.fingerprint
    one = next((hive / "day=2024-05-02").rglob("*.parquet"))
    assert read(one, **NAMES).fingerprint != log.fingerprint
    with pytest.raises(LogError, match="there is no column day"):
        read(one, **names)  # the path of one file says nothing


def files_in(folder):
    return [file.path for file in files_of(folder)]


def test_a_column_of_the_file_comes_before_one_of_its_folder_and_a_missing_value_is_one(tmp_path):
    (tmp_path / "reward=7").mkdir()
    (tmp_path / "shop=__HIVE_DEFAULT_PARTITION__").mkdir()
    pq.write_table(rows(), tmp_path / "reward=7" / "a.parquet")
    table = parquet_table([SourceFile(tmp_path / "reward=7" / "a.parquet", {"reward": "7", "shop": "3"})])
    assert str(table.column("reward").type) == "float"
    assert table.column("shop").combine_chunks().to_pylist() == [3] * N
    path = tmp_path / "shop=__HIVE_DEFAULT_PARTITION__" / "a.parquet"
    pq.write_table(rows(), path)
    with pytest.raises(LogError, match="observation column shop in 1,000 rows"):
        read([path], **{**NAMES, "observation": "shop", "action": "arm"})


def test_an_episode_goes_on_in_the_next_file(tmp_path):
    log = Log.from_columns(observation=[0, 1, 2, 0], action=[0, 1, 0, 1], reward=[0, 0, 1, 0], episode=[5, 5, 5, 6],
                           next_observation=[1, 2, 0, 1], terminated=[0, 0, 1, 1])  # fmt: skip
    write(log, tmp_path / "log.parquet")
    table = pq.read_table(tmp_path / "log.parquet")
    paths = in_files(table, tmp_path / "many", [1, 2])
    assert read(paths).fingerprint == log.fingerprint
    assert read(paths).n_episodes == 2


def test_text_that_differs_from_group_to_group_has_one_code(tmp_path):
    labels = [["b", "a"], ["c"], ["a", "b"]]
    table = pa.chunked_array([pa.array(part).dictionary_encode() for part in labels])
    columns = {"observation": [0, 1, 2, 3, 4], "reward": [0.0] * 5, "terminated": [True] * 5}
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({**columns, "action": table}), path, row_group_size=2)
    log = read(path)
    assert (log.spec.actions, log.action.tolist()) == (("a", "b", "c"), [1, 0, 2, 0, 1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.drop_columns("reward"), r"b\.parquet has no column reward, and .*a\.parquet has one; "),
        (lambda table: table.set_column(3, "reward", table.column("reward").cast("double")),
         r"column reward holds double in .*b\.parquet and float in .*a\.parquet; write it with one type"),
        (lambda table: table.append_column("truncated", pa.array([False] * N)),
         r"a\.parquet has no column truncated, and .*b\.parquet has one"),
    ],
)  # fmt: skip
def test_files_that_differ_in_a_column_that_is_used_are_refused_by_name(tmp_path, change, words):
    pq.write_table(rows(), tmp_path / "a.parquet")
    pq.write_table(change(rows()), tmp_path / "b.parquet")
    with pytest.raises(LogError, match=words) as refused:
        read(tmp_path, **NAMES)
    assert "\n" not in str(refused.value)


def test_files_may_differ_in_columns_that_are_not_used(tmp_path):
    table = rows()
    pq.write_table(table.slice(0, 500), tmp_path / "a.parquet")
    pq.write_table(table.slice(500).drop_columns("unused"), tmp_path / "b.parquet")
    assert read(tmp_path, **NAMES).fingerprint == read(table, **NAMES).fingerprint


HOSTILE = {
    "notes.txt": (b"read me", r"notes\.txt is not a Parquet file; convert it"),
    "b.csv": (b"observation,action,reward\n1,0,1\n", "b.csv is not a Parquet file"),
    "b.parquet": (b"", "b.parquet is an empty file"),
    "c.parquet": (b"PAR1 and nothing else", "c.parquet cannot be read"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_among_them_that_cannot_be_read_is_named(tmp_path, name):
    pq.write_table(rows(), tmp_path / "a.parquet")
    content, words = HOSTILE[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LogError, match=words) as refused:
        read(tmp_path, **NAMES)
    assert "; " in str(refused.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.parquet")
    with pytest.raises(LogError, match="is not a plain file"):
        read(tmp_path)


def test_a_page_that_was_damaged_is_refused_with_its_file(tmp_path):
    paths = in_files(rows(), tmp_path / "many", [500], write_page_checksum=True, compression="none")
    content = bytearray(paths[1].read_bytes())
    content[content.index(b"home") + 1] ^= 4
    paths[1].write_bytes(bytes(content))
    with pytest.raises(LogError, match=r"part-1\.parquet cannot be read"):
        read(paths, **NAMES)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "log.parquet"
    pq.write_table(rows(), path)
    table = parquet_table([SourceFile(path, {})])
    pq.write_table(rows(seed=1).slice(0, N - 1), path)
    with pytest.raises(LogError, match=r"log\.parquet was changed while it was read; read it again"):
        table.column("reward").combine_chunks()


def test_a_log_of_too_many_rows_is_refused_before_it_is_read(tmp_path, monkeypatch):
    table = pa.table({"observation": [0], "action": [0], "reward": [0.0]})
    pq.write_table(table, tmp_path / "log.parquet")
    monkeypatch.setattr(parquet_files, "_part", None)
    opened = parquet_files._opened

    def many(file):
        one = opened(file)
        return one._replace(metadata=type("Metadata", (), {"num_rows": 2**31})())

    monkeypatch.setattr(parquet_files, "_opened", many)
    with pytest.raises(LogError, match="the log has 2,147,483,648 rows, and 2,147,483,646 is the most; split it"):
        read(tmp_path / "log.parquet")


def ours(**changed):
    columns = {"observation": [0, 1], "action": [0, 1], "reward": [0, 1], "next_observation": [1, 0]}
    return Log.from_columns(**{**columns, "terminated": [0, 1], **changed})


def test_files_that_were_written_as_logs_are_joined_where_they_mean_the_same(tmp_path):
    write(ours(), tmp_path / "0.parquet")
    write(ours(observation=[4, 5], next_observation=[5, 4], episode=[1, 1]), tmp_path / "1.parquet")
    log = read(tmp_path)
    assert (len(log), log.n_episodes, log.spec.n_observations) == (4, 2, 6)
    write(ours(action=["a", "b"]), tmp_path / "2.parquet")
    with pytest.raises(LogError, match=r"2\.parquet has other actions stored beside its columns than .*0\.parquet; "):
        read(tmp_path)


def test_other_formats_are_not_read_together(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("observation,action,reward\n1,0,1\n")
    with pytest.raises(SettingError, match="format='csv' is about single files"):
        read(tmp_path, format="csv")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numbers", "text"])
def test_the_peak_of_memory_is_little_more_than_the_log(tmp_path, kind):
    """Of a log of 82 bytes a row, at most 120 at the peak; some 30 of them do not grow with the log."""
    for folder, n_rows, n_files in (("log", 1_000_000, 3), ("small", 1000, 1)):
        child("--write", tmp_path / folder, n_rows, kind, n_files)
    _, size, peak = json.loads(child("--read", "us.read", tmp_path / "log", kind, tmp_path / "small"))
    assert 80e6 < size < 83e6
    assert peak < 120e6
