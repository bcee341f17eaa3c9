"""Objects in pieces: large arrays as buffers, not copied, not blown up, and read-only where they arrive."""

from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.errors import RunError
from understudy.runs.buffers import packed, unpacked

N = 300_000


def frozen(array):
    array.setflags(write=False)
    return array


def test_large_read_only_arrays_are_buffers_of_their_own_memory():
    array = frozen(np.arange(N, dtype=float))
    found = packed({"array": array, "again": array})
    assert len(found.buffers) == 1
    assert np.shares_memory(found.buffers[0], array)
    assert len(found.pickled) < 1000
    back = unpacked(found)
    assert back["array"] is back["again"]
    assert np.shares_memory(back["array"], array)
    assert not back["array"].flags.writeable
    np.testing.assert_array_equal(back["array"], array)


def test_arrays_that_can_be_written_on_and_small_ones_are_copied():
    mine, small = np.zeros(N), frozen(np.arange(5))
    found = packed((mine, small))
    assert found.buffers == ()
    back, back_small = unpacked(found)
    back[0] = 1.0
    assert mine[0] == 0.0
    assert not back_small.flags.writeable


@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize("shape", ["strided", "columns", "a memory map"])
def test_arrays_that_are_not_in_one_piece_travel_whole(shape, writeable, tmp_path):
    if shape == "a memory map":
        np.save(tmp_path / "array.npy", np.arange(float(N)))
        array = np.load(tmp_path / "array.npy", mmap_mode="c")
    else:
        array = np.arange(2.0 * N)[::2] if shape == "strided" else np.asfortranarray(np.arange(2.0 * N).reshape(N, 2))
    array.setflags(write=writeable)
    found = packed(array)
    assert sum(buffer.nbytes for buffer in found.buffers) == (0 if writeable else array.nbytes)
    back = unpacked(found)
    np.testing.assert_array_equal(back, array)
    assert back.flags.writeable == writeable


def test_rows_that_are_one_in_memory_stay_one():
    uniform = np.broadcast_to(np.full(4, 0.25), (N, 4))
    found = packed(uniform)
    assert len(found.pickled) + sum(buffer.nbytes for buffer in found.buffers) < 1000
    back = unpacked(found)
    assert back.strides == (0, 8)
    np.testing.assert_array_equal(back, uniform)


def test_a_simulator_is_in_its_buffers_and_gives_the_same_run():
    log = us.record(us.envs.Grid(5), episodes=400, seed=0)
    simulator = us.psrs(log)
    found = packed(simulator)
    of_arrays = sum(array.nbytes for array in [*log.columns.values(), simulator.index.records, simulator.queue_of])
    assert sum(buffer.nbytes for buffer in found.buffers) > 0.95 * of_arrays
    assert len(found.pickled) < 200_000
    ours, theirs = (
        us.simulate(one, us.learners.QLearning(25, 5, epsilon=0.9, seed=0), 3, 2000)
        for one in (simulator, unpacked(found))
    )
    np.testing.assert_array_equal(ours.rows, theirs.rows)


def test_another_version_is_refused():
    with pytest.raises(RunError, match=r"the experiment was started by 0\.0\.0; install the same version"):
        unpacked(replace(packed(3), version="0.0.0"))


def test_what_cannot_be_pickled_is_told_with_advice():
    with pytest.raises(TypeError) as caught:
        packed({"lock": __import__("threading").Lock()})
    assert "make it in the factory" in caught.value.__notes__[0]
