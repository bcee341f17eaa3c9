"""Rows in few bits are the rows they were; rows that were not kept say so."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from understudy.errors import UsageError
from understudy.runs import simulate
from understudy.runs.compact import NotKept, Packed
from understudy.simulators import psrs, real


@pytest.mark.parametrize("top", [0, 1, 255, 256, 65_535, 65_536, 2**20 - 1, 2**24, 2**31 - 1])
@pytest.mark.parametrize("least", [-1, 0, 7])
def test_row_numbers_come_back_as_they_were(top, least):
    values = np.random.default_rng(0).integers(least, max(top, least), 1001, endpoint=True).astype(np.int32)
    values[:2] = least, max(top, least)
    again = Packed(values).unpacked()
    np.testing.assert_array_equal(again, values, strict=True)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9])
def test_short_ones_do_too(n):
    values = np.arange(70_000, 70_000 + n, dtype=np.int32)
    packed = Packed(values)
    np.testing.assert_array_equal(packed.unpacked(), values, strict=True)
    assert len(packed) == n


def test_what_is_packed_is_not_changed_by_who_writes_on_it():
    values = np.arange(100_000, dtype=np.int32)
    packed = Packed(values)
    values[:] = 0
    packed.unpacked()[:] = 0
    np.testing.assert_array_equal(packed.unpacked(), np.arange(100_000))


def test_rows_take_the_bits_of_their_range():
    rows = np.random.default_rng(0).permutation(135_000).astype(np.int32)
    assert Packed(rows).nbytes <= 2.26 * len(rows)
    assert Packed(np.full(10**6, -1, np.int32)).nbytes == 0


def test_a_run_gives_int32_arrays_and_holds_less(log, grid, make):
    run = simulate(psrs(log), make(0), 0)
    assert run.rows.dtype == run.openings.dtype == np.int32
    assert vars(run)["rows"].nbytes <= 2 * len(run)
    walked = simulate(real(grid), make(0), 0, 5000)
    assert (walked.rows == -1).all()
    assert len(pickle.dumps(walked)) < 5000 + 16 * len(walked.ends) + 8 * len(walked.returns)


def test_a_run_survives_copies_and_pickles(log, make, assert_same):
    run = simulate(psrs(log), make(0), 0)
    for again in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run), replace(run), type(run)(**vars(run))):
        assert_same(run, again)


@pytest.mark.parametrize(
    "read",
    [
        np.asarray, lambda rows: rows[0], lambda rows: rows == -1, lambda rows: rows >= 0, list, np.unique,
        lambda rows: np.arange(9)[rows], lambda rows: rows.tolist(), np.bincount, lambda rows: 3 in rows,
        lambda rows: rows + 1, lambda rows: rows[::2], lambda rows: rows.dtype, lambda rows: np.concatenate([rows]),
    ],
)  # fmt: skip
def test_rows_that_were_not_kept_say_so_to_whoever_reads_them(read):
    with pytest.raises(UsageError, match=r"rows of this run were not kept.*repeat it"):
        read(NotKept(5))


def test_rows_that_were_not_kept_have_their_number():
    assert len(NotKept(5)) == 5
    assert "5 rows" in repr(NotKept(5))
    assert len(pickle.loads(pickle.dumps(copy.deepcopy(NotKept(5))))) == 5
