"""Here, in threads or in processes: the same results, as they finish, and nothing left behind."""

import os
import tempfile
import threading
import time
from pathlib import Path

import pytest

from understudy.runs.backends import BACKENDS, in_processes, in_threads, in_turn, n_cores

EVERYWHERE = pytest.mark.parametrize("backend", BACKENDS)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """A temporary folder of our own, so that what is left behind can be seen."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@EVERYWHERE
def test_every_task_is_done_once(backend, scratch):
    results = dict(BACKENDS[backend](lambda number, wanted: (number**2, wanted()), [3, 1, 2], 2))
    assert results == {3: (9, True), 1: (1, True), 2: (4, True)}
    assert os.listdir(scratch) == []


@EVERYWHERE
def test_without_blocks_nothing_is_yielded(backend):
    assert list(BACKENDS[backend](lambda number, wanted: number, [], 1)) == []


def test_results_come_as_they_finish():
    gate = threading.Event()

    def task(number, wanted):
        if number == 0:
            assert gate.wait(10)
        return number

    results = in_threads(task, [0, 1], 2)
    assert next(results) == (1, 1)
    gate.set()
    assert list(results) == [(0, 0)]


@EVERYWHERE
def test_an_error_keeps_its_type_its_message_and_its_notes(backend, scratch):
    class OwnError(Exception):
        pass

    def task(number, wanted):
        if number == 1:
            error = OwnError("mine")
            error.add_note("in run 1")
            raise error
        return number

    with pytest.raises(Exception, match="mine") as caught:
        list(BACKENDS[backend](task, [0, 1], 1))
    assert type(caught.value).__name__ == "OwnError"
    assert caught.value.__notes__ == ["in run 1"]
    assert os.listdir(scratch) == []


@EVERYWHERE
def test_an_error_that_takes_more_than_a_message_keeps_its_type(backend):
    def task(number, wanted):
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    with pytest.raises(UnicodeDecodeError, match="invalid start byte"):
        list(BACKENDS[backend](task, [0], 1))


@EVERYWHERE
def test_an_error_whose_class_cannot_be_made_again_from_its_message_still_tells_it(backend):
    class PickyError(Exception):
        def __init__(self, place, reason):
            super().__init__(f"{reason} at {place}")

    def task(number, wanted):
        raise PickyError(3, "trouble")

    with pytest.raises(Exception, match="trouble at 3"):
        list(BACKENDS[backend](task, [0], 1))


def test_an_error_in_one_thread_calls_the_others_off():
    seen = []

    def task(number, wanted):
        if number == 0:
            raise ValueError("first")
        until = time.monotonic() + 20
        while wanted() and time.monotonic() < until:
            time.sleep(0.005)
        seen.append(wanted())

    began = time.monotonic()
    with pytest.raises(ValueError, match="first"):
        list(in_threads(task, range(6), 2))
    assert time.monotonic() - began < 10
    assert set(seen) <= {False}
    assert len(seen) <= 2


@pytest.mark.parametrize("backend", ["threads", "processes"])
def test_who_stops_listening_calls_the_rest_off(backend, scratch):
    began = time.monotonic()

    def task(number, wanted):
        until = time.monotonic() + 30 * (number > 0)
        while wanted() and time.monotonic() < until:
            time.sleep(0.005)
        return number

    results = BACKENDS[backend](task, range(6), 2)
    assert next(results) == (0, 0)
    results.close()
    assert time.monotonic() - began < 20
    assert os.listdir(scratch) == []


def test_in_turn_stays_in_this_thread():
    here = threading.get_ident()
    assert {ident for _, ident in in_turn(lambda number, wanted: threading.get_ident(), [0, 1], 4)} == {here}


def test_processes_are_others():
    assert os.getpid() not in {pid for _, pid in in_processes(lambda number, wanted: os.getpid(), [0], 1)}


def test_no_pickle_is_left_anywhere(scratch, monkeypatch):
    monkeypatch.chdir(scratch)
    list(in_processes(lambda number, wanted: number, [0, 1], 1))
    assert not [path for path in Path(scratch).rglob("*") if path.is_file()]


def test_there_is_at_least_one_core():
    assert 1 <= n_cores() <= os.cpu_count()
