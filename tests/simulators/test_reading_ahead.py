import gc
import os
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import understudy as us
from understudy.contracts.streams import streams_of
from understudy.envs import Grid
from understudy.learners import Uniform
from understudy.simulators import psrs, qbe, reading_ahead
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.tape import entry_at
from understudy.simulators.reading_ahead import draw


@pytest.fixture
def log(tmp_path):
    us.write(us.record(Grid(), episodes=700, seed=0), tmp_path / "log.parquet")
    return us.read(tmp_path / "log.parquet", on_disk=tmp_path / "log")


def wait_for(condition):
    until = time.monotonic() + 20
    while not condition() and time.monotonic() < until:
        time.sleep(0.005)
    assert condition()


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "reading ahead"]


@pytest.mark.parametrize("order", ["episodes", "rows"])
def test_the_order_that_is_drawn_ahead_is_that_of_the_tape(order, log):
    rehearsal = psrs(log, order=order).start(5)
    tape = rehearsal.source
    drawn = np.zeros(300, np.int64)
    draw(np.zeros(len(tape.order), np.int32), tape.episodes, order == "rows", 0, 300, streams_of(5), drawn)
    while tape.cursor[layout.TAPE_READ] < 300:
        us.simulators.kernels.tape.read_next(tape)
    assert drawn.tolist() == [entry_at(tape.order, position) for position in range(300)]


def test_pages_of_the_next_episodes_are_asked_for_and_no_others(log, monkeypatch):
    asked = []
    monkeypatch.setattr(reading_ahead, "AHEAD", 5)
    monkeypatch.setattr(reading_ahead, "ask", lambda file, width, first, last: asked.append((width, first, last)))
    rehearsal = psrs(log).start(1)
    rehearsal.begin()
    tape = rehearsal.source
    wait_for(lambda: len(asked) >= 2 * (2 * 5) + 5 * 4)
    time.sleep(0.05)
    drawn = np.zeros(50, np.int64)
    draw(np.zeros(len(tape.order), np.int32), tape.episodes, False, 0, 50, streams_of(1), drawn)
    wanted = {tuple(tape.episodes[episode, :2].tolist()) for episode in drawn[: 1 + 5]}
    of_rows = {(first, last) for width, first, last in asked if width in (1, 4, 8)}
    assert of_rows <= wanted
    assert len(of_rows) >= 5
    assert {first for width, first, last in asked if width == 12} <= set(drawn[: 1 + 10].tolist())


def test_the_thread_ends_with_its_rehearsal_and_closes_its_files(log):
    simulator = qbe(log)
    us.simulate(simulator, Uniform(5), 0, 10)
    gc.collect()
    wait_for(lambda: not readers())
    before = len(os.listdir("/proc/self/fd"))
    rehearsal = simulator.start(0)
    assert readers()
    del rehearsal
    gc.collect()
    wait_for(lambda: not readers())
    assert len(os.listdir("/proc/self/fd")) <= before


def test_runs_do_not_depend_on_it(log, monkeypatch):
    runs = [us.simulate(psrs(log), Uniform(5), 3)]
    monkeypatch.setattr(sys.modules["understudy.simulators.replay"], "read_ahead_of", lambda rehearsal, tape: None)
    runs.append(us.simulate(psrs(log), Uniform(5), 3))
    assert np.array_equal(runs[0].rows, runs[1].rows)


def test_a_file_that_is_gone_is_no_error(log, tmp_path):
    simulator = psrs(log)
    for path in (tmp_path / "log").glob("columns-*/reward.array"):
        path.unlink()
    assert len(us.simulate(simulator, Uniform(5), 0, 100)) == 100


def test_maps_are_read_in_order_again_when_no_run_reads_them(log, monkeypatch):
    told = []
    monkeypatch.setattr(reading_ahead, "advise_random", lambda *arrays: told.append("random"))
    monkeypatch.setattr(reading_ahead, "advise_in_order", lambda *arrays: told.append(("in order", len(arrays))))
    simulator = psrs(log)
    one, other = simulator.start(0), simulator.start(1)
    del one
    gc.collect()
    del other
    gc.collect()
    assert told[:2] == ["random", "random"]
    assert [entry[1] > 0 for entry in told[2:]] == [False, True]


def test_a_rehearsal_that_is_found_to_be_gone_while_another_begins_does_not_stop_it(monkeypatch):
    class Rehearsal:
        def __init__(self):
            self.itself = self  # only Python's collector finds that it is gone

    first, second = (reading_ahead._Maps([np.zeros(3)]) for _ in range(2))
    first.begin()
    weakref.finalize(Rehearsal(), first.end)
    address = reading_ahead._address
    monkeypatch.setattr(reading_ahead, "_address", lambda array: (gc.collect(), address(array))[1])
    beginning = threading.Thread(target=second.begin, daemon=True)
    beginning.start()
    beginning.join(20)
    assert not beginning.is_alive()
    second.end()
