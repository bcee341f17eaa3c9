"""A process that dies takes nothing with it: its runs are tried again, and named where that does not help."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from understudy.errors import RunError
from understudy.runs.processes import RETRIES, in_processes

pytestmark = pytest.mark.filterwarnings("ignore:A worker stopped")


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """A temporary folder of our own, so that what is left behind can be seen."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path


def begun_each(folder, block):
    """Note that a block was begun, and return how often it has been."""
    begun = Path(folder, f"block {block[0]}")
    with begun.open("a") as file:
        file.write("x")
    return len(begun.read_text())


@pytest.mark.parametrize("how", [lambda: os._exit(3), lambda: os.kill(os.getpid(), signal.SIGKILL)])
def test_what_a_dead_worker_was_at_is_made_again_and_nothing_is_yielded_twice(scratch, how):
    folder = str(scratch)

    def task(block, wanted):
        if block == (2,) and begun_each(folder, block) == 1:
            how()
        return [number**2 for number in block]

    results = list(in_processes(task, [(number,) for number in range(6)], 2))
    assert sorted(results) == [((number,), [number**2]) for number in range(6)]
    assert os.listdir(scratch / "temporary") == []


def test_a_block_that_always_kills_is_tried_three_times_and_named_when_the_others_are_finished(scratch):
    folder = str(scratch)

    def task(block, wanted):
        begun_each(folder, block)
        if block == (1,):
            os.kill(os.getpid(), signal.SIGKILL)
        return block[0]

    finished = []
    with pytest.raises(RunError, match=r"\(1,\) could not be made: .* died 3 times \(exit SIGKILL\(-9\)\)"):
        finished += [
            finished.append(block) or block for block, _ in in_processes(task, [(number,) for number in range(5)], 2)
        ]
    assert sorted(finished) == [(0,), (2,), (3,), (4,)]
    assert len((scratch / "block 1").read_text()) == 1 + RETRIES
    assert os.listdir(scratch / "temporary") == []


@pytest.mark.slow
def test_two_blocks_that_always_kill_are_both_given_up_and_the_others_made(scratch):
    class Task:
        def __call__(self, block, wanted):
            if block[0] in (0, 3):
                os._exit(1)
            return block[0]

        def give_up(self, block, reason):
            return f"given up: {reason}"

    results = dict(in_processes(Task(), [(number,) for number in range(6)], 3))
    assert {block for block, found in results.items() if str(found).startswith("given up")} == {(0,), (3,)}
    assert [results[number,] for number in (1, 2, 4, 5)] == [1, 2, 4, 5]


def test_what_cannot_be_received_is_that_error_and_no_dead_worker(scratch):
    class Picky:
        def __init__(self):
            self.here = os.getpid()

        def __setstate__(self, state):
            raise ModuleNotFoundError("No module named 'mine'")

        def __call__(self, block, wanted):
            return block

    with pytest.raises(ModuleNotFoundError, match="mine") as caught:
        list(in_processes(Picky(), [(0,), (1,)], 1))
    assert "worker process received" in caught.value.__notes__[0]


SCRIPT = """
import sys, time
from understudy.runs.processes import in_processes

def task(block, wanted):
    sys.stdout.write("begun\\n")  # whole: print may write the line and its end apart, and two workers mix them
    sys.stdout.flush()
    time.sleep(0 if block == (0,) else 60)
    return block

results = in_processes(task, [(number,) for number in range(40)], 2)
try:
    next(results)
    if sys.argv[1] == "close":
        results.close()
    else:
        list(results)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print("over", flush=True)
"""


@pytest.mark.parametrize("how", ["close", "interrupt", "interrupt of the group"])
def test_cancelling_prints_nothing_and_is_quick(how):
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, how], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as child:  # fmt: skip
        assert [child.stdout.readline() for _ in range(1 if how == "close" else 3)][-1] == "begun\n"
        began = time.monotonic()
        if how == "interrupt":
            child.send_signal(signal.SIGINT)
        elif how != "close":
            os.killpg(child.pid, signal.SIGINT)  # as a terminal sends it: to workers, too
        out, err = child.communicate(timeout=120)
    assert time.monotonic() - began < 30
    assert err == ""
    assert child.returncode == 0
    assert ("interrupted" in out) == (how != "close")
    assert out.endswith("over\n")
