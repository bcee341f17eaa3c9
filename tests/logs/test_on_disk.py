import errno
import json
import os
import resource
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy import mapped
from understudy.errors import LogError, SettingError
from understudy.logs import on_disk
from understudy.logs.on_disk import MANIFEST, is_log_folder, open_log, place_of, source_of
from understudy.logs.streamed import StreamedTable
from understudy.mapped import is_mapped


def rows(n=1000, seed=0):
    """Rows of a log in which every column is given, as a table."""
    rng = np.random.default_rng(seed)
    over = rng.random(n) < 0.1
    over[-1] = True
    return {
        "observation": rng.integers(50, size=n), "action": rng.integers(3, size=n), "reward": rng.normal(size=n),
        "next_observation": rng.integers(50, size=n), "terminated": over & (rng.random(n) < 0.7), "truncated": over,
        "episode": np.cumsum(over) - over, "propensity": np.full(n, 1 / 3),
    }  # fmt: skip


def given(**changes):
    """The rows with other columns, or without those that are None."""
    found = rows() | {"truncated": None} | changes
    found["terminated"] = rows()["truncated"] if "terminated" not in changes else changes["terminated"]
    return {name: values for name, values in found.items() if values is not None}


WORDS = np.array(["left", "right", "up"])
VECTORS = np.random.default_rng(1).normal(size=(1001, 3)).astype(np.float32)
DIRICHLET = np.random.default_rng(2).dirichlet(np.ones(3), 1000)
ROWS = rows()
SINGLE = {name: ROWS[name] for name in ("observation", "action", "reward")}


def observed(change):
    """Rows with observations and next observations changed."""
    return given(observation=change(ROWS["observation"]), next_observation=change(ROWS["next_observation"]))


KINDS = {
    "codes": (given(), {}),
    "all columns": (ROWS | {"truncated": ROWS["truncated"] & ~ROWS["terminated"]}, {}),
    "small codes": (observed(lambda codes: codes.astype(np.int32)), {}),
    "derived": (given(next_observation=None, episode=None), {}),
    "dropped": (given(next_observation=None, terminated=ROWS["terminated"]), {}),
    "truth values": (observed(lambda codes: codes > 25), {}),
    "labels": (given(action=WORDS[ROWS["action"]]), {}),
    "numbers as labels": (given(), {"actions": ["2", "1", "0"]}),
    "texts": (observed(lambda codes: WORDS[codes % 3]), {}),
    "floats": (observed(lambda codes: codes / 4) | {"action": ROWS["action"] * 1.0}, {}),
    "vectors": (given(observation=list(VECTORS[:-1]), next_observation=list(VECTORS[1:])), {}),
    "propensities": (given(propensity=list(DIRICHLET)), {}),
    "one step": (SINGLE, {"ends": "every-row"}),
    "unfinished": (SINGLE | {"episode": ROWS["episode"]}, {"ends": "unfinished"}),
    "sorted": (given(stamp=np.arange(1000)[::-1], episode=ROWS["episode"][::-1]), {"order_by": "stamp"}),
    "times": (given(when=np.arange(1000.0)), {"time": "when"}),
    "text ids": (given(episode=np.char.add("visit-", ROWS["episode"].astype(str))), {}),
}


@pytest.fixture
def written(tmp_path):
    """A function that writes a table as Parquet files, two of them, and returns their folder."""

    def write(columns, name="files"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        table = pa.table(columns)
        for number, piece in enumerate((table.slice(0, 600), table.slice(600))):
            pq.write_table(piece, folder / f"part-{number}.parquet", row_group_size=250)
        return folder

    return write


def assert_same(one, other):
    assert repr(one) == repr(other)
    for name, column in one.columns.items():
        np.testing.assert_array_equal(column, other.columns[name], err_msg=name)
    assert one.spec == other.spec
    for name in ("notes", "derived", "max_episode_steps", "propensity_source", "fingerprint"):
        assert getattr(one, name) == getattr(other, name), name
    np.testing.assert_array_equal(one.starts, other.starts)


@pytest.mark.parametrize("height", [7, 10**6])
@pytest.mark.parametrize("kind", KINDS)
def test_a_log_on_disk_is_the_log_in_memory(kind, height, written, tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "BLOCK", height)
    columns, options = KINDS[kind]
    files = written(columns)
    log = us.read(files, on_disk=tmp_path / "log", **options)
    assert is_mapped(log.action)
    assert not log.action.flags.writeable
    assert_same(log, us.read(files, **options))
    assert_same(us.read(tmp_path / "log"), log)
    assert not [name for name in os.listdir(tmp_path / "log") if name.startswith(".making")]


def test_a_log_is_made_once_and_then_opened(written, tmp_path, monkeypatch):
    files = written(given())
    log = us.read(files, on_disk=tmp_path / "log")
    assert is_log_folder(tmp_path / "log")
    assert not is_log_folder(files)
    assert place_of(log) == place_of(us.read(tmp_path / "log"))
    assert place_of(us.read(files)) is None
    monkeypatch.setattr(on_disk, "_make", None)
    again = us.read(files, on_disk=tmp_path / "log")
    assert place_of(again) == place_of(log)


def test_the_fingerprint_is_kept_beside_the_log(written, tmp_path, monkeypatch):
    log = us.read(written(given()), on_disk=tmp_path / "log")
    expected = log.fingerprint
    monkeypatch.setattr("understudy.logs.log.fingerprint_of", None)
    assert us.read(tmp_path / "log").fingerprint == expected


def test_a_changed_file_makes_the_log_anew_and_leaves_nothing_of_the_old_one(written, tmp_path):
    files, folder = written(given()), tmp_path / "log"
    before = us.read(files, on_disk=folder)
    us.psrs(before)
    written(given(reward=np.ones(1000)))
    after = us.read(files, on_disk=folder)
    assert (after.reward == 1).all()
    assert not (before.reward == 1).all()  # whoever has it mapped keeps it
    assert after.fingerprint != before.fingerprint
    assert len([name for name in os.listdir(folder) if name.startswith("columns-")]) == 1
    assert not [name for name in os.listdir(folder) if name.startswith("index-")]


def test_another_source_other_options_and_other_files_in_the_folder_are_refused(written, tmp_path):
    files, other, folder = written(given()), written(given(), "other"), tmp_path / "log"
    us.read(files, on_disk=folder)
    for source, options in ((other, {}), (files, {"n_actions": 4}), (given(), {})):
        with pytest.raises(SettingError, match="other files, or with other options"):
            us.read(source, on_disk=folder, **options)
    with pytest.raises(SettingError, match="leave n_actions= out"):
        us.read(folder, n_actions=4)
    with pytest.raises(SettingError, match="leave on_disk= out"):
        us.read(folder, on_disk=tmp_path / "log2")
    with pytest.raises(SettingError, match="holds other files"):
        us.read(files, on_disk=other)


def test_files_of_others_are_never_removed_whatever_their_names(written, tmp_path):
    files, folder = written(given()), tmp_path / "log"
    for name in ("index-html", "columns-notes"):
        (folder / name).mkdir(parents=True)
        with pytest.raises(SettingError, match="holds other files"):
            us.read(files, on_disk=folder)
        (folder / name).rmdir()
    (folder / f"columns-{0:016x}").mkdir()  # of a process that was killed
    (folder / f"index-{0:024x}-{0:08x}").mkdir()
    place = place_of(us.read(files, on_disk=folder))
    index = us.qbe(us.read(folder)).index
    index.on_disk.queues(index)
    assert place_of(us.read(files, on_disk=folder)) == place
    (folder / MANIFEST).unlink()
    assert len(us.read(files, on_disk=folder)) == 1000


def test_a_log_is_made_anew_where_the_file_that_its_codes_are_taken_from_has_changed(tmp_path):
    columns = {"action": [0, 1], "reward": [0.0, 1.0], "terminated": [True, True]}
    pq.write_table(pa.table({"observation": ["a", "b"], **columns}), tmp_path / "rows.parquet")
    others = {"one.parquet": tmp_path / "one.parquet", "disk": tmp_path / "disk"}
    for first in (["a", "b"], ["0", "a", "b"]):
        log = us.read({"observation": first, **{name: (one * 2)[: len(first)] for name, one in columns.items()}})
        us.write(log, others["one.parquet"])
        us.read(others["one.parquet"], on_disk=others["disk"])
        for name, like in others.items():
            found = us.read(tmp_path / "rows.parquet", like=str(like), on_disk=tmp_path / f"like {name}")
            assert found.observation.tolist() == [len(first) - 2, len(first) - 1]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_without_locks_each_process_makes_its_own(written, tmp_path, monkeypatch):
    import fcntl

    def refuse(file, how):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    folder = tmp_path / "log"
    (folder / ".making-by-another").mkdir(parents=True)
    log = us.read(written(given()), on_disk=folder)
    assert (folder / ".making-by-another").exists()
    assert us.qbe(log.select([0, 1])).n_states > 0
    assert len(us.encode(log, us.encoders.Function(lambda rows: rows % 5), out=tmp_path / "states").state) == 1000


def test_every_kind_of_source_can_be_kept_on_disk(written, tmp_path):
    files = written(given())
    expected = us.read(files).fingerprint
    sources = {
        "folder": str(files), "pattern": str(files / "*.parquet"), "list": sorted(files.iterdir()),
        "dataset": pyarrow.dataset.dataset(files), "table": pa.table(given()), "mapping": given(),
    }  # fmt: skip
    for name, source in sources.items():
        assert us.read(source, on_disk=tmp_path / name).fingerprint == expected, name
        assert (source_of(source, {}) is None) == (name in ("table", "mapping"))


def test_options_that_json_does_not_hold_tell_logs_apart(written, tmp_path):
    files = written(given())
    like = us.read(files)
    log = us.read(files, like=like, on_disk=tmp_path / "log")
    assert place_of(us.read(files, like=us.read(files), on_disk=tmp_path / "log")) == place_of(log)
    with pytest.raises(SettingError, match="other options"):
        us.read(files, like=us.read(files, n_actions=5), on_disk=tmp_path / "log")


def test_rows_that_32_bits_cannot_count_are_refused_before_anything_is_read(written, tmp_path, monkeypatch):
    monkeypatch.setattr(StreamedTable, "pieces", None)
    monkeypatch.setattr("understudy.logs.columns.MOST_ROWS", 999)
    with pytest.raises(LogError, match="1,000 rows, and 999 is the most"):
        us.read(written(given()), on_disk=tmp_path / "log")


def test_an_error_in_the_files_names_its_row_and_leaves_no_log(written, tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "BLOCK", 7)
    episode = rows()["episode"].astype(float)
    episode[901] = np.nan
    files = written(given(episode=episode))
    for _ in range(2):
        with pytest.raises(LogError, match="row 901"):
            us.read(files, on_disk=tmp_path / "log")
    assert not is_log_folder(tmp_path / "log")
    assert [name for name in os.listdir(tmp_path / "log") if name != ".lock"] == []


def test_a_damaged_log_is_refused_in_a_sentence(written, tmp_path):
    us.read(written(given()), on_disk=tmp_path / "log")
    manifest = tmp_path / "log" / MANIFEST
    known = json.loads(manifest.read_text())
    reward = tmp_path / "log" / known["folder"] / "reward.array"
    content = reward.read_bytes()
    reward.write_bytes(b"\1" + content[1:])
    with pytest.raises(LogError, match=r"reward.array was changed\); remove the folder, and make it again"):
        us.read(tmp_path / "log")
    reward.write_bytes(content)
    assert len(us.read(tmp_path / "log")) == 1000
    for text in ("", "{", "[]", json.dumps(known | {"facts": {}}), json.dumps(known | {"version": 2})):
        manifest.write_text(text)
        with pytest.raises(LogError, match="cannot be used"):
            open_log(tmp_path / "log")


@pytest.mark.parametrize(
    "change",
    [
        lambda known: known["facts"].update(rows=999),
        lambda known: known["facts"]["known"].update(n_actions=-1),
        lambda known: known["facts"]["known"].update(actions=["a"]),
        lambda known: known["facts"].pop("known"),
        lambda known: known["arrays"].pop("reward"),
        lambda known: known["arrays"].pop("starts"),
        lambda known: known["arrays"].update(action=known["arrays"]["reward"]),
        lambda known: known["arrays"]["starts"].update(shape=[1]),
        lambda known: known["arrays"]["observation"].update(dtype="<f8"),
    ],
)
def test_a_forged_manifest_is_refused_in_a_sentence(change, written, tmp_path):
    us.read(written(given()), on_disk=tmp_path / "log")
    manifest = tmp_path / "log" / MANIFEST
    known = json.loads(manifest.read_text())
    change(known)
    known["digest"] = on_disk.Manifest(known["kind"], known["folder"], known["arrays"], known["facts"]).digest
    manifest.write_text(json.dumps(known))
    with pytest.raises(LogError, match="cannot be used"):
        us.read(tmp_path / "log")


MAKES = """
import os, signal, sys
import understudy as us
from understudy import stored_arrays
if sys.argv[3] != "whole":
    write, when = stored_arrays.digest_of, int(sys.argv[3])
    def killed(path, count=[0]):
        count[0] += 1
        if count[0] == when:
            os.kill(os.getpid(), signal.SIGKILL)
        return write(path)
    stored_arrays.digest_of = killed
print(us.read(sys.argv[1], on_disk=sys.argv[2]).fingerprint)
"""


def made_in_process(files, folder, when, **options):
    return subprocess.Popen(
        [sys.executable, "-c", MAKES, str(files), str(folder), when], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, **options,
    )  # fmt: skip


@pytest.mark.parametrize("when", ["1", "6"])
def test_a_build_that_was_killed_is_begun_anew_and_never_used(when, written, tmp_path):
    files, folder = written(given()), tmp_path / "log"
    with made_in_process(files, folder, when) as first:
        first.communicate()
    assert first.returncode == -signal.SIGKILL
    assert not is_log_folder(folder)
    assert any(name.startswith(".making-") for name in os.listdir(folder))
    log = us.read(files, on_disk=folder)
    assert log.fingerprint == us.read(files).fingerprint
    assert sorted(name.split("-")[0] for name in os.listdir(folder)) == [
        ".lock",
        "columns",
        "fingerprint.json",
        "understudy",
    ]


def test_of_two_processes_that_make_one_log_the_second_opens_that_of_the_first(written, tmp_path):
    files, folder = written(given()), tmp_path / "log"
    with made_in_process(files, folder, "whole") as one, made_in_process(files, folder, "whole") as other:
        found = [process.communicate() for process in (one, other)]
    assert [one.returncode, other.returncode] == [0, 0], found
    assert {out.strip() for out, _ in found} == {us.read(files).fingerprint}
    assert len([name for name in os.listdir(folder) if name.startswith("columns-")]) == 1


def test_a_full_disk_ends_in_a_sentence(written, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))

    with made_in_process(written(given()), tmp_path / "log", "whole", preexec_fn=limit) as process:
        _, error = process.communicate()
    assert process.returncode == 1
    assert error.splitlines()[-1].startswith("understudy.errors.LogError")
    assert "cannot be written (File too large); a log on disk takes some 35 bytes a row" in error
    assert not is_log_folder(tmp_path / "log")


def test_a_selection_of_a_log_on_disk_is_there_and_is_gone_with_it(written, tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "BLOCK", 7)
    files = written(given())
    log, memory = us.read(files, on_disk=tmp_path / "log"), us.read(files)
    for episodes in ([3, 1, 40], [2, 2], np.arange(50)):
        selected = log.select(episodes)
        assert is_mapped(selected.action)
        assert place_of(selected) is None
        assert_same(selected, memory.select(episodes))
        assert_same(selected.select([0]), memory.select(episodes).select([0]))
    del selected
    scratch = next(path for path in (tmp_path / "log").glob(".scratch-*") if path.is_dir())
    assert list(scratch.iterdir()) == []


def test_the_rewards_of_dropped_rows_are_known_on_disk_too(tmp_path):
    (tmp_path / "log.csv").write_text("day,observation,action,reward\n" + "1,0,0,1\n1,1,1,2\n2,0,1,4\n2,1,0,8\n")
    told = {"episode": "day", "ends": "truncated"}
    memory = us.read(tmp_path / "log.csv", **told)
    disk = us.read(tmp_path / "log.csv", **told, on_disk=tmp_path / "disk")
    for log in (memory, disk, us.read(tmp_path / "disk")):
        assert log.dropped_reward.tolist() == [2.0, 8.0]
        assert log.select([1]).dropped_reward.tolist() == [8.0]
    assert memory.fingerprint == disk.fingerprint
