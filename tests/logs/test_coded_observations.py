import datetime
import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import understudy as us
from understudy.errors import LogError, SettingError
from understudy.logs import Log, check, read, write
from understudy.logs.naming import observation_words

BANDIT = {"action": ["a", "b", "a", "b"], "reward": [0.0, 1.0, 0.5, 0.0]}
MIXED = {
    "page": ["home", "cart", "home", "search"],
    "age": [31, 20, 45, 31],
    "country": ["FR", "DE", "FR", "NO"],
    "since": ["2024-01-05", "2023-12-31", "2024-01-05", "2024-02-29"],
    "vip": ["yes", "no", "no", "yes"],
    "score": [0.5, -1.0, 2.25, 1e-3],
}
NAMES = list(MIXED)
HOSTILE = [
    "a,b", 'say "hi"', "<script>alert(1)</script>", "x" * 500, "\N{SNOWMAN} été 日本", "nan", "None", "NA", "-", "=1+1",
    "two\nlines", "it's", "007",
]  # fmt: skip


def bandit(columns, **options):
    return read({**BANDIT, **columns}, observation=list(columns), ends="every-row", **options)


def sources(columns, tmp_path):
    """The same columns as a CSV, a pandas frame, a polars frame, an Arrow table and a mapping of arrays."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    path = tmp_path / "log.csv"
    pandas.DataFrame(columns).to_csv(path, index=False)
    return {
        "csv": path,
        "pandas": pandas.DataFrame(columns),
        "polars": polars.DataFrame(columns),
        "arrow": pa.table(columns),
        "mapping": columns,
    }


def test_mixed_columns_are_one_matrix_with_a_coding_for_each():
    log = bandit(MIXED)
    assert log.observation.tolist() == [
        [1, 31, 1, 5, 1, 0.5], [0, 20, 0, 0, 0, -1], [1, 45, 1, 5, 0, 2.25], [2, 31, 2, 60, 1, 1e-3],
    ]  # fmt: skip
    assert [column.kind for column in log.spec.coding.columns] == [
        "category", "integer", "category", "date", "truth", "number",
    ]  # fmt: skip
    assert log.spec.features == log.spec.coding.names == tuple(NAMES)
    words = "page=home, age=31, country=FR, since=2024-01-05, vip=yes, score=0.5"
    assert observation_words(log.spec, log.observation[0]) == words
    assert "coding            page: category, 3 labels; age: integer" in repr(log)


def test_all_forms_of_one_table_give_one_log(tmp_path):
    stamps = ["2024-01-05T10:00:00", "2024-01-05T10:00:00.5", "2024-01-06 00:00:00", "2024-01-05T10:01:00"]
    zoned = [f"2024-01-05T10:0{at}:00+02:00" for at in range(4)]
    columns = {**MIXED, "at": stamps, "zoned": zoned, "hour": ["08:30", "23:59", "08:31", "00:00"], "n": list("1234")}
    logs = {
        name: read(source, observation=list(columns), ends="every-row")
        for name, source in sources({**BANDIT, **columns}, tmp_path).items()
    }
    assert len({log.fingerprint for log in logs.values()}) == 1
    assert len({log.spec.coding for log in logs.values()}) == 1
    kinds = {column.name: str(column) for column in logs["csv"].spec.coding.columns}
    assert kinds["at"] == "at: date, seconds since 2024-01-05T10:00:00"
    assert kinds["zoned"] == "zoned: date, seconds since 2024-01-05T08:00:00Z"
    assert kinds["hour"] == "hour: time, seconds since midnight"
    assert kinds["n"] == "n: integer"


def test_typed_columns_are_coded_like_their_texts(tmp_path):
    pandas = pytest.importorskip("pandas")
    days = pandas.to_datetime(MIXED["since"])
    typed = {**MIXED, "since": days, "vip": [True, False, False, True]}
    texts = {**MIXED, "vip": ["true", "false", "false", "true"]}
    assert bandit(typed).fingerprint == bandit(texts).fingerprint
    zoned = bandit({"page": MIXED["page"], "at": days.tz_localize("Europe/Paris")})
    assert zoned.spec.coding.columns[1].origin == "2023-12-30T23:00:00Z"
    assert zoned.observation[:, 1].tolist() == [5 * 86400, 0, 5 * 86400, 60 * 86400]
    lengths = pandas.to_timedelta([1, 90, 0.5, 3600], unit="s")
    assert bandit({"page": MIXED["page"], "for": lengths}).observation[:, 1].tolist() == [1, 90, 0.5, 3600]


def test_one_column_of_categories_is_a_single_code_that_tables_take():
    for columns in (["page"], "page"):
        log = read({**BANDIT, **MIXED}, observation=columns, ends="every-row")
        assert log.observation.tolist() == [1, 0, 1, 2]
        assert log.spec.n_observations == 3
    run = us.simulate(us.qbe(log), us.learners.QLearning(3, 2, seed=0), seed=0)
    assert "page=home has no row left with action=b" in str(run)


def test_numbers_and_truth_values_need_no_coding():
    log = bandit({"x": ["1", "2", "3", "3"], "y": ["true", "False", "true", "true"]})
    assert log.spec.coding is None
    assert log.fingerprint == bandit({"x": [1, 2, 3, 3], "y": [True, False, True, True]}).fingerprint
    alone = read({**BANDIT, "observation": ["0.5", "1", "2e3", "-1"]}, ends="every-row")
    assert alone.observation.tolist() == [0.5, 1.0, 2000.0, -1.0]


def test_categories_keep_the_order_that_they_were_given():
    pandas = pytest.importorskip("pandas")
    sizes = pandas.Categorical(["S", "L", "M", "S"], ["S", "M", "L", "XL"])
    for log in (
        bandit({"size": sizes}),
        bandit({"size": pa.array(["S", "L", "M", "S"]).dictionary_encode()}),
        Log.from_columns(**BANDIT, observation=pandas.Series(sizes), ends="every-row"),
    ):
        assert log.observation.tolist() == [log.spec.coding.columns[0].labels.index(size) for size in "SLMS"]
    assert bandit({"size": sizes}).spec.n_observations == 4
    assert bandit({"size": sizes}).spec.coding.columns[0].labels == ("S", "M", "L", "XL")


@pytest.mark.parametrize("kind", ["csv", "pandas", "polars", "arrow", "mapping"])
def test_hostile_labels_stay_as_they_are(kind, tmp_path):
    columns = {"action": ["a"] * len(HOSTILE), "reward": [1.0] * len(HOSTILE), "x": HOSTILE, "y": range(len(HOSTILE))}
    columns["y"] = list(columns["y"])
    log = read(sources(columns, tmp_path)[kind], observation=["x", "y"], ends="every-row")
    assert log.spec.decode(log.observation).column("x").to_pylist() == HOSTILE
    assert log.spec.coding.columns[0].labels == tuple(sorted(HOSTILE))
    assert str(check(log)).replace("\n", "").isprintable()


def test_leading_zeros_make_a_column_text(tmp_path):
    columns = {**BANDIT, "zip": ["01067", "10115", "1067", "80331"], "x": [1, 2, 3, 4]}
    for source in sources(columns, tmp_path).values():
        log = read(source, observation=["zip", "x"], ends="every-row")
        assert log.spec.coding.columns[0].labels == ("01067", "1067", "10115", "80331")
    path = tmp_path / "other.csv"
    path.write_text("observation,action,reward\n007,a,1\n7,b,0\n")
    assert read(path, ends="every-row").spec.coding.columns[0].labels == ("007", "7")
    path.write_text("observation,action,reward,when\n0.05,a,1,05:10\n0,b,0,06:10\n")
    assert read(path, ends="every-row").spec.coding is None


@pytest.mark.parametrize("column", ["page", "age", "country", "since", "vip", "action"])
@pytest.mark.parametrize("empty", [None, "", "  ", math.nan])
def test_a_cell_without_a_value_is_an_error_with_its_row(column, empty, tmp_path):
    pandas = pytest.importorskip("pandas")
    columns = {name: list(values) for name, values in {**BANDIT, **MIXED}.items()}
    columns[column] = [str(value) for value in columns[column]]
    columns[column][2] = empty
    frame = pandas.DataFrame(columns).astype({column: object})
    frame.to_csv(tmp_path / "log.csv", index=False)
    given = [frame, tmp_path / "log.csv"]
    if not isinstance(empty, float):
        given.append({**columns})
    for source in given:
        with pytest.raises(LogError, match=rf"{column}.* (has no value|is (None|nan|'.*')) in row 2; "):
            read(source, observation=NAMES, ends="every-row")


def test_dates_without_a_value_are_an_error_with_their_row():
    pandas = pytest.importorskip("pandas")
    dates = pandas.to_datetime(["2024-01-01", None, "2024-01-02", "2024-01-03"])
    with pytest.raises(LogError, match="observation column day has no value in row 1; fill it in, or drop the row"):
        bandit({"day": dates, "page": MIXED["page"]})


def test_next_observations_have_the_same_coding():
    table = {
        "page": ["home", "cart", "home"], "next_page": ["cart", "pay", "end"], "x": [1, 2, 3], "next_x": [2, 2.5, 0],
        "day": ["2024-01-02", "2024-01-03", "2024-01-04"], "next_day": ["2024-01-03", "2024-01-01", "2024-01-05"],
        "action": [0, 1, 0], "reward": [0, 0, 1], "terminated": ["no", "no", "yes"],
    }  # fmt: skip
    log = read(table, observation=["page", "x", "day"], next_observation=["next_page", "next_x", "next_day"])
    assert log.spec.coding.columns[0].labels == ("cart", "end", "home", "pay")
    assert log.spec.coding.columns[2].origin == "2024-01-01"
    assert log.observation.tolist() == [[2, 1, 1], [0, 2, 2], [2, 3, 3]]
    assert log.next_observation.tolist() == [[0, 2, 2], [3, 2.5, 0], [1, 0, 4]]
    assert log.terminated.tolist() == [False, False, True]
    with pytest.raises(LogError, match="observation has 2 columns and next_observation 1; give both the same"):
        read(table, observation=["page", "x"], next_observation=["next_page"])
    with pytest.raises(
        LogError, match="observation column day holds dates and next_observation column x holds integers"
    ):
        read(
            {**table, "day": np.array(table["day"], "M8[D]")},
            observation=["page", "day"],
            next_observation=["next_page", "x"],
        )


def test_ids_and_free_text_are_refused_unless_they_are_asked_for():
    ids = [f"visit {at}" for at in range(100)]
    columns = {"action": [0] * 100, "reward": [0.0] * 100, "id": ids}
    with pytest.raises(LogError, match=r'id has 100 distinct texts in 100 rows.*give categories=\["id"\] to code it'):
        read(columns, observation="id", ends="every-row")
    assert read(columns, observation="id", ends="every-row", categories="id").spec.n_observations == 100
    columns["id"] = [f"visit {at % 90}" for at in range(100)]
    assert read(columns, observation="id", ends="every-row").spec.n_observations == 90


def test_anything_can_be_a_category_if_asked(tmp_path):
    columns = {**BANDIT, "n": [10, 9, 10, 100], "x": [0.5, 1.5, 0.5, 0.5]}
    for source in sources(columns, tmp_path).values():
        log = read(source, observation=["n", "x"], ends="every-row", categories=["n"])
        assert log.spec.coding.columns[0].labels == ("9", "10", "100")
        assert log.observation[:, 0].tolist() == [1, 0, 1, 2]
    with pytest.raises(SettingError, match="categories= names reward, and observations are n; name one of these"):
        read(columns, observation="n", ends="every-row", categories="reward")
    with pytest.raises(SettingError, match="categories= does not name columns"):
        read(columns, observation="n", ends="every-row", categories=[3])


def test_a_word_among_numbers_or_dates_is_named_by_its_row():
    with pytest.raises(LogError, match="observation column n is 'old' in row 1; the other values are numbers"):
        bandit({"n": ["1", "old", "2", "3"]})
    with pytest.raises(LogError, match="observation column n is 'soon' in row 3; the other values are a date each"):
        bandit({"n": ["2024-01-01", "2024-01-02", "2024-01-03", "soon"]})
    with pytest.raises(LogError, match="observation column n is '2024-02-30' in row 2; there is no such date"):
        bandit({"n": ["2024-01-01", "2024-01-02", "2024-02-30", "2024-01-03"]})
    with pytest.raises(LogError, match="observation column n is '1,5' in row 0; write numbers with a point"):
        bandit({"n": ["1,5", "2", "3", "4"]})
    assert bandit({"n": ["38", "39", "S", "M"]}).spec.coding.columns[0].kind == "category"


def test_values_of_several_types_are_refused_by_their_rows():
    pandas = pytest.importorskip("pandas")
    columns = {**BANDIT, "x": ["a", 1, 2.5, "b"]}
    message = r"x holds text \('a' in row 0\) and other values \(1 in row 1\); make all of them text"
    for source in (columns, pandas.DataFrame(columns)):
        with pytest.raises(LogError, match=message):
            read(source, observation="x", ends="every-row")
    with pytest.raises(LogError, match=message):
        Log.from_columns(**BANDIT, observation={"x": columns["x"]}, ends="every-row")


def test_columns_of_arrays_are_coded_too():
    rows = [["home", 31], ["cart", 20], ["home", 45], ["cart", 31]]
    by_rows = Log.from_columns(**BANDIT, observation=rows, ends="every-row")
    by_name = Log.from_columns(
        **BANDIT, observation={"page": [row[0] for row in rows], "age": [31, 20, 45, 31]}, ends="every-row"
    )
    assert by_rows.observation.tolist() == by_name.observation.tolist() == [[1, 31], [0, 20], [1, 45], [0, 31]]
    assert by_rows.spec.coding.names == ("observation_0", "observation_1")
    assert by_name.spec.coding.names == by_name.spec.features == ("page", "age")
    days = np.array(["2024-01-03", "2024-01-01", "2024-01-02", "2024-01-01"], "M8[D]")
    assert Log.from_columns(**BANDIT, observation=days, ends="every-row").observation.tolist() == [2.0, 0.0, 1.0, 0.0]
    numbers = Log.from_columns(**BANDIT, observation={"x": [1, 2, 3, 4], "y": [0.5] * 4}, ends="every-row")
    assert numbers.spec.features == ("x", "y")
    assert numbers.spec.coding is None
    assert numbers.observation.dtype == np.float64
    with pytest.raises(LogError, match="columns differ in length"):
        Log.from_columns(**BANDIT, observation={"x": [1, 2, 3, 4], "y": ["a"]}, ends="every-row")
    with pytest.raises(SettingError, match="both be mappings"):
        Log.from_columns(**BANDIT, observation={"x": [1] * 4}, next_observation=[1] * 4)


RAW = {
    "category": st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(
        lambda t: t.strip() == t
    ),
    "integer": st.integers(-(2**40), 2**40),
    "number": st.floats(allow_nan=False, allow_infinity=False, width=32),
    "truth": st.booleans(),
    "date": st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)),
    "stamp": st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2030, 1, 1)),
    "time": st.times(),
}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*RAW.values()), min_size=1, max_size=12))
def test_raw_values_come_back_from_codes(rows):
    columns = {name: list(values) for name, values in zip(RAW, zip(*rows, strict=True), strict=True)}
    table = {"action": [0] * len(rows), "reward": [0.0] * len(rows), **columns}
    log = read(table, observation=list(RAW), ends="every-row", categories=["category"])
    back = log.spec.decode(log.observation)
    assert {name: back.column(name).to_pylist() for name in RAW if name != "stamp"} == {
        name: values for name, values in columns.items() if name != "stamp"
    }
    at_midnight = all(value.time() == datetime.time() for value in columns["stamp"])
    assert back.column("stamp").to_pylist() == [v.date() if at_midnight else v for v in columns["stamp"]]
    assert np.array_equal(log.spec.encode(back), log.observation)
    assert np.array_equal(log.spec.encode(rows), log.observation)
    distinct = len({tuple(row) for row in log.observation.tolist()})
    assert (
        distinct
        == len({tuple(row) for row in rows})
        == len({tuple(row) for row in log.spec.one_hot(log.observation).tolist()})
    )


def test_coded_logs_come_back_from_files(tmp_path):
    log = bandit({**MIXED, "at": ["2024-01-05T10:00:00.5Z", "2024-01-05T10:00:01Z"] * 2})
    write(log, tmp_path / "log.parquet")
    back = read(tmp_path / "log.parquet")
    assert back.fingerprint == log.fingerprint
    assert back.spec == log.spec
    write(log, tmp_path / "log.csv")
    values = read(tmp_path / "log.csv")
    assert values.observation.tolist() == log.observation.tolist()
    assert [c.kind for c in values.spec.coding.columns] == [c.kind for c in log.spec.coding.columns]


def test_truth_values_can_be_categories_and_columns_can_be_a_grid(tmp_path):
    log = bandit({"vip": ["true", "false", "true", "true"]}, categories="vip")
    assert log.spec.coding.columns[0].kind == "category"
    grid = {f"observation_{at}_{to}": [f"{at}{to}", "x"] for at in range(2) for to in "01"}
    log = read({**grid, "action": [0, 1], "reward": [0, 1]}, ends="every-row")
    assert log.observation.tolist() == [[[0, 0], [0, 0]], [[1, 1], [1, 1]]]
    assert log.spec.encode([["x", "x", "10", "11"]]).tolist() == [[[1, 1], [0, 0]]]
    write(log, tmp_path / "log.parquet")
    assert read(tmp_path / "log.parquet").spec == log.spec


def test_a_coding_belongs_to_the_fingerprint():
    one, other = bandit({"page": ["a", "b", "a", "b"]}), bandit({"page": ["a", "c", "a", "c"]})
    assert one.observation.tolist() == other.observation.tolist()
    assert one.fingerprint != other.fingerprint


def test_categories_of_whole_numbers_are_categories():
    codes = pd.Categorical([10, 20, 10], categories=[20, 10])
    frame = pd.DataFrame({"zone": codes, "age": [3, 4, 5], "action": [0, 1, 0], "reward": [0.0, 1.0, 0.0]})
    log = read(frame, observation=["zone", "age"], ends="every-row")
    assert log.spec.coding.columns[0].labels == ("20", "10")
    assert log.observation.tolist() == [[1, 3], [0, 4], [1, 5]]
