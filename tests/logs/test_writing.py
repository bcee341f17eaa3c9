import errno
import os
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from understudy.errors import LogError, SettingError
from understudy.logs import Log, read, write

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

    monkeypatch.setattr("understudy.logs.writing._write_csv", full)
    monkeypatch.setattr("understudy.logs.writing._write_parquet", full)
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
    with pytest.raises(SettingError, match=r"propensities in the order of its actions, .* leave it out"):
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


def test_a_format_is_that_of_the_ending(clean, tmp_path):
    log = Log.from_columns(**clean)
    write(log, tmp_path / "log.parquet", format="parquet")
    with pytest.raises(LogError, match=r"a log is written as \.csv, \.csv\.gz"):
        write(log, tmp_path / "other.parquet", format="csv")
    with pytest.raises(SettingError, match="format='vw' cannot be written; give one of parquet, csv, dsjson, minari"):
        write(log, tmp_path / "log.vw", format="vw")
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]


def test_a_csv_has_the_values_of_coded_observations(tmp_path):
    columns = {
        "page": ["a,b", "c"], "vip": [True, False], "at": np.array(["2024-01-01T10:00", "2024-01-02"], "M8[s]"),
        "for": np.array([90, 30], "m8[s]"),
    }  # fmt: skip
    log = Log.from_columns(observation=columns, action=[0, 1], reward=[0, 1], ends="every-row")
    write(log, tmp_path / "log.csv")
    lines = (tmp_path / "log.csv").read_text().splitlines()
    assert lines[0].startswith("observation_0,observation_1,observation_2,observation_3,action,")
    assert lines[1].startswith('"a,b",True,2024-01-01 10:00:00.000000,90.0,0,')
    assert read(tmp_path / "log.csv").observation.tolist() == log.observation.tolist()
