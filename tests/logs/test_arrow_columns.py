from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from understudy.errors import LogError
from understudy.logs import read
from understudy.logs.arrow_columns import to_numpy
from understudy.logs.streamed import StreamedTable

ENDED = {
    "observation": [0, 1, 2, 5],
    "action": [0, 1, 0, 1],
    "reward": [0.0, 0.5, 1.0, 0.0],
    "terminated": [False, False, True, True],
}


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


@pytest.mark.parametrize("name", ["decimal", "uint64"])
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


def arms():
    return pd.DataFrame(
        {
            "x": [0, 1, 0],
            "arm": ["b", "a", "b"],
            "r": [0.0, 1.0, 0.0],
            "end": [True] * 3,
            "pa": [0.2] * 3,
            "pb": [0.8] * 3,
        }
    )


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["a", "b"])])
def test_categories_of_polars_are_labels(kind):
    frame = pl.from_pandas(arms()).with_columns(pl.col("arm").cast(kind))
    log = read(frame, observation="x", action="arm", reward="r", terminated="end", propensity=["pa", "pb"])
    assert log.spec.actions == ("a", "b")
    assert log.action.tolist() == [1, 0, 1]


NUMBERS = ["9", "10", "11", "100", "2", "-1", "1e3", "0.5", str(2**70), str(2**70 + 1)]


def by_order(column, **options):
    n = len(column)
    table = pa.table({"observation": range(n), "action": [0] * n, "reward": [0.0] * n, "episode": [0] * n, "t": column})
    return read(table, order_by="t", ends="terminated", **options).observation.tolist()


@pytest.mark.parametrize("encode", [pa.array, lambda texts: pa.array(texts).dictionary_encode(),
                                    lambda texts: pa.array(texts, pa.string_view())])  # fmt: skip
def test_text_that_spells_numbers_is_sorted_as_numbers(encode):
    expected = sorted(range(len(NUMBERS)), key=lambda row: Decimal(NUMBERS[row]))
    assert by_order(encode(NUMBERS)) == expected
    assert by_order(encode([*NUMBERS, "x"])) == sorted(range(len(NUMBERS) + 1), key=lambda row: [*NUMBERS, "x"][row])
    assert by_order(encode(["2", "1.0", "1", "01"])) == [1, 2, 3, 0]  # equal numbers keep their order


def test_categories_are_sorted_by_value_and_ordered_ones_by_their_order():
    texts, order = ["high", "low", "mid"], ["low", "mid", "high"]
    enum = pl.Series(texts, dtype=pl.Enum(order)).to_arrow()
    ordered = pa.Array.from_pandas(pd.Categorical(texts, categories=order, ordered=True))
    plain = pa.Array.from_pandas(pd.Categorical(texts, categories=order))
    assert by_order(enum) == by_order(ordered) == [1, 2, 0]
    assert by_order(plain) == [0, 1, 2]
    assert by_order(pa.Array.from_pandas(pd.Categorical([30, 4, 5], categories=[30, 4, 5]))) == [1, 2, 0]
    assert by_order(pa.Array.from_pandas(pd.Categorical([3.5, None, 0.5])).fill_null(3.5)) == [2, 0, 1]


def test_an_order_with_a_category_missing_is_refused_by_row():
    with pytest.raises(LogError, match="order_by column t has no value in row 1"):
        by_order(pa.array(["b", None, "a"]).dictionary_encode())


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 3, 4], [0.5, None, 1.5, 2.5], [True, False, True, True], [[1, 2], [3, 4], [5, 6], [7, 8]],
        [[[1.0], [2.0]], [[3.0], [None]], [[5.0], [6.0]], [[7.0], [8.0]]], ["a", "b", "a", "c"],
    ],
    ids=str,
)  # fmt: skip
def test_a_column_in_chunks_is_the_array_that_it_is_as_a_whole(values):
    whole = pa.array(values)
    in_chunks = pa.chunked_array([whole.slice(0, 1), whole.slice(1, 0), whole.slice(1, 3)])
    one, other = to_numpy("x", whole), to_numpy("x", in_chunks)
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 2, None], "column x has no value in row 2"),
        ([[1], [2], [3, 4]], "column x has 2 entries in row 2 and 1 in row 0"),
        ([[1, 2], [3, 4], [5, None]], "column x has no value in row 2"),
        ([[1, 2], [3, 4], None], "column x has no value in row 2"),
    ],
)
def test_the_row_at_fault_is_counted_through_all_chunks(values, words):
    whole = pa.array(values)
    with pytest.raises(LogError, match=words):
        to_numpy("x", pa.chunked_array([whole.slice(0, 2), whole.slice(2)]))


def test_a_column_that_does_not_fit_into_memory_is_refused_in_one_sentence():
    table = pa.table({"x": [1]})
    column = StreamedTable(table.schema, 2**55, lambda names: iter([table])).column("x")
    with pytest.raises(LogError, match="column x has 36,028,797,018,963,968 rows, which do not fit into memory; read"):
        to_numpy("x", column)
