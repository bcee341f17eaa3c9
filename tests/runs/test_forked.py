"""Forked workers: each block goes to one, what dies is replaced, and nobody is left."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

from understudy.runs import forked
from understudy.runs.deaths import WorkersDied
from understudy.runs.fork_server import END
from understudy.runs.forked import ForkServer, in_forked_workers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked there")


def made(task, n, workers=2):
    return in_forked_workers({place: (place,) for place in range(n)}, workers, cloudpickle.dumps(task), [], print)


def is_running(process):
    """True if there is a process of this number that has not ended."""
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_all_workers_share_one_parent_that_has_loaded_what_they_need():
    class Task:
        def __setstate__(self, state):
            self.loaded_in = os.getpid()

        def __reduce__(self):
            return Task, (), {"some": "state"}

        def __call__(self, block, wanted):
            time.sleep(0.2)
            return self.loaded_in, os.getppid(), os.getpid(), random.random(), np.random.random()  # noqa: NPY002

    found = list(dict(made(Task(), 4)).values())
    assert {loaded for loaded, *_ in found} == {parent for _, parent, *_ in found}
    assert len({parent for _, parent, *_ in found}) == 1
    assert found[0][1] != os.getpid()
    assert len({worker for _, _, worker, *_ in found}) == 2
    assert len({number for *_, number, _ in found}) == len({number for *_, number in found}) == 4  # drawn anew in each
    assert not any(map(is_running, {process for one in found for process in one[:3]} - {os.getpid()}))


def test_one_death_takes_one_block_and_the_others_go_on():
    def task(block, wanted):
        if block == (1,):
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    results = made(task, 30)
    finished = {}
    with pytest.raises(WorkersDied, match="SIGKILL") as caught:
        finished.update(finished.update([pair]) or pair for pair in results)
    assert caught.value.places == {1}
    assert set(finished) == set(range(30)) - {1}


def test_where_the_process_that_forks_dies_all_that_was_under_way_is_named():
    def task(block, wanted):
        if block == (0,):
            os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(30)
        return block

    began = time.monotonic()
    with pytest.raises(WorkersDied) as caught:
        list(made(task, 5))
    assert 0 in caught.value.places <= {0, 1}  # the other worker may not have been there yet
    assert time.monotonic() - began < 25


def test_what_cannot_be_loaded_because_the_process_dies_is_told():
    class Deadly:
        def __reduce__(self):
            return os._exit, (7,)

    with pytest.raises(WorkersDied, match=r"EXIT\(7\)") as caught:
        list(made(Deadly(), 1))
    assert caught.value.places == set()


def test_the_error_of_a_worker_has_its_traceback_there():
    def task(block, wanted):
        return 1 / block[0]

    with pytest.raises(ZeroDivisionError) as caught:
        list(made(task, 1))
    assert "return 1 / block[0]" in str(caught.value.__cause__)


def test_closing_ends_the_process_that_forks():
    server = ForkServer(cloudpickle.dumps(print), [])
    pipe, worker = server.fork()
    assert is_running(worker)
    server.close()
    pipe.close()
    assert not is_running(worker)


@pytest.mark.parametrize("how", [os.fork, lambda: os.system("sleep 60 &")])
def test_a_death_is_seen_though_processes_that_the_worker_started_live_on(how):
    def task(block, wanted):
        if how() == 0 and how is os.fork:
            time.sleep(60)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)

    began = time.monotonic()
    with pytest.raises(WorkersDied, match="SIGKILL"):
        list(made(task, 1))
    assert time.monotonic() - began < 50


def test_an_alarm_of_somebody_ends_the_runs(monkeypatch):
    def ring(*_):
        raise TimeoutError("too late")

    def load():
        time.sleep(60)

    class Slow:
        def __reduce__(self):
            return load, ()

    monkeypatch.setattr(forked, "SECONDS_TO_END", 0.5)
    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(5)
    try:
        with pytest.raises(TimeoutError, match="too late"):
            list(made(Slow(), 1))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_entries_of_the_path_that_are_no_texts_are_left_out(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, Path("somewhere")])
    assert dict(made(lambda block, wanted: block, 1)) == {0: (0,)}


DRIVER = """
import os, time
import numpy as np
from understudy.runs.processes import in_processes

large = np.ones(1 << 18)

def task(block, wanted):
    print(os.getppid(), os.getpid(), flush=True)
    time.sleep(60)
    return large.sum()

list(in_processes(task, [(0,)], 1))
"""


def test_where_the_experiment_is_killed_its_workers_end_and_its_files_go(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER], env={**os.environ, "TMPDIR": str(tmp_path)}, text=True, stdout=subprocess.PIPE
    ) as driver:
        processes = list(map(int, driver.stdout.readline().split()))
        assert all(map(is_running, processes))
        assert list(tmp_path.glob("*/*.array"))
        driver.kill()
    until = time.monotonic() + 20
    while time.monotonic() < until and (any(map(is_running, processes)) or os.listdir(tmp_path)):
        time.sleep(0.05)
    assert not any(map(is_running, processes))
    assert os.listdir(tmp_path) == []


PIPE_CLOSED_FIRST = """
import os, socket, subprocess, sys, time

ours, theirs = socket.socketpair()
call = f"serve({theirs.fileno()}, {os.getpid()}, [{sys.argv[1]!r}])"
script = f"from understudy.runs.fork_server import serve; {call}"
server = subprocess.Popen([sys.executable, "-c", script], pass_fds=[theirs.fileno()])
time.sleep(float(sys.argv[2]))
ours.close()
time.sleep(1.0)
"""


def test_files_go_though_the_system_closes_the_pipes_of_a_killed_process_before_it_is_gone(tmp_path):
    (tmp_path / "held").mkdir()
    subprocess.run([sys.executable, "-c", PIPE_CLOSED_FIRST, str(tmp_path / "held"), "3"], check=True)
    until = time.monotonic() + 20
    while time.monotonic() < until and os.listdir(tmp_path):
        time.sleep(0.05)
    assert os.listdir(tmp_path) == []


def test_where_the_end_is_asked_for_files_stay_with_the_process_that_made_them(tmp_path):
    ours, theirs = socket.socketpair()
    call = f"serve({theirs.fileno()}, -1, [{str(tmp_path)!r}])"  # -1: the process that made them is gone
    script = f"from understudy.runs.fork_server import serve; {call}"
    with theirs:
        server = subprocess.Popen([sys.executable, "-c", script], pass_fds=[theirs.fileno()])
    with Connection(ours.detach()) as control:
        control.send_bytes(cloudpickle.dumps(print))
        control.send((END,))
        server.wait(60)
    assert tmp_path.exists()
