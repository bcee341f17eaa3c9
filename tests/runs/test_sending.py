"""Large arrays reach workers as memory maps, all else by the pipe, and nothing is left behind."""

import glob
import os
import tempfile
import threading

import cloudpickle
import numpy as np
import pytest

from understudy.runs import array_files
from understudy.runs.processes import in_processes
from understudy.runs.sending import LARGE, pickled_for_workers


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """A temporary folder of our own, so that what is left behind can be seen."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(array_files, "FILES", array_files.ArrayFiles())
    return tmp_path


def test_large_arrays_travel_as_memory_maps(scratch):
    large = np.arange(LARGE // 8, dtype=np.float64)
    turned = np.asfortranarray(np.arange(LARGE // 4, dtype=np.float64).reshape(2, -1))
    readonly = np.ones(LARGE // 4, dtype=np.int64)
    readonly.setflags(write=False)
    records = np.zeros(LARGE // 8, dtype=[("a", np.int32), ("b", np.float32)])
    folder = str(scratch)

    def task(number, wanted):
        large[0] += 1.0  # a worker may write, and nobody else sees it
        mapped = isinstance(large.base, np.memmap) and large.base.filename is not None
        return {
            "mapped": mapped,
            "sum": large.sum(),
            "same": bool((turned.ravel() == np.arange(turned.size)).all()) and turned.flags.f_contiguous,
            "writable": (large.flags.writeable, readonly.flags.writeable),
            "records": records.dtype.names,
            "files": sorted(os.path.basename(path) for path in glob.glob(f"{folder}/*/*.array")),
        }

    for _, told in in_processes(task, [0, 1], 1):
        assert told["mapped"]
        assert told["same"]
        assert told["writable"] == (True, False)
        assert told["records"] == ("a", "b")
        assert len(told["files"]) == 4
        assert all(name.endswith(".array") for name in told["files"])
    assert large[0] == 0.0
    assert [name.startswith("understudy-arrays-") for name in os.listdir(scratch)] == [True]  # goes with the arrays


def test_small_arrays_objects_and_repeated_numbers_travel_by_the_pipe(scratch):
    small, repeated = np.arange(10), np.broadcast_to(np.int64(3), LARGE)
    objects, folder = np.array([None, "text"], dtype=object), str(scratch)

    def task(number, wanted):
        return small.sum(), int(repeated.sum()), objects[1], glob.glob(f"{folder}/*/*.array")

    assert dict(in_processes(task, [0], 1)) == {0: (45, 3 * LARGE, "text", [])}


def test_the_same_array_is_written_once(scratch):
    large, folder = np.zeros(LARGE), str(scratch)
    also = {"again": large}

    def task(number, wanted):
        return also["again"] is large, len(glob.glob(f"{folder}/*/*.array"))

    assert dict(in_processes(task, [0], 1)) == {0: (True, 1)}


def test_what_cannot_travel_is_an_error_that_names_another_backend(scratch):
    lock = threading.Lock()
    with pytest.raises(TypeError) as caught:
        list(in_processes(lambda number, wanted: lock.locked(), [0], 1))
    assert "backend=" in " ".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert os.listdir(scratch) == []


def test_what_is_not_contiguous_is_sent_as_a_copy_that_is_gone_when_it_is_let_go(scratch):
    every_other = np.arange(LARGE // 2, dtype=np.float64)[::2]
    pickled, kept = pickled_for_workers({"array": every_other})
    assert len(pickled) < 1000
    assert np.array_equal(cloudpickle.loads(pickled)["array"], every_other)
    kept.clear()
    assert os.listdir(scratch) == []


def test_rows_that_are_one_in_memory_are_sent_as_one():
    uniform = np.broadcast_to(np.full(4, 0.25), (1_000_000, 4))
    pickled, _ = pickled_for_workers(uniform)
    assert len(pickled) < 1000
    back = cloudpickle.loads(pickled)
    assert back.strides == (0, 8)
    assert np.array_equal(back[::1000], uniform[::1000])
