"""Where forking is not safe, workers load what runs need one by one, and the rest is the same."""

import os
import sys
import threading

import pytest

from understudy.errors import RunError
from understudy.runs import forked, processes
from understudy.runs.loky_workers import in_loky_workers
from understudy.runs.processes import in_processes

pytestmark = pytest.mark.filterwarnings("ignore:A worker stopped")


@pytest.fixture
def without_forks(monkeypatch):
    monkeypatch.setattr(processes, "can_try_forking", lambda: False)


def test_what_a_dead_worker_was_at_is_made_again(without_forks, tmp_path):
    tried = tmp_path / "tried"

    def task(block, wanted):
        if block == (1,) and not tried.exists():
            tried.touch()
            os._exit(3)
        return block[0], os.getppid()

    results = dict(in_processes(task, [(number,) for number in range(3)], 2))
    assert {block: number for block, (number, _) in results.items()} == {(0,): 0, (1,): 1, (2,): 2}
    assert {parent for _, parent in results.values()} == {os.getpid()}  # and not of a process that forks


@pytest.mark.slow
def test_a_block_that_always_kills_is_named(without_forks):
    def task(block, wanted):
        os._exit(3)

    with pytest.raises(RunError, match=r"\(0,\) could not be made: .* died 3 times \(exit .*3"):
        list(in_processes(task, [(0,)], 1))


class StartsThread:
    """What starts a thread when it is received, which a fork would lose."""

    def __setstate__(self, state):
        threading.Thread(target=threading.Event().wait, daemon=True).start()

    def __reduce__(self):
        return StartsThread, (), {"some": "state"}

    def __call__(self, block, wanted):
        return os.getppid()


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked there")
def test_what_starts_threads_is_not_forked():
    with pytest.raises(forked.CannotFork):
        processes.in_forked_workers(
            {0: (0,)}, 1, processes.pickled_for_workers(StartsThread())[0], [], print
        ).__next__()
    assert dict(in_processes(StartsThread(), [(0,)], 1)) == {(0,): os.getpid()}


def test_without_work_no_worker_is_started():
    results = in_loky_workers({0: (0,)}, 1, b"", [])
    results.close()
    assert results.gi_frame is None
