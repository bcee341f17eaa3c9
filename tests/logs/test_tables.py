import numpy as np
import pyarrow as pa
import pytest

from understudy.logs import Log, LogError, read, write

ENDED = {
    "observation": [0, 1, 2, 5],
    "action": [0, 1, 0, 1],
    "reward": [0.0, 0.5, 1.0, 0.0],
    "terminated": [False, False, True, True],
}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_read(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({**ENDED, "action": ["b", "a", "b", "a"], "visit": ["x", "x", "x", "y"]})
    log = read(frame, episode="visit")
    assert log.episode.tolist() == [0, 0, 0, 1]
    assert log.action.tolist() == [1, 0, 1, 0]


def test_categories_are_labels():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({**ENDED, "action": pandas.Categorical(["b", "a", "b", "a"])})
    assert read(frame).spec.actions == ("a", "b")


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.large_list(pa.int64()), pa.list_(pa.int64(), 2)])
def test_lists_become_rows(kind):
    table = pa.table({**ENDED, "observation": pa.array([[0, 1], [2, 3], [4, 5], [6, 7]], kind)})
    assert read(table.slice(1)).observation.tolist() == [[2, 3], [4, 5], [6, 7]]


def test_chunked_and_sliced_tables_are_read():
    table = pa.concat_tables([pa.table(ENDED), pa.table(ENDED)])
    assert read(table.slice(3, 2)).observation.tolist() == [5]


def test_ragged_lists_are_refused_by_row():
    with pytest.raises(LogError, match="column observation has 1 entries in row 2 and 2 in row 0"):
        read(pa.table({**ENDED, "observation": [[0, 1], [2, 3], [4], [6, 7]]}))


@pytest.mark.parametrize(
    ("name", "values"),
    [("action", [0, None, 0, 1]), ("terminated", [False, None, True, True]), ("observation", [[1], None, [2], [3]])],
)
def test_nulls_are_refused_by_row(name, values):
    with pytest.raises(LogError, match=f"column {name} has no value in row 1"):
        read(pa.table({**ENDED, name: values}))


def test_nulls_within_lists_are_refused_by_row():
    with pytest.raises(LogError, match="column observation has no value in row 2"):
        read(pa.table({**ENDED, "observation": [[[0, 1]], [[2, 3]], [[4, None]], [[6, 7]]]}))


def test_nulls_among_floats_are_nan():
    assert np.isnan(read(pa.table({**ENDED, "reward": [0.5, None, 0.0, 1.0]})).reward[1])


def test_what_is_no_table_is_refused():
    with pytest.raises(LogError, match="cannot read a list; give a path or a DataFrame"):
        read([1, 2, 3])


def unreadable(tmp_path):
    write(Log.from_columns(**ENDED), tmp_path / "whole.parquet")
    content = (tmp_path / "whole.parquet").read_bytes()
    return {
        "cut.parquet": content[: len(content) // 2],
        "damaged.parquet": content[:4] + bytes(200) + content[204:],
        "garbage.parquet": b"what is this",
        "empty.parquet": b"",
        "empty.csv": b"",
        "header.csv": b"observation,action,reward\n",
        "ragged.csv": b"observation,action,reward\n1,2,3\n1,2\n",
        "latin.csv": b"observation,\xe9action,reward\n1,2,3\n",
        "label.csv": b"observation,action,reward\n1,\xe9,3\n",
        "words.csv": b"observation,action,reward\nhere,1,2\n",
        "cut.csv.gz": b"\x1f\x8b\x08\x00",
        "log.txt": b"observation,action,reward\n1,2,3\n",
        "log": b"PAR1 and nothing else",
    }


def test_a_file_that_is_no_log_is_refused_in_one_sentence_that_names_it(tmp_path):
    for name, content in unreadable(tmp_path).items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(LogError) as refused:
            read(path)
        assert str(path) in str(refused.value), name
        assert "\n" not in str(refused.value), name
        assert "; " in str(refused.value), name


@pytest.mark.parametrize(("name", "words"), [("none.parquet", "does not exist"), ("", "is a folder")])
def test_a_path_that_is_no_file_is_refused(tmp_path, name, words):
    with pytest.raises(LogError, match=words):
        read(tmp_path / name)


def test_types_are_guessed_from_the_whole_csv(tmp_path):
    rows = 200_000  # more than a block that Arrow would guess from
    lines = ["observation,action,reward", *["0,0,0"] * rows, "0,0,0.5", "0,0,1"]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    assert read(tmp_path / "log.csv").reward[-1] == 0.5
