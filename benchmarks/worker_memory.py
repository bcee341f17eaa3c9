"""The memory of an experiment in processes: that of the driver and of its workers, by the number of workers.

python -m benchmarks.worker_memory [--rows 1000000] [--workers 1 8]

Memory is the proportional set size (PSS) of the driver and of all processes that it has started: pages that several of
them share count once. It is sampled ten times a second while runs are made, and the largest sum counts. Linux only.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import understudy as us
from benchmarks.__main__ import make, recorded

STEPS = 20_000
"""Steps of each run: a loop in Python, for which processes are made."""


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


def drive(rows: int, workers: int, runs: int) -> None:
    """Make runs in processes: what is measured."""
    _, log = recorded(rows)
    us.experiment(
        us.psrs(log), make, runs=runs, max_steps=STEPS, compiled=False, backend="processes", workers=workers,
        progress=False,
    )  # fmt: skip


def measure(rows: int, workers: int) -> tuple[float, float, float]:
    """Return the largest sum of the PSS of driver and workers, that of the driver then, and the mean of a worker's own.

    Each worker has two runs.
    """
    given = ["--drive", "--rows", str(rows), "--workers", str(workers)]
    driven = [sys.executable, "-m", "benchmarks.worker_memory", *given]
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
    parser.add_argument("--drive", action="store_true", help="make the runs that another process measures")
    options = parser.parse_args()
    if options.drive:
        drive(options.rows, options.workers[0], 2 * options.workers[0])
        return
    first = None
    for workers in options.workers:
        total, driver, own = measure(options.rows, workers)
        first = first or total
        print(f"{workers:3} workers: {total:7,.0f} MiB in all ({total / first:.2f} times), driver {driver:7,.0f}, "
              f"of a worker alone {own:7,.1f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
