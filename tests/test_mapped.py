import os
import resource
import subprocess
import sys

import numpy as np
import pytest

from understudy import mapped
from understudy.mapped import (
    ArrayRoom,
    blocks,
    file_below,
    give_back,
    is_mapped,
    made_in,
    new_array,
    new_zeros,
    open_array,
    reserved,
    resident_of_files,
    room_in_use,
)


def test_reserved_memory_is_zeros_and_is_taken_where_it_is_touched():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    array = reserved(2**36, np.int64)  # half a TiB
    assert array[0] == array[2**35] == array[-1] == 0
    array[2**35] = 7
    assert array[2**35] == 7
    assert array[2**35 + 1] == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_small_reserved_arrays_are_plain_zeros():
    assert reserved(3, np.int32).tolist() == [0, 0, 0]
    assert reserved(0, np.int32).shape == (0,)


def test_blocks_cover_all_rows_once():
    for n in (0, 1, 6, 7, 8, 20):
        assert [row for rows in blocks(n, 7) for row in range(rows.start, rows.stop)] == list(range(n))


def test_the_file_of_an_array_is_removed_with_the_last_view_of_it(tmp_path):
    room = ArrayRoom(tmp_path / "room")
    array = room.empty((4, 2), np.float64)
    assert array.shape == (4, 2)
    assert not array.any()
    view = array[1:]
    view[:] = 3
    assert file_below(view) == file_below(array)
    assert is_mapped(view)
    del array
    assert len(list(room.folder.iterdir())) == 1
    del view
    assert list(room.folder.iterdir()) == []
    room.close()
    assert not room.folder.exists()


def test_a_kept_file_stays_and_close_removes_the_others(tmp_path):
    room = ArrayRoom(tmp_path / "room")
    kept, other = room.empty(3, np.int32), room.empty(3, np.int32)
    kept[:] = [1, 2, 3]
    assert room.holds(kept)
    assert not room.holds(kept[1:])
    assert not room.holds(np.zeros(3))
    room.keep(kept, tmp_path / "kept")
    room.close()
    del kept, other
    assert open_array(tmp_path / "kept", np.int32, (3,)).tolist() == [1, 2, 3]
    assert os.listdir(tmp_path) == ["kept"]


def test_given_back_memory_is_read_again_from_the_file(tmp_path):
    room = ArrayRoom(tmp_path / "room")
    array = room.empty(10**6, np.int64)
    array[:] = np.arange(10**6)
    before = resident_of_files()
    give_back(array, np.zeros(3))
    assert resident_of_files() < before - 4 * 10**6
    assert (array == np.arange(10**6)).all()


def test_arrays_are_made_in_the_room_in_use_and_else_in_memory(tmp_path):
    assert room_in_use() is None
    room = ArrayRoom(tmp_path / "room")
    with made_in(room):
        assert room_in_use() is room
        assert is_mapped(new_array(3, np.int8))
        assert new_zeros((2, 2), bool).tolist() == [[False, False], [False, False]]
    assert not is_mapped(new_array(3, np.int8))
    assert not new_zeros(3, np.int8).any()


def test_what_is_resident_is_given_back_while_arrays_are_made(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "MOST_RESIDENT", 0)
    monkeypatch.setattr(mapped, "PAUSE", 0.001)
    room = ArrayRoom(tmp_path / "room")
    with made_in(room):
        array = new_array(200_000, np.int64)
        for rows in blocks(len(array), 1000):
            array[rows] = np.arange(rows.start, rows.stop)
    assert (array == np.arange(200_000)).all()


def test_a_file_of_another_size_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    with pytest.raises(ValueError, match="size"):
        open_array(tmp_path / "a", np.int32, (1,))
    assert open_array(tmp_path / "a", np.int8, (5,)).tolist() == [49, 50, 51, 52, 53]


FULL = """
import resource, sys, numpy as np
from pathlib import Path
from understudy.mapped import ArrayRoom
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
room = ArrayRoom(Path(sys.argv[1]) / "room")
try:
    room.empty(10_000, np.int64)
except OSError as error:
    print("refused", list(room.folder.iterdir()))
"""


def test_a_disk_without_room_is_met_when_an_array_is_made_and_not_when_it_is_written(tmp_path):
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout == "refused []\n", done.stderr
