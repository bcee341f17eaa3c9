import errno
import json
import os

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.logs import Log, LogError, concatenate, read, write
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
