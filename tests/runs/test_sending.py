"""Large arrays reach workers as memory maps, all else by the pipe, and nothing is left behind."""

import gc
import glob
import os
import tempfile
import threading
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

from understudy.envs import Grid, record
from understudy.learners import QLearning, Uniform
from understudy.runs import array_files, sending
from understudy.runs.plan import Plan
from understudy.runs.processes import in_processes
from understudy.runs.sending import LARGE, pickled_for_workers
from understudy.simulators import psrs


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
    assert [name.startswith("understudy-held-") for name in os.listdir(scratch)] == [True]  # goes with the arrays


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


def test_what_is_not_contiguous_is_sent_as_a_copy_that_goes_with_it(scratch):
    every_other = np.arange(LARGE // 2, dtype=np.float64)[::2]
    pickled, held = pickled_for_workers({"array": every_other})
    assert len(pickled) < 1000
    assert np.array_equal(cloudpickle.loads(pickled)["array"], every_other)
    del every_other, held
    gc.collect()
    assert os.listdir(scratch) == []


def test_arrays_that_are_made_for_the_pickle_are_there_when_workers_want_them(scratch):
    class Made:
        """It holds no array: it makes one when it is sent, as tables of others do."""

        def __reduce__(self):
            return sum, ([np.arange(LARGE, dtype=np.float64)],)

    made = Made()
    assert dict(in_processes(lambda block, wanted: float(made[-1]), [(0,)], 1)) == {(0,): LARGE - 1.0}
    gc.collect()
    assert os.listdir(scratch) == []


def test_of_several_experiments_on_one_log_nothing_is_on_disk_twice(scratch, monkeypatch):
    monkeypatch.setattr(sending, "LARGE", 1000)
    log = record(Grid(), episodes=60, seed=0)
    simulator, written = psrs(log), []
    for make in (lambda seed: Uniform(5), lambda seed: QLearning(25, 5, seed=seed)):
        plan = Plan(simulator, make, 0, 10, {}, 10, False)
        sent = cloudpickle.loads(pickled_for_workers(plan)[0])
        assert np.array_equal(sent.simulator.log.observation, log.observation)
        written.append(sorted(glob.glob(f"{scratch}/*/*.array")))
    assert written[0] == written[1]
    contents = [Path(path).read_bytes() for path in written[0]]
    assert len(contents) == len(set(contents))
    assert len(contents) >= 6  # the columns of the log, and its index
    again = cloudpickle.loads(pickled_for_workers(Plan(psrs(log), make, 0, 10, {}, 10, False))[0])
    assert again.seed == 0
    assert sorted(glob.glob(f"{scratch}/*/*.array")) == written[0]  # a second index of the same log is the same numbers


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="what is mapped from where is known on Linux only")
def test_a_column_that_is_mapped_from_a_file_is_sent_by_its_path(scratch, tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "column.npy"
    np.save(path, np.arange(LARGE, dtype=np.float64))
    column = np.load(path, mmap_mode="r")
    pickled, _ = pickled_for_workers({"column": column})
    assert np.array_equal(cloudpickle.loads(pickled)["column"], column)
    assert os.listdir(scratch) == []


def test_rows_that_are_one_in_memory_are_sent_as_one():
    uniform = np.broadcast_to(np.full(4, 0.25), (1_000_000, 4))
    pickled, _ = pickled_for_workers(uniform)
    assert len(pickled) < 1000
    back = cloudpickle.loads(pickled)
    assert back.strides == (0, 8)
    assert np.array_equal(back[::1000], uniform[::1000])


def test_errors_are_sent_as_they_are_where_they_can_be_and_else_keep_their_words():
    class PickyError(Exception):
        def __init__(self, place, reason):
            super().__init__(f"{reason} at {place}")

    error = KeyError("x")
    assert sending.sendable(error) is error
    picky = PickyError(3, "trouble")
    picky.add_note("in run 3")
    sent = sending.sendable(picky)
    assert type(sent) is RuntimeError
    assert str(sent) == "PickyError: trouble at 3"
    assert sent.__notes__ == ["in run 3"]
