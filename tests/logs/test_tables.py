import os
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import LogError
from understudy.logs import Log, read, write

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
    with pytest.raises(LogError, match="column observation has 1 entry in row 2 and 2 in row 0"):
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


def test_frames_that_arrow_cannot_hold_are_refused():
    pandas = pytest.importorskip("pandas")
    for column in ([2**64] * 4, [1, "a", 2.5, None], [1j] * 4, [object()] * 4):
        with pytest.raises(LogError, match="has no Arrow form"):
            read(pandas.DataFrame({**ENDED, "x": column}))


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


ODD = {
    "union": pa.UnionArray.from_sparse(pa.array([0, 1] * 2, pa.int8()), [pa.array(range(4)), pa.array(list("abcd"))]),
    "dense union": pa.UnionArray.from_dense(
        pa.array([0, 1, 0, 1], pa.int8()), pa.array([0, 0, 1, 1], pa.int32()), [pa.array([1, 2]), pa.array(["a", "b"])]
    ),
    "map": pa.array([[("a", 1)]] * 4, pa.map_(pa.string(), pa.int64())),
    "struct": pa.array([{"a": 1}] * 4),
    "list of structs": pa.array([[{"a": 1}]] * 4),
    "interval": pa.array([(1, 2, 3)] * 4, pa.month_day_nano_interval()),
    "list view": pa.array([[1, 2]] * 4, pa.list_view(pa.int64())),
    "null": pa.nulls(4),
    "list of nulls": pa.array([[None]] * 4),
    "deep list": pa.array([[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]] * 4),
    "invalid text": pa.StringArray.from_buffers(
        4, pa.py_buffer(np.arange(5, dtype=np.int32).tobytes()), pa.py_buffer(b"\xff\xfe\xff\xfe")
    ),
}  # fmt: skip


@pytest.mark.parametrize("column", ODD.values(), ids=ODD)
@pytest.mark.parametrize("role", ["observation", "action", "reward", "episode", "terminated", "propensity", "step"])
def test_columns_of_odd_kinds_are_refused_by_name(column, role):
    with pytest.raises(LogError, match="x"):
        read(pa.table({**ENDED, "x": column}), **{role: "x"})


TOLD_APART = {
    "run ends": pa.RunEndEncodedArray.from_arrays([1, 2, 3, 4], list("abcd")),
    "string view": pa.array(list("abcd"), pa.string_view()),
    "binary view": pa.array([b"a", b"b", b"c", b"d"], pa.binary_view()),
    "fixed bytes": pa.array([b"a", b"b", b"c", b"d"], pa.binary(1)),
    "decimal": pa.array([Decimal(2**63 + at) for at in range(4)], pa.decimal128(38, 0)),
    "wide decimal": pa.array([Decimal(10**60 + at) for at in range(4)], pa.decimal256(76, 0)),
    "fraction": pa.array([Decimal(f"1.{at:030}") for at in range(4)], pa.decimal128(38, 30)),
    "uint64": pa.array([2**63 + at for at in range(4)], pa.uint64()),
    "nanoseconds": pa.array([2**53 + at for at in range(4)], pa.timestamp("ns", "Europe/Berlin")),
    "time": pa.array(range(4), pa.time64("ns")),
    "day": pa.array(range(4), pa.date32()),
    "duration": pa.array([2**53 + at for at in range(4)], pa.duration("ns")),
    "dictionary": pa.DictionaryArray.from_arrays([0, 1, 2, 3], pa.array([2**53 + at for at in range(4)])),
}


@pytest.mark.parametrize("column", TOLD_APART.values(), ids=TOLD_APART)
def test_ids_of_every_kind_stay_apart(column):
    log = read(pa.table({**ENDED, "terminated": [True] * 4, "id": column}), episode="id")
    assert len(set(log.episode.tolist())) == 4


@pytest.mark.parametrize("name", ["decimal", "uint64", "dictionary"])
def test_observations_of_every_integer_kind_stay_apart(name):
    log = read(pa.table({**ENDED, "x": TOLD_APART[name]}), observation="x")
    assert log.observation.tolist() == [int(value) for value in TOLD_APART[name].to_pylist()]


@pytest.mark.parametrize("name", ["wide decimal", "fraction"])
def test_decimals_that_float64_would_merge_are_refused_as_observations(name):
    with pytest.raises(LogError, match=r"observation column x is .* in row [01], which float64 would round"):
        read(pa.table({**ENDED, "x": TOLD_APART[name]}), observation="x")


@pytest.mark.parametrize("precision", [15, 38])
def test_decimals_are_the_nearest_floats(precision):
    rng = np.random.default_rng(0)
    numbers = [Decimal(int(digits)).scaleb(-5) for digits in rng.integers(10**14, 10**15, 1000)]
    column = pa.array([*numbers, None], pa.decimal128(precision, 5))
    ends = {"action": [0] * 1001, "observation": [0] * 1001, "terminated": [True] * 1001}
    reward = read(pa.table({**ends, "reward": column})).reward
    assert reward[:-1].tolist() == [float(number) for number in numbers]
    assert np.isnan(reward[-1])


@pytest.mark.parametrize(
    "column",
    [
        pa.DictionaryArray.from_arrays([1, 0, 1, 0], pa.array([False, True])),
        pa.DictionaryArray.from_arrays([1, 0, 1, 0], pa.array([0.0, 1.0])),
        pa.RunEndEncodedArray.from_arrays([1, 2, 3, 4], [True, False, True, False]),
        pa.array([Decimal(1), Decimal(0)] * 2, pa.decimal128(5, 2)),
    ],
)
def test_encoded_values_are_matched_by_the_labels_that_spell_them(column):
    log = read(pa.table({**ENDED, "action": column}), actions=["true", "0"])
    assert log.action.tolist() == [0, 1, 0, 1]


HEAD = b"observation,action,reward,terminated\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (HEAD.replace(b",", b";") + b"0;1;0,5;1\n", "separate columns by ';'; save it with commas"),
        (HEAD.replace(b",", b"\t") + b"0\t1\t0.5\t1\n", "separate columns by tabs; save it with commas"),
        (b"\xef\xbb\xbf" + HEAD.replace(b",", b";"), "separate columns by ';'"),
        (b"sep=,\n" + HEAD + b"0,1,0.5,1\n", "the first line is sep=,, .* delete that line"),
        ((HEAD + b"0,1,0.5,1\n").decode().encode("utf-16"), "UTF-16, .* save it as UTF-8"),
        ((HEAD + b"0,1,0.5,1\n").decode().encode("utf-16-le"), "UTF-16, .* save it as UTF-8"),
        (b"\xe9t\xe9," + HEAD + b"0,0,1,0.5,1\n", "header holds text that is not UTF-8"),
        (HEAD + b"0,caf\xe9,0.5,1\n", "column action holds text that is not UTF-8"),
        (HEAD + b"caf\xe9,1,0.5,1\n", "column observation holds text that is not UTF-8"),
        (HEAD + b'0,1,"0,5",1\n', "reward is '0,5' in row 0, .* write numbers with a point before decimals"),
    ],
)
def test_what_spreadsheets_call_csv_is_refused_with_what_to_do(tmp_path, content, words):
    (tmp_path / "log.csv").write_bytes(content)
    with pytest.raises(LogError, match=words):
        read(tmp_path / "log.csv")


def test_text_that_is_not_utf8_in_a_column_of_no_use_does_no_harm(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"note," + HEAD + b"caf\xe9,0,1,0.5,1\n")
    assert read(tmp_path / "log.csv").reward.tolist() == [0.5]
    with pytest.raises(LogError, match="column note holds text that is not UTF-8"):
        read(tmp_path / "log.csv", order_by="note")


@pytest.mark.parametrize("ending", [b".csv", b".csv.gz", b".parquet"])
def test_a_path_that_is_not_utf8_is_read(tmp_path, ending):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/b\xff" + ending)
    try:
        write(Log.from_columns(**ENDED), path)
    except LogError:
        pytest.skip("the file system takes no such name")
    assert read(path).fingerprint == Log.from_columns(**ENDED).fingerprint
