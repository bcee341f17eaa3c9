"""The memory of an experiment in processes: that of the driver and of its workers, by the number of workers.

python -m benchmarks.worker_memory [--rows 1000000] [--workers 1 8] [--steps 20000]

Memory is the proportional set size (PSS) of the driver and of all processes that it has started: pages that several of
them share count once. It is sampled while runs are made, and the largest sum counts. Each worker needs queues of its
own, into which the rows of the log are dealt (up to 32 bytes a row, as far as a run comes); they are told apart by
their size. What else a worker has by itself is what it has written on since it was forked. Linux only.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import understudy as us
from benchmarks.__main__ import make, recorded

QUEUE_BYTES = 32
"""Bytes of a row in a queue."""


class Memory(NamedTuple):
    """The memory of a process in MiB: its share of all pages, its queues, and what else it has by itself."""

    share: float
    queues: float
    own: float


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def memory_of(pid: int, rows: int) -> Memory:
    """Return the memory of a process; zeros where it is gone."""
    share = queues = own = 0.0
    try:
        lines = Path(f"/proc/{pid}/smaps").read_text().splitlines()
    except OSError:
        return Memory(0.0, 0.0, 0.0)
    is_queue = is_array = False
    for line in lines:
        if found := re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \d+ *(.*)", line):
            size, name = int(found[2], 16) - int(found[1], 16), found[3]
            is_queue, is_array = not name and size > 0.9 * QUEUE_BYTES * rows, name.endswith(".array")
        elif line.startswith("Pss:"):
            share += int(line.split()[1]) / 1024
        elif line.startswith("Private_Dirty:") and not is_array:  # a file of arrays that is not yet on disk is shared
            dirty = int(line.split()[1]) / 1024
            queues, own = (queues + dirty, own) if is_queue else (queues, own + dirty)
    return Memory(share, queues, own)


def drive(rows: int, steps: int | None, workers: int) -> None:
    """Make two runs for each worker, of a loop in Python, for which processes are made: what is measured."""
    _, log = recorded(rows)
    us.experiment(
        us.psrs(log), make, runs=2 * workers, max_steps=steps, compiled=False, backend="processes", workers=workers,
        keep_rows=False, progress=False,
    )  # fmt: skip


def measure(rows: int, steps: int, workers: int) -> tuple[float, ...]:
    """Return the largest sum of all processes, and, then, that of queues, of the driver, and a worker's own, in MiB."""
    given = ["--drive", "--rows", str(rows), "--steps", str(steps), "--workers", str(workers)]
    driven = [sys.executable, "-m", "benchmarks.worker_memory", *given]
    best: tuple[float, ...] = (0.0,) * 4
    with subprocess.Popen(driven) as driver:
        while driver.poll() is None:
            servers = children_of(driver.pid)
            forked = [memory_of(pid, rows) for server in servers for pid in children_of(server)]
            here = memory_of(driver.pid, rows).share
            total = here + sum(one.share for one in forked) + sum(memory_of(pid, rows).share for pid in servers)
            queues, own = (sum(one) for one in ([w.queues for w in forked], [w.own for w in forked]))
            best = max(best, (total, queues, here, own / max(1, len(forked))))
            time.sleep(0.05)
    return best


def main() -> None:
    """Print a line for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--steps", type=int, default=20_000, help="of each run; 0 for as many as the log has")
    parser.add_argument("--drive", action="store_true", help="make the runs that another process measures")
    options = parser.parse_args()
    if options.drive:
        drive(options.rows, options.steps or None, options.workers[0])
        return
    first = None
    for workers in options.workers:
        total, queues, driver, own = measure(options.rows, options.steps, workers)
        first = first or (total, total - queues)
        print(f"{workers:3} workers: {total:7,.0f} MiB ({total / first[0]:.2f} times), without queues "
              f"{total - queues:7,.0f} ({(total - queues) / first[1]:.2f} times); queues {queues / workers:6,.1f} a "
              f"worker, else a worker alone {own:5,.1f}, driver {driver:7,.0f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
