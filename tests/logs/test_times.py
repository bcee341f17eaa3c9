from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from understudy.errors import LogError
from understudy.logs import Log, check, concatenate, read, write
from understudy.logs.times import falling_row, times

N = 6
COLUMNS = {"observation": range(N), "action": [0, 1] * 3, "reward": [0.0] * N, "ends": "every-row"}
HOURS = np.arange(N) * 3600.0
STAMPS = pd.date_range("2026-03-28 20:00", periods=N, freq="h", tz="Europe/Berlin")  # across the change of the clocks
SECONDS = datetime(2026, 3, 28, 19, tzinfo=UTC).timestamp() + HOURS


def log_with(**columns):
    return Log.from_columns(**{**COLUMNS, **columns})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (HOURS, HOURS),
        (HOURS.astype(int).tolist(), HOURS),
        ([f"{hour:.0f}" for hour in HOURS], HOURS),
        (STAMPS, SECONDS),
        (pd.Series(STAMPS), SECONDS),
        (pa.array(STAMPS), SECONDS),
        (STAMPS.tz_convert("UTC").tz_localize(None).to_numpy(), SECONDS),
        ([stamp.isoformat() for stamp in STAMPS], SECONDS),
        ([stamp.to_pydatetime() for stamp in STAMPS], SECONDS),
        (pd.Categorical([stamp.isoformat() for stamp in STAMPS]), SECONDS),
        (pa.array(np.arange(N, dtype=np.int32), pa.int32()).cast(pa.date32()), np.arange(N) * 86_400.0),
        (pa.array(np.arange(N) * 10**9 + 1).cast(pa.timestamp("ns")), np.arange(N)),
    ],
)
def test_numbers_dates_and_time_stamps_are_seconds(values, expected):
    found = log_with(time=values).time if not isinstance(values, pa.Array) else times("time", values)
    assert found.dtype == np.float64
    assert found == pytest.approx(expected, abs=1e-6)
    columns = {name: list(column) for name, column in COLUMNS.items() if name != "ends"}
    assert read({**columns, "at": values}, ends="every-row", time="at").time == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"time": [0, 1, 2, 1, 3, 4]}, "time in row 3 is 1 seconds before that of row 2, .* sort them with order_by="),
        ({"time": [0, 1, None, 3, 4, 5]}, "time has no value in row 2"),
        ({"time": [0, 1, np.nan, 3, 4, 5]}, "time has no value in row 2"),
        ({"time": [*STAMPS[:5], pd.NaT]}, "time has no value in row 5"),
        ({"time": ["2026-01-01"] * 5 + [" "]}, "time has no value in row 5"),
        ({"time": ["2026-01-01"] * 5 + ["soon"]}, "time is 'soon' in row 5; give dates with times"),
        ({"time": ["12:30"] * 6}, "time is '12:30' in row 0; give dates with times"),
        ({"time": pd.to_timedelta(HOURS, "s")}, "not a point in time"),
        ({"time": [0, 1, np.inf, 3, 4, 5]}, "time is infinite in row 2"),
        ({"time": np.zeros((N, 2))}, "one time a row"),
        ({"time": HOURS, "arrival": HOURS - [0, 0, 0, 0, 60, 0]}, "arrival in row 4 is 60 seconds before its time"),
        ({"arrival": HOURS}, "name it with time="),
    ],
)
def test_what_is_not_a_time_in_order_is_refused_with_its_row(columns, words):
    with pytest.raises(LogError, match=words):
        log_with(**columns)
    (finding,) = check({**COLUMNS, **columns}).findings
    assert finding.severity == "error"


def test_rows_of_a_file_are_named_by_their_row_there(tmp_path):
    frame = pd.DataFrame(
        {"observation": range(3), "action": [0, 1, 0], "reward": 0.0, "at": ["2026-01-02", "", "2026-01-01"]}
    )
    frame.to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(LogError, match="time column at has no value in row 1"):
        read(tmp_path / "log.csv", ends="every-row", time="at", order_by="observation")


def test_a_permuted_file_sorted_by_its_times_is_the_same_log(tmp_path):
    frame = pd.DataFrame({"observation": range(N), "action": [0, 1] * 3, "reward": 0.0, "at": STAMPS})
    frame["known"] = STAMPS + pd.to_timedelta([5, 4, 3, 2, 1, 0], "min")
    names = {"ends": "every-row", "time": "at", "arrival": "known"}
    expected = read(frame, **names)
    assert (expected.arrival - expected.time).tolist() == [300, 240, 180, 120, 60, 0]
    frame.sample(frac=1, random_state=1).to_csv(tmp_path / "log.csv", index=False)
    with pytest.raises(LogError, match="before that of row"):
        read(tmp_path / "log.csv", **names)
    assert read(tmp_path / "log.csv", **names, order_by="at").fingerprint == expected.fingerprint


def test_episodes_may_overlap_and_each_is_in_order():
    columns = {"observation": range(4), "action": [0] * 4, "reward": [0.0] * 4, "ends": "terminated"}
    frame = pd.DataFrame(columns | {"episode": [0, 1, 0, 1], "at": [0.0, 1.0, 2.0, 3.0]}).drop(columns="ends")
    log = read(frame, time="at", order_by="at", ends="terminated")
    assert log.time.tolist() == [0, 2, 1, 3]
    for at, row in (([0.0, 2.0, 1.0, 0.5], 3), ([1.0, 2.0, 0.0, 3.0], 2)):
        with pytest.raises(LogError, match=f"time in row {row} is"):
            Log.from_columns(**columns, episode=[0, 0, 1, 1], time=at)


def test_the_first_row_that_falls():
    assert falling_row(np.array([0.0, 1.0, 1.0, 2.0]), np.arange(5)) is None
    assert falling_row(np.array([0.0, 9.0, 5.0, 4.0]), np.array([0, 2, 4])) == 3
    assert falling_row(np.array([5.0, 9.0, 4.0, 6.0]), np.array([0, 2, 4])) == 2


@pytest.mark.parametrize("block", [1, 7, 1 << 19])
def test_the_first_row_that_falls_is_found_in_blocks(monkeypatch, block):
    monkeypatch.setattr("understudy.logs.blocks.BLOCK", block)
    rng = np.random.default_rng(0)
    for _ in range(60):
        starts = np.append(0, np.cumsum(rng.integers(1, 4, 12)))
        time = np.sort(rng.integers(0, 30, starts[-1])).astype(float)
        time[rng.random(len(time)) < 0.05] = rng.integers(0, 30)
        falls = np.append(False, np.diff(time) < 0)
        falls[starts[:-1]] = np.append(False, np.diff(time[starts[:-1]]) < 0)
        assert falling_row(time, starts) == (int(np.argmax(falls)) if falls.any() else None)


def test_a_column_that_is_called_time_is_read_where_it_is_named():
    frame = pd.DataFrame({"observation": range(N), "action": [0, 1] * 3, "reward": 0.0, "time": ["noon"] * N})
    assert read(frame, ends="every-row").time is None
    with pytest.raises(LogError, match="time is 'noon' in row 0"):
        read(frame, ends="every-row", time="time")


def test_times_travel_with_their_rows(tmp_path):
    log = log_with(time=STAMPS, arrival=SECONDS + np.arange(N), propensity=[[0.5, 0.5]] * N)
    assert "time              (6,) float64" in repr(log)
    assert "arrival" in repr(log)
    assert log.fingerprint != log_with(propensity=[[0.5, 0.5]] * N).fingerprint
    some = log.select([4, 1])
    assert (some.arrival - some.time).tolist() == [4, 1]
    both = concatenate([log.select([0, 1]), log.select([2, 3])])
    assert both.time.tolist() == SECONDS[:4].tolist()
    assert log.with_propensities(np.full((N, 2), 0.5)).arrival.tolist() == log.arrival.tolist()
    with pytest.raises(LogError, match="log 0 has time, and log 1 has none"):
        concatenate([log, log_with(propensity=[[0.5, 0.5]] * N)])
    for part in (log, some):
        write(part, tmp_path / "log.parquet")
        assert read(tmp_path / "log.parquet").fingerprint == part.fingerprint
    write(log, tmp_path / "log.csv.gz")
    assert read(tmp_path / "log.csv.gz", time="time", arrival="arrival").fingerprint == log.fingerprint


def test_the_row_without_a_next_observation_is_dropped_with_its_time():
    log = Log.from_columns(
        observation=[0, 1, 2, 3],
        action=[0] * 4,
        reward=[0.0] * 4,
        episode=[0, 0, 1, 1],
        ends="truncated",
        time=range(4),
    )
    assert log.time.tolist() == [0, 2]
