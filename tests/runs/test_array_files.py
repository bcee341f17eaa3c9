"""An array is written once for as long as it lives and is not changed, and what is in a file is mapped from there."""

import gc
import os
import resource
import subprocess
import sys
import tempfile

import numpy as np
import pytest

from understudy.errors import RunError
from understudy.runs.array_files import ArrayFiles, place_in_mapped_file


@pytest.fixture
def files(tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return ArrayFiles()


RECORDS = np.zeros(100, dtype=[("a", np.int32), ("b", np.float64)])


@pytest.mark.parametrize(
    "array", [np.arange(1000.0), np.asfortranarray(np.arange(12).reshape(3, 4)), np.array([True, False]), RECORDS,
              np.array(["2020-01-01"], "M8[D]"), np.array(["text", "more"])],
)  # fmt: skip
def test_what_is_mapped_is_what_was_written(files, array):
    found = files.place_of(array).mapped(writeable=True)
    assert np.array_equal(found, array)
    assert (found.dtype, found.flags.f_contiguous) == (array.dtype, array.flags.f_contiguous)
    assert not files.place_of(array).mapped(writeable=False).flags.writeable


def test_an_array_is_written_once_until_it_changes(files):
    array = np.arange(1000.0)
    place = files.place_of(array)
    assert files.place_of(array) is place
    array[500] = -1.0
    changed = files.place_of(array)
    assert changed.path != place.path
    assert changed.mapped(writeable=False)[500] == -1.0


def test_arrays_of_the_same_numbers_share_a_file_until_the_last_of_them_is_gone(files):
    array, other = np.arange(1000.0), np.arange(1000.0)
    place = files.place_of(array)
    assert files.place_of(other) is place
    assert files.place_of(array.view(np.int64)) is not place
    assert files.place_of(array.reshape(2, -1)) is not place
    del array
    gc.collect()
    assert os.path.exists(place.path)
    del other
    gc.collect()
    assert not os.path.exists(place.path)


def test_what_is_not_contiguous_is_written_once_for_as_long_as_it_lives(files):
    strided = np.arange(1000.0)[::2]
    place = files.place_of(strided)
    assert files.place_of(strided) is place
    assert np.array_equal(place.mapped(writeable=False), strided)
    del strided
    gc.collect()
    assert not os.path.exists(place.path)


def test_who_writes_on_a_mapped_array_changes_neither_file_nor_array(files):
    array = np.arange(1000.0)
    place = files.place_of(array)
    place.mapped(writeable=True)[:] = -1.0
    assert np.array_equal(place.mapped(writeable=False), array)
    assert array[1] == 1.0


def test_files_go_with_their_arrays_and_the_folder_with_the_last(files):
    array, other = np.arange(1000.0), np.arange(10.0)
    for one in (array, other):
        files.place_of(one)
    del array, one
    gc.collect()
    assert len(os.listdir(files.folder)) == 1
    folder = files.folder
    del other
    gc.collect()
    assert files.folder is None
    assert not os.path.exists(folder)


def test_a_full_folder_for_temporary_files_is_named_and_nothing_stays(files, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(
            RunError, match=r"cannot write to .*temporary.*: File too large; make room there, set TMPDIR"
        ):
            files.place_of(np.zeros(10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list((tmp_path / "temporary").rglob("*.array"))
    assert files.place_of(np.zeros(10_000)).mapped(writeable=False).sum() == 0


def test_nothing_is_left_when_the_process_ends(tmp_path):
    script = (
        "import numpy as np; from understudy.runs.array_files import FILES; a = np.ones(9); print(FILES.place_of(a))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert str(tmp_path) in done.stdout
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="what is mapped from where is known on Linux only")
def test_what_is_mapped_from_a_file_is_mapped_from_there(files, tmp_path):
    path = tmp_path / "columns.npy"
    np.save(path, np.arange(20_000.0).reshape(2, -1))
    column = np.load(path, mmap_mode="r")[1]
    for array in (column, np.asarray(column), np.asarray(column)[100:].view()):
        place = files.place_of(array)
        assert place.path == str(path)
        assert np.array_equal(place.mapped(writeable=True), array)
    assert files.folder is None


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="what is mapped from where is known on Linux only")
@pytest.mark.parametrize("what", ["replaced", "removed", "copy on write"])
def test_a_file_that_may_be_another_by_now_is_not_used(files, tmp_path, what):
    path = tmp_path / "column.npy"
    np.save(path, np.arange(1000.0))
    column = np.load(path, mmap_mode="c" if what == "copy on write" else "r")
    if what == "replaced":
        np.save(tmp_path / "other.npy", np.zeros(1000))
        os.replace(tmp_path / "other.npy", path)
    elif what == "removed":
        os.remove(path)
    else:
        column[3] = -1.0
    assert place_in_mapped_file(column) is None
    assert np.array_equal(files.place_of(column).mapped(writeable=False), column)
