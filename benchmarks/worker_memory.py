"""The memory of an experiment in processes: that of the driver and of its workers, by the number of workers.

python -m benchmarks.worker_memory [--rows 1000000] [--workers 1 8] [--steps 20000]

Memory is the proportional set size (PSS) of the driver and of all processes that it has started: pages that several of
them share count once. It is sampled ten times a second while runs are made, and the largest sum counts. A run's own
queues, in which the rows of the log are dealt, are measured by themselves: each worker needs them. Linux only.
"""

import argparse
import gc
import os
import subprocess
import sys
import time
from pathlib import Path

import understudy as us
from benchmarks.__main__ import make, recorded


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that they have."""
    try:
        found = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return found + [one for child in found for one in children_of(child)]


def mebibytes(pid: int) -> dict[str, float]:
    """Return the PSS of a process, and what of it is its own alone, in MiB; zeros where it is gone."""
    found = {"Pss": 0.0, "Private_Dirty": 0.0, "Private_Clean": 0.0}
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return found
    for line in lines:
        name, value = line.split(":")
        if name in found:
            found[name] = int(value.split()[0]) / 1024
    return found


def drive(rows: int, steps: int | None, workers: int, runs: int) -> None:
    """Make runs in processes, of a loop in Python, for which processes are made: what is measured."""
    _, log = recorded(rows)
    us.experiment(
        us.psrs(log), make, runs=runs, max_steps=steps, compiled=False, backend="processes", workers=workers,
        keep_rows=False, progress=False,
    )  # fmt: skip


def print_queues(rows: int, steps: int | None) -> None:
    """Print what the queues of one run take, in MiB: what a second run of the same process adds, with queues anew."""
    simulator = us.psrs(recorded(rows)[1])
    for _ in range(2):
        simulator._spare_workspaces.clear()
        gc.collect()
        before = mebibytes(os.getpid())["Private_Dirty"]
        us.simulate(simulator, make(0), 0, steps, compiled=False, keep_rows=False)
        gc.collect()
        after = mebibytes(os.getpid())["Private_Dirty"]
    print(after - before)


def measure(given: list[str], workers: int) -> tuple[float, float, float]:
    """Return the largest sum of the PSS of driver and workers, that of the driver then, and the mean of a worker's own.

    Each worker has two runs.
    """
    driven = [sys.executable, "-m", "benchmarks.worker_memory", "--drive", *given, "--workers", str(workers)]
    best = (0.0, 0.0, 0.0)
    with subprocess.Popen(driven) as driver:
        while driver.poll() is None:
            pids = children_of(driver.pid)
            found = [mebibytes(pid) for pid in (driver.pid, *pids)]
            own = sorted((one["Private_Dirty"] + one["Private_Clean"] for one in found[1:]), reverse=True)[:workers]
            best = max(best, (sum(one["Pss"] for one in found), found[0]["Pss"], sum(own) / workers))
            time.sleep(0.1)
    return best


def main() -> None:
    """Print a line for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--steps", type=int, default=20_000, help="of each run; 0 for as many as the log has")
    parser.add_argument("--drive", action="store_true", help="make the runs that another process measures")
    parser.add_argument("--queues", action="store_true", help="measure the queues of one run")
    options = parser.parse_args()
    rows, steps = options.rows, options.steps or None
    if options.drive:
        drive(rows, steps, options.workers[0], 2 * options.workers[0])
        return
    if options.queues:
        print_queues(rows, steps)
        return
    given = ["--rows", str(rows), "--steps", str(options.steps)]
    asked = [sys.executable, "-m", "benchmarks.worker_memory", "--queues", *given]
    queues = float(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
    print(f"queues of a run: {queues:,.1f} MiB")
    first = None
    for workers in options.workers:
        total, driver, own = measure(given, workers)
        apart = total - workers * queues
        first = first or (total, apart)
        print(f"{workers:3} workers: {total:7,.0f} MiB in all ({total / first[0]:.2f} times), without queues "
              f"{apart:7,.0f} ({apart / first[1]:.2f} times), driver {driver:7,.0f}, of a worker alone {own:7,.1f}",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
