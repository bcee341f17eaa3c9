import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from understudy.mapped import ArrayRoom, file_below
from understudy.stored_arrays import (
    Manifest,
    in_scratch,
    locked,
    made_beside,
    opened_arrays,
    read_manifest,
    remembered,
    remove_others,
    store_arrays,
    write_manifest,
)

KIND = "thing"
RECORD = np.dtype([("row", np.int32), ("value", np.float64)])


@pytest.fixture
def kept(tmp_path):
    """Arrays of each form, in a folder with a manifest."""
    room = ArrayRoom(tmp_path / ".making-1")
    made = room.empty(5, np.int32)
    made[:] = range(5)
    arrays = {
        "made": made, "plain": np.arange(6.0).reshape(3, 2), "repeated": np.broadcast_to(np.array([0.5, 0.5]), (4, 2)),
        "flags": np.array([True, False]), "records": np.zeros(2, RECORD), "none": np.empty((0, 3), np.int64),
    }  # fmt: skip
    told = store_arrays(tmp_path / "arrays-1", arrays, room)
    room.close()
    write_manifest(tmp_path / "thing.json", Manifest(KIND, "arrays-1", told, {"rows": 5}))
    return tmp_path


def opened(folder):
    return opened_arrays(folder, read_manifest(folder / "thing.json", KIND))


def test_arrays_come_back_with_their_values_types_and_strides(kept):
    arrays = opened(kept)
    assert arrays["made"].tolist() == [0, 1, 2, 3, 4]
    assert arrays["plain"].tolist() == [[0, 1], [2, 3], [4, 5]]
    assert arrays["repeated"].tolist() == [[0.5, 0.5]] * 4
    assert arrays["repeated"].strides[0] == 0
    assert arrays["flags"].tolist() == [True, False]
    assert arrays["records"].dtype == RECORD
    assert arrays["none"].shape == (0, 3)
    assert file_below(arrays["made"]) == kept / "arrays-1" / "made.array"
    assert not any(array.flags.writeable for name, array in arrays.items() if name != "none")
    assert sorted(os.listdir(kept)) == ["arrays-1", "thing.json"]


def test_a_changed_file_is_refused_and_a_copy_is_not(kept):
    path = kept / "arrays-1" / "made.array"
    os.utime(path, ns=(1, 1))
    assert opened(kept)["made"].tolist() == [0, 1, 2, 3, 4]
    path.write_bytes(np.array([0, 1, 2, 3, 5], np.int32).tobytes())
    with pytest.raises(ValueError, match="changed"):
        opened(kept)
    path.write_bytes(b"123")
    with pytest.raises(ValueError, match="size"):
        opened(kept)
    path.unlink()
    with pytest.raises(OSError, match="made"):
        opened(kept)


def forged(change):
    """Return a function that changes a manifest, and gives it the digest that fits."""

    def forge(known):
        change(known)
        known["digest"] = Manifest(known["kind"], known["folder"], known["arrays"], known["facts"]).digest
        return known

    return forge


@pytest.mark.parametrize(
    "change",
    [
        lambda known: "[" * 100,
        lambda known: [],
        lambda known: None,
        lambda known: {},
        lambda known: known | {"kind": "other"},
        lambda known: known | {"version": 99},
        lambda known: known | {"facts": {"rows": 6}},
        lambda known: known | {"digest": "00"},
        forged(lambda known: known.update(folder="../elsewhere")),
        forged(lambda known: known.update(folder="..")),
        forged(lambda known: known["arrays"]["made"].update(shape=[-1])),
        forged(lambda known: known["arrays"]["made"].update(shape=[2**62])),
        forged(lambda known: known["arrays"]["made"].update(shape=[])),
        forged(lambda known: known["arrays"]["made"].update(shape="5")),
        forged(lambda known: known["arrays"]["made"].update(dtype="|O")),
        forged(lambda known: known["arrays"]["made"].update(dtype=[["a", "|O8"]])),
        forged(lambda known: known["arrays"]["made"].update(dtype="__import__('os')")),
        forged(lambda known: known["arrays"].update({"../made": known["arrays"]["made"]})),
        forged(lambda known: known["arrays"].update(made=None)),
        forged(lambda known: known["arrays"]["made"].pop("dtype")),
    ],
)
def test_a_damaged_or_forged_manifest_is_refused(kept, change):
    path = kept / "thing.json"
    changed = change(json.loads(path.read_text()))
    path.write_text(changed if isinstance(changed, str) else json.dumps(changed))
    with pytest.raises((ValueError, KeyError, OSError)):
        opened(kept)


def test_a_text_is_made_once_for_each_thing(tmp_path):
    made = []

    def make():
        made.append(1)
        return f"text {len(made)}"

    path = tmp_path / "text.json"
    assert remembered(path, "a", make) == remembered(path, "a", make) == "text 1"
    assert remembered(path, "b", make) == "text 2"
    path.write_text('{"of": "b"}')
    assert remembered(path, "b", make) == "text 3"


def test_others_are_removed(tmp_path):
    for name in ("columns-a", "columns-b", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "columns-c.json").touch()
    remove_others(tmp_path, "columns-", "columns-b")
    assert sorted(os.listdir(tmp_path)) == ["columns-b", "other"]


HOLDS = """
import sys, time
from pathlib import Path
from understudy.stored_arrays import locked
with locked(Path(sys.argv[1])):
    (Path(sys.argv[1]) / ".making-x").mkdir()
    print("locked", flush=True)
    time.sleep(60)
"""


def test_a_lock_is_gone_with_the_process_that_held_it_and_what_it_left_is_removed(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"locked\n"
        holder.send_signal(signal.SIGKILL)
    begun = time.monotonic()
    with locked(tmp_path):
        assert os.listdir(tmp_path) == [".lock"]
    assert time.monotonic() - begun < 30


SCRATCH = """
import os, signal, sys
from pathlib import Path
import numpy as np
from understudy.mapped import new_array, open_array
from understudy.stored_arrays import made_beside
column = open_array(Path(sys.argv[1]), np.int32, (5,))
with made_beside(column):
    kept = new_array(3, np.int64)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_scratch_files_are_gone_with_their_process_even_where_it_was_killed(tmp_path):
    (tmp_path / "columns-1").mkdir()
    path = tmp_path / "columns-1" / "made.array"
    path.write_bytes(np.arange(5, dtype=np.int32).tobytes())
    subprocess.run([sys.executable, "-c", SCRATCH, str(path), "killed"], check=False)
    assert len(list(tmp_path.glob(".scratch-*"))) == 2
    subprocess.run([sys.executable, "-c", SCRATCH, str(path), "ends"], check=True)
    assert os.listdir(tmp_path) == ["columns-1"]


def test_of_columns_in_memory_nothing_is_made_on_disk():
    from understudy.mapped import is_mapped, new_array

    column = np.zeros(3)
    with made_beside(column):
        assert not is_mapped(new_array(3, np.int64))
    assert not in_scratch(column)
