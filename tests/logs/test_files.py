import errno
import json
import os
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.errors import LogError
from understudy.logs import Log, check, concatenate, read, write
from understudy.logs.columns import COLUMNS
from understudy.logs.naming import observation_words

BASIC = {"observation": [0, 1, 2, 5], "action": [0, 1, 0, 1], "reward": [0.0, 0.5, 1.0, 0.0]}
ENDED = {**BASIC, "terminated": [False, False, True, True]}


def reshaped(columns, shape, dtype):
    spread = {
        name: np.multiply.outer(columns[name] + 0.25, np.ones(shape)).astype(dtype)
        for name in ("observation", "next_observation")
    }
    return {**columns, **spread}


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (3,), (2, 1, 4)])
def test_parquet_brings_back_the_same_log(clean, tmp_path, shape, dtype):
    log = Log.from_columns(**reshaped(clean, shape, dtype))
    write(log, tmp_path / "log.parquet")
    back = read(tmp_path / "log.parquet")
    assert back.fingerprint == log.fingerprint
    assert (back.spec, back.max_episode_steps, back.notes) == (log.spec, log.max_episode_steps, log.notes)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("shape", [(), (12,), (2, 3)])
def test_csv_brings_back_the_same_log(clean, tmp_path, shape, dtype, ending):
    log = Log.from_columns(**reshaped(clean, shape, dtype))
    write(log, tmp_path / f"log{ending}")
    assert read(tmp_path / f"log{ending}").fingerprint == log.fingerprint


def test_floats_that_are_whole_stay_floats_in_csv(tmp_path):
    log = Log.from_columns(**{**ENDED, "observation": [0.0, 1.0, 2.0, 5.0]})
    write(log, tmp_path / "log.csv")
    assert read(tmp_path / "log.csv").observation.dtype == np.float64


@pytest.mark.parametrize("propensity", [None, np.full(4, 0.5), np.full((4, 3), 1 / 3)])
def test_files_keep_every_kind_of_propensity(tmp_path, propensity):
    log = Log.from_columns(**ENDED, propensity=propensity)
    for name in ("log.pq", "log.csv"):
        write(log, tmp_path / name)
        assert read(tmp_path / name).fingerprint == log.fingerprint


def test_parquet_keeps_what_columns_cannot_tell(tmp_path):
    labels = ["up", "down", "never"]
    log = Log.from_columns(**{**BASIC, "truncated": [False, True, False, False]}, actions=labels)
    write(log, tmp_path / "log.parquet")
    back = read(tmp_path / "log.parquet")
    assert back.spec.actions == ("up", "down", "never")
    assert back.max_episode_steps == 2
    assert back.notes == log.notes
    assert pq.read_table(tmp_path / "log.parquet")["action"].to_pylist() == ["up", "up"]


def test_labels_of_a_csv_are_told_again(tmp_path):
    log = Log.from_columns(**{**ENDED, "action": ["20", "10", "20", "10"]}, actions=["20", "10", "never"])
    write(log, tmp_path / "log.csv")
    assert read(tmp_path / "log.csv", actions=["20", "10", "never"]).fingerprint == log.fingerprint


def test_missing_values_survive_a_round_trip(tmp_path):
    log = Log.from_columns(**{**ENDED, "reward": [0.5, np.nan, np.inf, 1e-300]})
    for name in ("log.parquet", "log.csv"):
        write(log, tmp_path / name)
        np.testing.assert_array_equal(read(tmp_path / name).reward, log.reward)


def test_columns_are_mapped(tmp_path):
    table = pa.table(
        {"x": [0.0, 1.0], "y": [2.0, 3.0], "arm": ["b", "a"], "gain": [1, 0], "p_a": [0.5, 0.5], "p_b": [0.5, 0.5]}
    )
    pq.write_table(table, tmp_path / "events")  # no ending: known by its first bytes
    mapping = {"observation": ["x", "y"], "action": "arm", "reward": "gain", "propensity": ["p_a", "p_b"]}
    log = read(str(tmp_path / "events"), **mapping)
    assert log.observation.tolist() == [[0.0, 2.0]]
    assert log.spec.actions == ("a", "b")
    assert log.propensity.shape == (1, 2)


def test_rows_are_ordered_and_episodes_gathered():
    times = np.array([3, 1, 4, 2], "M8[s]")
    table = pa.table({**ENDED, "episode": ["a", "b", "b", "a"], "ts": times, "next_observation": [0, 1, 2, 5]})
    log = read(table, order_by="ts")
    assert log.observation.tolist() == [1, 2, 5, 0]
    assert log.episode.tolist() == [0, 0, 1, 1]
    assert log.notes == (
        "order: rows were sorted by ts and, since episodes overlapped, gathered by episode; "
        "row numbers here count from 0 in that order",
    )


def test_rows_that_were_in_order_are_not_said_to_be_sorted():
    table = pa.table({**ENDED, "episode": [0, 0, 0, 1], "ts": [1, 2, 3, 4], "next_observation": [1, 2, 3, 6]})
    assert read(table, order_by="ts").notes == ()
    assert (
        read(table.take([3, 0, 1, 2]), order_by="ts").notes[0].startswith("order: rows were sorted by ts; row numbers")
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arm": ["a", "b", "c", "a"]}, "action column arm is 'c' in row 2"),
        ({"terminated": [0, 0, 3, 0]}, "terminated is 3 in row 2"),
        ({"visit": [1.0, 1.0, np.nan, 2.0]}, "episode column visit is nan in row 2"),
        ({"reward": ["1", "0", "oops", "1"]}, "reward is 'oops' in row 2"),
        ({"x": ["1", "0", "oops", "1"]}, "observation column x is 'oops' in row 2"),
    ],
)
@pytest.mark.parametrize("order_by", [None, "ts"])
def test_what_is_refused_is_named_by_its_column_and_row_in_the_file(changes, message, order_by):
    columns = {**ENDED, "arm": list("abab"), "visit": [1, 1, 1, 2], "x": [0, 1, 2, 5], "ts": [4, 3, 2, 1], **changes}
    mapping = {"action": "arm", "episode": "visit", "observation": ["ts", "x"]}
    with pytest.raises(LogError, match=message):
        read(pa.table(columns), **mapping, order_by=order_by, actions=["a", "b"])


def test_columns_of_text_are_named_with_a_way_to_numbers():
    table = pa.table({**ENDED, "page": ["home", "cart"] * 2, "land": ["de", "fr"] * 2})
    codes = r"into numbers first, for example frame\['page'\]\.astype\('category'\)\.cat\.codes"
    with pytest.raises(LogError, match=rf"observation column page holds text \('home' in row 0\); turn it {codes}"):
        read(table, observation="page")
    with pytest.raises(
        LogError, match=rf"observation columns page, land hold text \('home' in row 0\); turn them {codes}"
    ):
        read(table, observation=["reward", "page", "land"])


def test_labels_that_are_numbers_survive_sorting():
    table = pa.table({**ENDED, "action": [20, 10, 20, 10], "ts": [4, 3, 2, 1], "next_observation": [0, 1, 2, 5]})
    assert read(table, order_by="ts", actions=["10", "20"]).action.tolist() == [0, 1, 0, 1]


def test_order_is_stable_and_takes_several_columns():
    table = pa.table({**ENDED, "day": [2, 1, 2, 1], "hour": [0.5, 0.5, 0.5, 0.5], "next_observation": [0, 1, 2, 5]})
    assert read(table, order_by=["day", "hour"]).observation.tolist() == [1, 5, 0, 2]


def test_order_needs_a_value_in_every_row():
    with pytest.raises(LogError, match="order_by column ts has no value in row 2"):
        read(pa.table({**ENDED, "ts": [1.0, 2.0, None, 3.0]}), order_by="ts")


def test_scattered_entries_fill_an_array_whatever_their_order():
    names = ["observation_1_0", "observation_0_1", "observation_0_0", "observation_1_1"]
    table = pa.table({**{name: [at] * 4 for at, name in enumerate(names)}, **ENDED}).drop_columns("observation")
    assert read(table).observation[0].tolist() == [[2, 1], [0, 3]]


def test_an_array_with_holes_is_refused():
    table = pa.table({**ENDED, "observation_0": [0] * 4, "observation_2": [0] * 4}).drop_columns("observation")
    with pytest.raises(LogError, match=r"do not fill an array of shape \(3,\)"):
        read(table)


def test_an_absent_column_is_named_with_those_there_are():
    with pytest.raises(LogError, match=r"no column rewards: the columns are observation, .*did you mean reward\?"):
        read(pa.table(ENDED), reward="rewards")
    with pytest.raises(LogError, match=r"there is no column action: .* say action= which it is"):
        read(pa.table({"observation": [0], "reward": [0.0], "arm": [0]}))


def test_a_column_there_twice_is_refused():
    table = pa.table([[0], [0], [0.0], [1.0]], names=["observation", "action", "reward", "reward"])
    with pytest.raises(LogError, match="there are 2 columns named reward"):
        read(table)
    table = pa.table([[0], [0], [0.0], [1.0]], names=["observation_0", "action", "reward", "observation_0"])
    with pytest.raises(LogError, match="there are 2 columns named observation_0"):
        read(table)


def test_one_column_is_not_made_of_several():
    with pytest.raises(LogError, match="reward is one column, not 2"):
        read(pa.table(ENDED), reward=["reward", "action"])


def test_damaged_metadata_is_refused():
    for text in (b"{", b"[1]", b'{"n_actions": "two"}', b"\xff"):
        with pytest.raises(LogError, match="metadata stored beside the columns is damaged"):
            read(pa.table(ENDED).replace_schema_metadata({b"understudy": text}))


def test_writing_replaces_a_file_at_once(tmp_path):
    path = tmp_path / "log.parquet"
    for reward in (0.0, 1.0):
        write(Log.from_columns(**{**ENDED, "reward": [reward] * 4}), path)
    assert read(path).reward[0] == 1.0
    assert os.listdir(tmp_path) == ["log.parquet"]


@pytest.mark.parametrize("name", ["log.parquet", "log.csv", "log.csv.gz"])
def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch, name):
    path = tmp_path / name
    write(Log.from_columns(**ENDED), path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("understudy.logs.files._write_csv", full)
    monkeypatch.setattr("understudy.logs.files._write_parquet", full)
    with pytest.raises(LogError, match=r"cannot be written \(No space left on device\)"):
        write(Log.from_columns(**{**ENDED, "reward": [9.0] * 4}), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [name]


def test_paths_that_cannot_be_written_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.csv").mkdir()
    for path in (tmp_path / "none" / "log.parquet", tmp_path / "file" / "log.csv", tmp_path / "folder.csv"):
        with pytest.raises(LogError, match="cannot be written"):
            write(Log.from_columns(**ENDED), path)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder.csv"]


def test_an_unknown_ending_is_refused(tmp_path):
    with pytest.raises(LogError, match=r"written as .parquet, .pq, .csv, .csv.gz"):
        write(Log.from_columns(**ENDED), tmp_path / "log.xlsx")


def test_an_action_without_label_is_not_written(tmp_path):
    log = Log.from_columns(**{**ENDED, "action": [0, 1, 2, 0]}, actions=["a", "b"])
    for name in ("log.parquet", "log.csv"):
        with pytest.raises(LogError, match="action 2 in row 2 has no label"):
            write(log, tmp_path / name)
    assert os.listdir(tmp_path) == []


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


def test_propensities_may_be_mapped_from_labels_to_columns():
    options = {"observation": "x", "action": "arm", "reward": "r", "terminated": "end"}
    log = read(arms(), **options, propensity={"b": "pb", "a": "pa"})
    assert log.spec.actions == ("b", "a")
    assert log.action.tolist() == [0, 1, 0]
    assert log.propensity[0].tolist() == [0.8, 0.2]
    with pytest.raises(LogError, match="another order"):
        read(arms(), **options, propensity={"b": "pb", "a": "pa"}, actions=["a", "b"])


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["a", "b"])])
def test_categories_of_polars_are_labels(kind):
    frame = pl.from_pandas(arms()).with_columns(pl.col("arm").cast(kind))
    log = read(frame, observation="x", action="arm", reward="r", terminated="end", propensity=["pa", "pb"])
    assert log.spec.actions == ("a", "b")
    assert log.action.tolist() == [1, 0, 1]


class TestNamesOfObservations:
    COLUMNS = {"a": [0, 1, 0, 1], "r": [0.0, 1.0, 0.0, 1.0], "end": [False, True, False, True]}  # noqa: RUF012

    def read(self, names, **columns):
        frame = pd.DataFrame(self.COLUMNS | columns)
        return read(frame, observation=names, action="a", reward="r", terminated="end")

    def test_are_the_columns_they_were_read_from(self):
        assert self.read("page", page=[1, 2, 1, 3]).spec.features == ("page",)
        assert self.read(["x", "v"], x=[1, 2, 1, 3], v=[0.5, 1, 2, 3]).spec.features == ("x", "v")

    def test_are_not_noted_where_they_say_nothing(self):
        assert self.read(None, observation=[1, 2, 1, 3]).spec.features is None
        assert self.read(None, observation_0=[1, 2, 1, 3], observation_1=[1, 2, 1, 3]).spec.features is None

    def test_are_kept_by_writing_selecting_and_concatenating(self, tmp_path):
        odd = self.read(["x\x1b\xa0", "v\n"], **{"x\x1b\xa0": [1, 2, 1, 3], "v\n": [0.5, 1, 2, 3]})
        log = self.read(["x", "v"], x=[1, 2, 1, 3], v=[0.5, 1, 2, 3])
        for one in (odd, log):
            write(one, tmp_path / "log.parquet")
            assert read(tmp_path / "log.parquet").spec == one.spec
        assert log.select([1]).spec.features == ("x", "v")
        assert concatenate([log, log]).spec.features == ("x", "v")

    def test_are_dropped_where_two_logs_differ_in_them(self):
        log = self.read(["x", "v"], x=[1, 2, 1, 3], v=[0.5, 1, 2, 3])
        other = self.read(["y", "v"], y=[1, 2, 1, 3], v=[0.5, 1, 2, 3])
        assert concatenate([log, other]).spec.features is None

    def test_do_not_make_another_log(self):
        assert self.read("page", page=[1, 2, 1, 3]).fingerprint == self.read("site", site=[1, 2, 1, 3]).fingerprint

    def test_older_files_have_none(self, tmp_path):
        table = self.rewritten(tmp_path, lambda known: known.pop("features"))
        assert read(table).spec.features is None

    @pytest.mark.parametrize("forged", [3, {"x": 1}, [1], [None], [["x"]], ["\ud800"]])
    def test_forged_ones_are_refused(self, tmp_path, forged):
        with pytest.raises(LogError, match="damaged"):
            read(self.rewritten(tmp_path, lambda known: known.update(features=forged)))

    @pytest.mark.parametrize("forged", [[], ["x"], ["x"] * 99])
    def test_too_few_or_too_many_do_no_harm(self, tmp_path, forged):
        log = read(self.rewritten(tmp_path, lambda known: known.update(features=forged)))
        assert "=0.5" in observation_words(log.spec, log.observation[0])

    def rewritten(self, tmp_path, change):
        write(self.read(["x", "v"], x=[1, 2, 1, 3], v=[0.5, 1, 2, 3]), tmp_path / "log.parquet")
        table = pq.read_table(tmp_path / "log.parquet")
        known = json.loads(table.schema.metadata[b"understudy"])
        change(known)
        pq.write_table(table.replace_schema_metadata({b"understudy": json.dumps(known)}), tmp_path / "other.parquet")
        return tmp_path / "other.parquet"


def csv_file(tmp_path, text):
    (tmp_path / "log.csv").write_text(text)
    return tmp_path / "log.csv"


LABELED = "observation,action,reward,terminated,p,q\n0,{0},1,true,.7,.3\n1,{1},0,true,.6,.4\n2,{0},1,true,.7,.3\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("1.0", "0.0"), ("1", "0"), ("b", "a")],
)
def test_propensities_go_to_the_label_they_are_mapped_from(tmp_path, first, second):
    path = csv_file(tmp_path, LABELED.format(first, second))
    for log in (
        read(path, propensity={first: "p", second: "q"}),
        read(path, propensity=["p", "q"], actions=[first, second]),
    ):
        assert log.spec.actions == (first, second)
        assert log.action.tolist() == [0, 1, 0]
        assert log.propensity[:, 0].tolist() == [0.7, 0.6, 0.7]
    log = read(path, propensity={second: "q", first: "p"})
    assert [log.spec.actions[code] for code in log.action] == [first, second, first]
    assert log.propensity[:, log.spec.actions.index(first)].tolist() == [0.7, 0.6, 0.7]


def test_truth_values_without_labels_are_read_as_false_and_true(tmp_path):
    log = read(csv_file(tmp_path, LABELED.format("true", "false")), propensity=["q", "p"])
    assert log.spec.actions == ("false", "true")
    assert log.action.tolist() == [1, 0, 1]


def test_twelve_numbered_arms_stand_in_the_order_of_their_propensity_columns():
    arms = [str(arm) for arm in range(12)]
    p = {f"propensity_{arm}": [0.1 + (arm == 10)] * 12 for arm in range(12)}
    log = read(
        pa.table({"observation": range(12), "action": arms, "reward": range(12), "terminated": [True] * 12, **p})
    )
    assert log.spec.actions == tuple(arms)
    assert log.propensity[0, log.spec.actions.index("10")] == 1.1


def test_named_propensity_columns_keep_the_order_they_are_named_in():
    columns = {**ENDED, "action": list("xyxy"), "propensity_0": [0.1] * 4, "propensity_1": [0.9] * 4}
    for wanted in ({"x": "propensity_1", "y": "propensity_0"}, ["propensity_1", "propensity_0"]):
        assert read(pa.table(columns), propensity=wanted).propensity[0].tolist() == [0.9, 0.1]
    reverse = ["observation_1", "observation_0"]
    table = pa.table({**ENDED, "observation_0": [0] * 4, "observation_1": [1] * 4}).drop_columns("observation")
    assert read(table, observation=reverse).observation[0].tolist() == [1, 0]


def labeled(labels, propensity=True):
    columns = {**ENDED, "action": [0, 1, 1, 0], "propensity": [[0.9, 0.1]] * 4 if propensity else None}
    return replace(log := Log.from_columns(**columns), spec=replace(log.spec, actions=labels))


@pytest.mark.parametrize(
    "labels", [("b", "a"), ("1", "0"), ("true", "false"), ("0.5", "0.25"), ("NA", "null"), ("é", "\t x")]
)
def test_parquet_keeps_labels_in_the_order_of_their_propensities(tmp_path, labels):
    log = labeled(labels)
    write(log, tmp_path / "log.parquet")
    for asked in ({}, {"action": "action"}, {"n_actions": 2}, {"actions": list(labels)}):
        back = read(tmp_path / "log.parquet", **asked)
        assert back.fingerprint == log.fingerprint
    with pytest.raises(LogError, match=r"propensities in the order of its actions, .* leave it out"):
        read(tmp_path / "log.parquet", actions=list(reversed(labels)))


@pytest.mark.parametrize("labels", [("b", "a"), ("1", "0"), ("true", "false"), ("1.0", "0.0")])
def test_csv_refuses_labels_that_would_come_back_in_another_order_than_their_propensities(tmp_path, labels):
    with pytest.raises(LogError, match=r"would not come back from a CSV \(in another order.*; write Parquet instead"):
        write(labeled(labels), tmp_path / "log.csv")
    write(labeled(labels, propensity=False), tmp_path / "log.csv")
    with pytest.raises(LogError, match="in another order"):
        write(labeled(labels), tmp_path / "log.csv.gz")


@pytest.mark.parametrize(
    "labels",
    [
        ("a", "b"),
        ("0", "1"),
        ("false", "true"),
        ("-1", "x"),
        ("a,b", 'c"d'),
        ("a\nb", "c"),
        ("NA", "a"),
        ("a", "null"),
        ("2020-01-01", "2020-01-02"),
        ("01", "1"),
        ("1e3", "2e3"),
    ],
)
def test_csv_brings_labels_back_to_their_propensities(tmp_path, labels):
    log = labeled(labels)
    write(log, tmp_path / "log.csv")
    back = read(tmp_path / "log.csv")
    assert back.action.tolist() == log.action.tolist()
    assert back.spec.actions in (labels, None)


@pytest.mark.parametrize("labels", [("a", "a "), ("a", "\t")])
def test_csv_refuses_labels_that_it_would_lose(tmp_path, labels):
    with pytest.raises(LogError, match="would not come back from a CSV"):
        write(labeled(labels, propensity=False), tmp_path / "log.csv")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("empty", ["", '""'])
def test_an_empty_cell_of_a_csv_is_refused_by_row(tmp_path, empty):
    head = "observation,action,reward,terminated,episode,ts"
    for row in (f"1,{empty},0,true,v1,a", f"1,x,0,true,{empty},a"):
        with pytest.raises(LogError, match=r"column (action|episode) has no value in row 1; fill it in"):
            read(csv_file(tmp_path, f"{head}\n0,x,1,true,v0,b\n{row}\n"))
    with pytest.raises(LogError, match="order_by column ts has no value in row 1"):
        read(csv_file(tmp_path, f"{head}\n0,x,1,true,v0,b\n1,x,0,true,v1,{empty}\n"), order_by="ts")


@pytest.mark.parametrize("word", ["NA", "null", "nan", "#N/A", '"NA"'])
def test_only_an_empty_cell_of_text_is_missing(tmp_path, word):
    head = "observation,action,reward,terminated,episode,ts"
    path = csv_file(tmp_path, f"{head}\n0,x,1.5,true,b,b\n1,{word},NA,true,{word},{word}\n2,x,1,true,a,a\n")
    log = read(path, order_by="ts")
    text = word.strip('"')
    order = sorted(["b", text, "a"])
    assert [log.spec.actions[code] for code in log.action] == ["x" if ts in "ab" else text for ts in order]
    assert log.n_episodes == 3
    assert np.isnan(log.reward[order.index(text)])  # a word for nothing, among numbers


WRITTEN = [
    ("1.1", "1.10"), ("007", "7"), ("1e3", "10e2"), ("0x10", "16"), ("+1", "1"), ("-0", "0"), ("1", "1.0"),
    ("0.12345678901234567891", "0.12345678901234567892"), ("true", "TRUE"), ("1", "true"),
    ("2020-01-01", "2020-01-01 00:00"),    (str(10**20), str(10**20 + 1)), ("-0.0", "0.0"), ("1", " 1"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), WRITTEN)
def test_ids_and_labels_that_are_written_differently_stay_apart_in_a_csv(tmp_path, one, other):
    head = "observation,action,reward,terminated,id"
    path = csv_file(tmp_path, f"{head}\n0,a,1,true,{one}\n1,b,0,true,{other}\n2,b,0,true,5\n")
    assert read(path, episode="id").n_episodes == 3
    if one.strip() != other.strip():  # labels that differ in spaces only are refused
        assert len(set(read(path, action="id", n_actions=None).action.tolist())) == 3


@pytest.mark.parametrize(
    ("texts", "ids"),
    [(["7", "12", "7"], [7, 12, 7]), (["-3", "0", "1"], [-3, 0, 1]), (["7.0", "12.0", "7.0"], [7, 12, 7])],
)
def test_integers_of_a_csv_are_the_ids_they_spell(tmp_path, texts, ids):
    rows = "".join(f"0,a,1,true,{text}\n" for text in texts)
    assert read(csv_file(tmp_path, f"observation,action,reward,terminated,episode\n{rows}")).episode.tolist() == ids


def test_labels_that_are_given_match_a_csv_by_value(tmp_path):
    path = csv_file(tmp_path, LABELED.format("0.10", "0.20"))
    assert read(path, actions=["0.2", "0.1"]).action.tolist() == [1, 0, 1]
    with pytest.raises(LogError, match="action is '01' in row 1; another text of the column has the same label"):
        read(csv_file(tmp_path, LABELED.format("1", "01")), actions=["1", "2"])


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


def test_long_numbers_of_a_csv_are_sorted_as_numbers(tmp_path):
    rows = "".join(f"{at},0,0,1,{text}\n" for at, text in enumerate(NUMBERS))
    path = csv_file(tmp_path, f"observation,action,reward,episode,t\n{rows}")
    expected = sorted(range(len(NUMBERS)), key=lambda row: Decimal(NUMBERS[row]))
    assert read(path, order_by="t", ends="terminated").observation.tolist() == expected


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


def test_one_column_may_be_the_propensity_of_several_actions():
    table = pa.table({**ENDED, "action": ["l", "r", "l", "r"], "p": [0.5] * 4})
    for asked in (["p", "p"], {"l": "p", "r": "p"}):
        log = read(table, propensity=asked)
        assert log.propensity.tolist() == [[0.5, 0.5]] * len(log)


def test_an_observation_that_names_a_column_twice_is_refused():
    for role in ("observation", "next_observation"):
        with pytest.raises(LogError, match=f"{role} names reward more than once; name each column once"):
            read(pa.table(ENDED), **{role: ["reward", "action", "reward"]})


def named_after(column, names, **options):
    columns = {name: [0.1 * (at + 1)] * len(column) for at, name in enumerate(names)}
    table = {"observation": range(len(column)), "action": column, "reward": [0.0] * len(column)}
    log = read(pa.table({**table, "terminated": [True] * len(column), **columns}), propensity=list(names), **options)
    labels = log.spec.actions or tuple(map(str, range(log.spec.n_actions)))
    return {label: round(float(p), 3) for label, p in zip(labels, log.propensity[0], strict=True)}, log


@pytest.mark.parametrize(
    ("actions", "names"),
    [
        (["false", "true"], ["true", "false"]),
        ([False, True], ["true", "false"]),
        (["shoes", "hats", "bags"], ["shoes", "hats", "bags"]),
        (["10", "9"], ["10", "9"]),
        ([0, 1], ["1", "0"]),
        ([0, 0], ["1", "0"]),
        ([0, 5, 10, 15], ["15", "0", "5", "10"]),
        (["b", "b"], ["b", "a"]),
    ],
)
def test_propensity_columns_named_like_the_actions_belong_to_them(actions, names):
    belongs, log = named_after(actions, names)
    assert belongs == {name: round(0.1 * (at + 1), 3) for at, name in enumerate(names)}
    labels = log.spec.actions or tuple(map(str, range(log.spec.n_actions)))
    assert [labels[code] for code in log.action] == [str(action).lower() for action in actions]
    assert not any(note.startswith("labels") for note in log.notes)


def test_actions_in_another_order_than_the_propensity_columns_named_after_them_are_refused():
    assert named_after(["a", "b"], ["b", "a"], actions=["b", "a"])[0] == {"b": 0.1, "a": 0.2}
    with pytest.raises(
        LogError, match="b, a are named after the actions, and actions= has these in another order, a, b"
    ):
        named_after(["a", "b"], ["b", "a"], actions=["a", "b"])


def test_a_mapping_of_propensities_is_taken_at_its_word():
    table = pa.table({**ENDED, "action": list("abab"), "a": [0.1] * 4, "b": [0.9] * 4})
    log = read(table, propensity={"a": "b", "b": "a"})
    assert (log.spec.actions, log.propensity[0].tolist()) == (("a", "b"), [0.9, 0.1])


def test_other_propensity_columns_are_taken_by_their_place():
    assert named_after(["a", "b"], ["p", "q"])[0] == {"a": 0.1, "b": 0.2}
    assert named_after(["a", "b"], ["p", "q"], actions=["b", "a"])[0] == {"b": 0.1, "a": 0.2}


@pytest.mark.parametrize("big", [2**53, 2**63, 2**64, 10**30, 10**75, 10**90])
def test_long_numbers_of_a_csv_stay_apart(tmp_path, big):
    path = csv_file(tmp_path, f"observation,action,reward,terminated,id\n0,a,1,true,{big}\n1,b,0,true,{big + 1}\n")
    assert read(path, episode="id").n_episodes == 2
    try:
        observation = read(path, observation="id").observation
    except LogError as error:
        assert "which float64 would round" in str(error) or "text that spells a number" in str(error)  # noqa: PT017
        assert big >= 2**64
    else:
        assert observation[0] != observation[1]


def test_long_integers_beside_fractions_stay_apart(tmp_path):
    head = "observation,action,reward,terminated"
    with pytest.raises(LogError, match="observation is '9007199254740993' in row 1"):
        read(csv_file(tmp_path, f"{head}\n0.5,a,1,true\n9007199254740993,b,0,true\n9007199254740992,b,0,true\n"))
    kept = read(csv_file(tmp_path, f"{head}\n0.5,a,1,true\n1.2345678901234567e+20,b,0,true\n")).observation
    assert kept.tolist() == [0.5, 1.2345678901234567e20]


def test_observation_columns_are_joined_without_loss():
    table = pa.table({**ENDED, "a": [2**53 + 1] * 4, "b": [0.5] * 4, "u": pa.array([7] * 4, pa.uint64())})
    with pytest.raises(LogError, match="observation column a is 9007199254740993 in row 0, which float64 would round"):
        read(table, observation=["a", "b"])
    assert read(table, observation=["a", "u"]).observation[0].tolist() == [2**53 + 1, 7]


@pytest.mark.parametrize(
    "names",
    [
        ["observation_0_0", "observation_9999999_9999999"],
        ["observation_0", "observation_0_1"],
        ["observation_0", "observation_00"],
        ["observation_999999999_999999999_999999999"],
        ["observation" + "_0" * 100],
        ["observation" + "_0" * 10_000],
    ],
)
def test_names_that_fill_no_array_are_refused_at_once(names):
    table = pa.table({**{name: [0] * 4 for name in names}, **ENDED}).drop_columns("observation")
    with pytest.raises(LogError, match="do not fill an array of shape") as refused:
        read(table)
    assert len(str(refused.value)) < 300


def test_columns_of_ten_thousand_pixels_are_laid_out_at_once():
    names = [f"observation_{x}_{y}" for x in range(100) for y in range(100)]
    table = pa.table({**{name: [at] * 4 for at, name in enumerate(names)}, **ENDED}).drop_columns("observation")
    assert read(table).observation[0].tolist() == np.arange(10_000).reshape(100, 100).tolist()


@pytest.mark.parametrize("wanted", [3, [1, 2], [None], {"a": 3}])
def test_what_names_no_column_is_refused(wanted):
    with pytest.raises(LogError, match=r"does not name columns|must be a list of distinct strings"):
        read(pa.table(ENDED), propensity=wanted)


IMPOSSIBLE = ["a\0b{}", "\ud800{}", "x" * 5000 + "{}", "y/" * 3000 + "{}", "none/{}", "a\x1b[31m/{}"]


@pytest.mark.parametrize("path", IMPOSSIBLE, ids=ascii)
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_paths_that_cannot_be_are_refused_in_a_short_sentence(tmp_path, path, ending):
    for call in (read, check, lambda where: write(Log.from_columns(**ENDED), where)):
        if call is check:
            message = str(check(f"{tmp_path}/{path.format(ending)}").findings[0])
        else:
            with pytest.raises(LogError) as refused:
                call(f"{tmp_path}/{path.format(ending)}")
            message = str(refused.value)
        assert message.isprintable()
        assert len(message) < 600
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    for name in ("log.csv", "log.parquet", "log"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(LogError, match="is not a plain file"):
            read(tmp_path / name)


def test_escape_bytes_of_a_file_are_shown_and_not_obeyed(tmp_path):
    (tmp_path / "log.csv").write_text("observation,\x1b[31maction,reward\n0,1,2\n")
    with pytest.raises(LogError, match=r"\\x1b\[31maction"):
        read(tmp_path / "log.csv")


def sound(path, **asked):
    """Read and audit what may be damaged: refused in one printable line, or a log that can be shown."""
    try:
        log = read(path, **asked)
    except LogError as error:
        assert str(error).isprintable()  # noqa: PT017
        assert len(str(error)) < 3000  # noqa: PT017
        return None
    assert str(check(log)).replace("\n", "").isprintable()
    return log


def originals(clean):
    """A plain log, one with labels, one of lists, and one in which much was derived."""
    wide = reshaped(clean, (2, 3), np.float32)
    bare = {name: clean[name] for name in ("observation", "action", "reward", "terminated")}
    short = {name: {key: column[:40] for key, column in columns.items()} for name, columns in
             {"plain": clean, "wide": wide, "bare": bare}.items()}  # fmt: skip
    logs = {name: Log.from_columns(**columns) for name, columns in short.items()}
    logs["labels"] = Log.from_columns(**short["plain"], actions=["b", "a", "never\x1b[31m"])
    return logs


def survive(clean, tmp_path, damage, ending, count):
    for seed, (name, log) in enumerate(originals(clean).items()):
        if name == "labels" and ending != ".parquet":
            log = Log.from_columns(**{**clean, "action": np.array(list("abc"))[clean["action"]]})
        path = tmp_path / f"log{ending}"
        write(log, path)
        whole = path.read_bytes()
        back = []
        for version in damage(whole, count, seed):
            path.write_bytes(version)
            back.append(sound(path))
        # Pages of Parquet and all of gzip have checksums; the footer of Parquet and CSV have none.
        changed = sum(other is not None and other.fingerprint != log.fingerprint for other in back)
        assert ending == ".csv" or changed <= 0.01 * count or name == "wide"


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_damaged_file_is_refused_or_makes_a_log(clean, tmp_path, damage, ending):
    survive(clean, tmp_path, damage, ending, 200)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz"])
def test_ten_thousand_damaged_files_are_refused_or_make_logs(clean, tmp_path, damage, ending):
    survive(clean, tmp_path, damage, ending, 10_000)


CELLS = [
    [0, 1, 0, 1], [0.5, None, 1.0, 0.0], ["a", "b", "", None], [True, False, True, None], [[0, 1]] * 4,
    [[0], [1, 2], [], None], [2**63 - 1, -(2**63), 0, 1], [b"a", b"\xff", b"", None], [{"a": 1}] * 4, [None] * 4,
    [Decimal(10**30)] * 4,
    [Decimal("0.1"), None, Decimal("-5"), Decimal("1e-20")], [date(2020, 1, 1)] * 4, [timedelta(1)] * 4,
    [1e308, -1e308] * 2, [float("nan"), float("inf")] * 2, [["a", None]] * 4, ["1e400", "9" * 400, "-0", "\x1b[31m"],
    [[[[[0.25]]]]] * 4,
]  # fmt: skip
FORGERIES = [
    None, True, 0, -1, 2, 2**31, 2**63, 10**30, 1.5, "a", "", [], {}, ["a"], ["a", "b"], ["\ud800"], [1], ["step"],
    ["a: b\x1b[2J"], ["true", "false"], ["0", "1"], [["a"]],
]  # fmt: skip
NAMES = [
    *COLUMNS, "observation_0", "observation_1", "observation_0_0", "observation_9999999_9999999", "propensity_0",
    "propensity_1", "x", "",
]  # fmt: skip
KEPT = ["actions", "n_actions", "n_observations", "max_episode_steps", "notes", "derived"]


def forge(path, rng):
    """A valid Parquet file of which the types, the values, the names and the metadata are anything."""
    pick = lambda pool: pool[rng.integers(len(pool))]  # noqa: E731
    sane = {"observation": CELLS[0], "action": CELLS[0], "reward": [0.5, 1.0, 0.0, 2.0], "terminated": [True] * 4}
    odd = {name: pick(CELLS) for name in rng.choice(NAMES, rng.integers(0, 5), replace=False)}
    known = {
        "actions": None,
        "n_actions": 2,
        "n_observations": 2,
        "max_episode_steps": None,
        "notes": [],
        "derived": [],
    }
    known |= {name: pick(FORGERIES) for name in rng.choice(KEPT, rng.integers(0, 4), replace=False)}
    table = pa.table({**sane, **odd})
    if rng.integers(2):
        table = table.drop_columns([pick(table.column_names)])
    pq.write_table(table.replace_schema_metadata({b"understudy": json.dumps(known).encode()}), path)


def options(rng):
    choices = {
        "actions": [["a", "b"], ["1", "0"], ["true", "false"], ["0.5", "1"]],
        "n_actions": [2, 3, 2**40],
        "ends": ["terminated", "truncated", "unfinished", "every-row"],
        "order_by": ["reward", "x", "episode"],
        "episode": ["x", "step", "action"],
        "observation": ["x", ["observation", "reward"]],
        "propensity": [["reward", "reward"], {"a": "reward", "b": "x"}],
    }
    asked = rng.choice(list(choices), rng.integers(0, 3), replace=False)
    return {name: choices[name][rng.integers(len(choices[name]))] for name in asked}


def survive_forgery(tmp_path, count):
    rng, readable = np.random.default_rng(1), 0
    for _ in range(count):
        forge(tmp_path / "log.parquet", rng)
        log = sound(tmp_path / "log.parquet", **options(rng))
        readable += log is not None
        if log is not None:
            write(log, tmp_path / "again.parquet")
            assert read(tmp_path / "again.parquet").fingerprint == log.fingerprint
    assert 0 < readable < count


def test_a_forged_file_is_refused_or_makes_a_log(tmp_path):
    survive_forgery(tmp_path, 400)


@pytest.mark.slow
def test_ten_thousand_forged_files_are_refused_or_make_logs(tmp_path):
    survive_forgery(tmp_path, 10_000)
