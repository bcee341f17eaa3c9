"""The process that forks, seen from within: what it loads, what it refuses, and what a worker sends."""

import gc
import os
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Pipe
from pickle import UnpicklingError

import cloudpickle
import pytest

from understudy.runs import fork_server
from understudy.runs.fork_server import can_fork, load, remove_all, work


def test_what_is_loaded_is_loaded_once_and_so_is_what_is_shared():
    class Task:
        loaded = shared = 0

        def __setstate__(self, state):
            Task.loaded += 1

        def __reduce__(self):
            return type(self), (), {"some": "state"}

        def load_shared(self):
            Task.shared += 1

    module = sys.modules[__name__]
    vars(module)["Task"], Task.__qualname__ = Task, "Task"
    loaded = load(cloudpickle.dumps(Task()))
    assert loaded() is loaded()
    del module.Task
    assert type(loaded()).loaded == type(loaded()).shared == 1


def test_an_error_of_loading_is_raised_where_it_is_needed():
    loaded = load(b"not a pickle")
    with pytest.raises(UnpicklingError) as caught:
        loaded()
    assert "worker process received" in caught.value.__notes__[0]


def test_a_worker_sends_runs_and_errors_until_nobody_listens():
    def task(block, wanted):
        if block == (1,):
            raise ValueError("one")
        return (line for line in ()) if block == (2,) else block

    here, there = Pipe()
    for number in range(4):
        here.send((number,))

    def worker():
        with suppress(EOFError):
            work(there, lambda: task)

    thread = threading.Thread(target=worker, daemon=True)
    thread.start()
    found = [cloudpickle.loads(here.recv_bytes()) for _ in range(4)]
    here.close()
    thread.join(10)
    assert not thread.is_alive()
    assert [kind for kind, *_ in found] == ["made", "raised", "raised", "made"]
    assert found[0][1] == (0,)
    assert str(found[1][1]) == "one"
    assert 'raise ValueError("one")' in found[1][2]
    assert "generator" in str(found[2][1])  # runs that cannot be sent are an error of that block


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked there")
def test_a_process_with_threads_cannot_be_forked():
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        assert not can_fork()
    finally:
        gc.unfreeze()
        over.set()
        thread.join()


def test_threads_that_are_about_to_end_are_waited_for(monkeypatch):
    numbers = [2, 2, 1, 1]
    monkeypatch.setattr(fork_server, "n_threads", lambda: numbers.pop(0))
    try:
        assert can_fork()
    finally:
        gc.unfreeze()


def test_folders_of_a_dead_process_are_removed(tmp_path):
    (tmp_path / "arrays").mkdir()
    remove_all([str(tmp_path / "arrays"), str(tmp_path / "gone")])
    assert os.listdir(tmp_path) == []
