import json
from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.errors import LogError, UnderstudyError
from understudy.logs import Log, check, read, write
from understudy.logs.columns import COLUMNS

BASIC = {"observation": [0, 1, 2, 5], "action": [0, 1, 0, 1], "reward": [0.0, 0.5, 1.0, 0.0]}
ENDED = {**BASIC, "terminated": [False, False, True, True]}


def test_rows_are_ordered_and_episodes_gathered():
    times = np.array([3, 1, 4, 2], "M8[s]")
    table = pa.table({**ENDED, "episode": ["a", "b", "b", "a"], "ts": times, "next_observation": [0, 1, 2, 5]})
    log = read(table, order_by="ts")
    assert log.observation.tolist() == [1, 2, 5, 0]
    assert log.episode.tolist() == [0, 0, 1, 1]
    assert log.notes == ("order: rows were sorted by ts and, since episodes overlapped, gathered by episode",)
    assert log.source_row.tolist() == [1, 2, 3, 0]


def test_rows_that_were_in_order_are_not_said_to_be_sorted():
    table = pa.table({**ENDED, "episode": [0, 0, 0, 1], "ts": [1, 2, 3, 4], "next_observation": [1, 2, 3, 6]})
    assert read(table, order_by="ts").notes == ()
    assert read(table, order_by="ts").source_row is None
    shuffled = read(table.take([3, 0, 1, 2]), order_by="ts")
    assert shuffled.notes[0] == "order: rows were sorted by ts"
    assert shuffled.source_row.tolist() == [1, 2, 3, 0]


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


def test_labels_that_are_numbers_survive_sorting():
    table = pa.table({**ENDED, "action": [20, 10, 20, 10], "ts": [4, 3, 2, 1], "next_observation": [0, 1, 2, 5]})
    assert read(table, order_by="ts", actions=["10", "20"]).action.tolist() == [0, 1, 0, 1]


def test_order_is_stable_and_takes_several_columns():
    table = pa.table({**ENDED, "day": [2, 1, 2, 1], "hour": [0.5, 0.5, 0.5, 0.5], "next_observation": [0, 1, 2, 5]})
    assert read(table, order_by=["day", "hour"]).observation.tolist() == [1, 5, 0, 2]


def test_order_needs_a_value_in_every_row():
    with pytest.raises(LogError, match="order_by column ts has no value in row 2"):
        read(pa.table({**ENDED, "ts": [1.0, 2.0, None, 3.0]}), order_by="ts")


def test_observation_columns_are_joined_without_loss():
    table = pa.table({**ENDED, "a": [2**53 + 1] * 4, "b": [0.5] * 4, "u": pa.array([7] * 4, pa.uint64())})
    with pytest.raises(LogError, match="observation column a is 9007199254740993 in row 0, which float64 would round"):
        read(table, observation=["a", "b"])
    assert read(table, observation=["a", "u"]).observation[0].tolist() == [2**53 + 1, 7]


def test_escape_bytes_of_a_file_are_shown_and_not_obeyed(tmp_path):
    (tmp_path / "log.csv").write_text("observation,\x1b[31maction,reward\n0,1,2\n")
    with pytest.raises(LogError, match=r"\\x1b\[31maction"):
        read(tmp_path / "log.csv")


def reshaped(columns, shape, dtype):
    spread = {
        name: np.multiply.outer(columns[name] + 0.25, np.ones(shape)).astype(dtype)
        for name in ("observation", "next_observation")
    }
    return {**columns, **spread}


def read_and_audit(path, **options):
    """Read and audit what may be damaged: refused in one printable line, or a log that can be shown."""
    try:
        log = read(path, **options)
    except UnderstudyError as error:
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
    logs["coded"] = Log.from_columns(
        **short["plain"]
        | {
            name: {"page": np.array(["home", "cart", "pay"])[short["plain"][name] % 3], "x": short["plain"][name]}
            for name in ("observation", "next_observation")
        }
    )
    logs["labels"] = Log.from_columns(**short["plain"], actions=["b", "a", "never\x1b[31m"])
    return logs


def survive(clean, tmp_path, damage, ending, count):
    for seed, (name, log) in enumerate(originals(clean).items()):
        if name == "labels" and ending != ".parquet":
            log = Log.from_columns(**{**clean, "action": np.array(list("abc"))[clean["action"]]})
        path = tmp_path / f"log{ending}"
        write(log, path)
        whole, undamaged = path.read_bytes(), read_and_audit(path).fingerprint  # CSV keeps no codes
        back = []
        for version in damage(whole, count, seed):
            path.write_bytes(version)
            back.append(read_and_audit(path))
        # Pages of Parquet and all of gzip have checksums; the footer of Parquet and CSV have none.
        changed = sum(other is not None and other.fingerprint != undamaged for other in back)
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


def coded(form="codes", **column):
    return {"columns": [{"name": "x\x1b[2J", **column}], "unseen": "other", "form": form}


FORGERIES = [
    None, True, 0, -1, 2, 2**31, 2**63, 10**30, 1.5, "a", "", [], {}, ["a"], ["a", "b"], ["\ud800"], [1], ["step"],
    ["a: b\x1b[2J"], ["true", "false"], ["0", "1"], [["a"]],
    coded(kind="category", labels=["a", "\x1b[2J"]), coded(kind="truth", labels=["no", "yes"]), coded(kind="category"),
    coded(kind="date", origin="2024-01-01", unit="days"), coded("one-hot", kind="category", labels=["a", "b"]),
]  # fmt: skip


NAMES = [
    *COLUMNS, "observation_0", "observation_1", "observation_0_0", "observation_9999999_9999999", "propensity_0",
    "propensity_1", "x", "",
]  # fmt: skip


STORED = ["actions", "n_actions", "n_observations", "max_episode_steps", "notes", "derived", "coding"]


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
    known |= {name: pick(FORGERIES) for name in rng.choice(STORED, rng.integers(0, 4), replace=False)}
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
        log = read_and_audit(tmp_path / "log.parquet", **options(rng))
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


@pytest.mark.parametrize(
    "ids", [list("bbaab"), [1.5, 1.5, 0.5, 0.5, 1.5], [date(2024, 2, 1 + (at in (2, 3))) for at in range(5)]]
)
def test_ids_that_are_not_integers_are_numbered_in_the_order_of_the_sorted_rows(ids):
    columns = {"observation": range(5), "action": [0] * 5, "reward": [0.0] * 5, "next_observation": [0] * 5}
    table = pa.table({**columns, "visit": ids, "ts": [5, 4, 3, 2, 1]})
    log = read(table, episode="visit", order_by="ts", ends="terminated")
    assert log.observation.tolist() == [4, 1, 0, 3, 2]
    assert log.episode.tolist() == [0, 0, 0, 1, 1]


def test_ids_that_are_integers_stay_as_they_are_when_rows_are_sorted():
    table = pa.table({**ENDED, "next_observation": [0] * 4, "episode": [8, 8, 8, 3], "ts": [4, 3, 2, 1]})
    assert read(table, order_by="ts").episode.tolist() == [3, 8, 8, 8]


def test_labels_keep_their_codes_when_rows_are_sorted():
    table = pa.table({**ENDED, "next_observation": [0] * 4, "action": list("cabc"), "ts": [4, 3, 2, 1]})
    log = read(table, order_by="ts")
    assert log.spec.actions == ("a", "b", "c")
    assert log.action.tolist() == [2, 1, 0, 2]


def test_a_list_of_one_name_is_that_column():
    table = pa.table({**ENDED, "gain": [1.0, 2.0, 3.0, 4.0], "arm": [0, 1, 0, 1], "next_observation": [0] * 4})
    log = read(table, reward=["gain"], action=["arm"], observation=["observation"], next_observation=["observation"])
    assert log.reward.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert log.action.tolist() == [0, 1, 0, 1]
    assert log.observation.shape == (4, 1)


def test_propensity_columns_that_hold_lists_are_refused():
    table = pa.table({**ENDED, "p": [[0.5, 0.5]] * 4, "q": [[0.5, 0.5]] * 4})
    with pytest.raises(LogError, match=r"propensity has shape \(4, 2, 2\); give \(rows, actions\)"):
        read(table, propensity=["p", "q"])
