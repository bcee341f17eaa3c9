"""Sweeps of many short runs: written and read back, made from start to end, and gone on with.

python -m benchmarks.sweeps [--runs 1e3 1e4 1e5] [--page]

Runs have 100 steps and five readings of one probe, as Q-learning has them on a log of a small grid. Written and read
back: rows of runs that were made before, as a sweep gathers and keeps them, in combinations of 1,000 runs (or
of 100), and then both tables loaded whole. From start to end: `us.sweep` with ten learners. Gone on with: the same call
again, which makes nothing. With --page the table is written into docs/sweeps.md.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import understudy as us
from benchmarks.measuring import HERE, write_table
from understudy.runs.backends import n_cores
from understudy.runs.plan import Plan
from understudy.sweeps.folder import SweepFolder
from understudy.sweeps.keeping import Keeper
from understudy.sweeps.making import MOST, Group
from understudy.sweeps.names import Combination
from understudy.sweeps.run_tables import REWARD, curves_table, runs_table

STEPS, EVERY, LEARNERS = 100, 20, 10


class Timer:
    """Measures wall and CPU seconds of what is done within it, processes that it starts apart."""

    def __enter__(self):
        self._began = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *error):
        self.wall, self.cpu = (
            now - then for now, then in zip((time.perf_counter(), time.process_time()), self._began, strict=True)
        )


def learner(epsilon):
    return lambda seed: us.learners.QLearning(25, 5, epsilon=epsilon, seed=seed)


def some_runs(log):
    """Return runs to be written again and again."""
    plan = Plan(us.psrs(log), learner(0.1), 0, STEPS, {REWARD: us.probes.reward_so_far}, EVERY, None, keep_rows=False)
    return [plan((number,), lambda: True)[0] for number in range(MOST)]


def group_of(numbers, runs):
    """Return a group of runs that exist already: tables are built of them as of new ones."""
    runs = runs[: len(numbers)]
    tables = runs_table(numbers, runs, [0.0] * len(runs)), curves_table(numbers, runs)
    return Group(0, tuple((number,) for number in numbers), *tables)


def written_and_read(runs, n_runs, each):
    """Return the seconds that it takes to write so many runs, and to read them back."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = SweepFolder(scratch)
        with Timer() as writing, folder.held({"seed": 0, "max_steps": STEPS}):
            keeper = Keeper(folder, lambda done: None, 0, raises=True)
            for place in range(0, n_runs, each):
                combination = Combination(f"learner {place}", "psrs", "identity", "grid")
                for first in range(0, min(each, n_runs - place), MOST):
                    numbers = list(range(first, min(first + MOST, each, n_runs - place)))
                    keeper.add(combination, group_of(numbers, runs))
            keeper.close()
        with Timer() as reading:
            sweep = us.load_sweep(scratch)
            table, curves = sweep.to_frame(), sweep.to_frame("curves")
        assert len(table) == n_runs
        assert len(curves) == n_runs * STEPS // EVERY
        return writing, reading


def made(log, n_runs, scratch):
    """Return the seconds of a sweep from start to end, and of the same call once more."""
    learners = {f"epsilon 0.{place}": learner(place / 10) for place in range(LEARNERS)}
    settings = {"max_steps": STEPS, "every": EVERY, "progress": False, "runs": n_runs // LEARNERS}
    with Timer() as first:
        us.sweep(learners, "psrs", {"grid": log}, out=scratch, **settings)
    with Timer() as again:
        us.sweep(learners, "psrs", {"grid": log}, out=scratch, **settings)
    return first, again


def measure(counts):
    """Yield the lines of the table."""
    log = us.record(us.envs.Grid(slip=0.1), episodes=300, seed=3)
    runs = some_runs(log)

    def line(what, n_runs, timers):
        wall, cpu = sum(timer.wall for timer in timers), sum(timer.cpu for timer in timers)
        return f"| {what} | {n_runs:,} | {wall:.2f} | {cpu:.2f} | {n_runs / wall:,.0f} | {n_runs / cpu:,.0f} |"

    for each in (1000, 100):
        written_and_read(runs, 1000, each)  # loads what is needed
        for n_runs in counts:
            yield line(
                f"written and read back, {each:,} runs a combination", n_runs, written_and_read(runs, n_runs, each)
            )
    for n_runs in counts:
        with tempfile.TemporaryDirectory() as scratch:
            first, again = made(log, n_runs, Path(scratch) / "sweep")
            yield line("from start to end", n_runs, [first])
            yield line("gone on with, nothing missing", n_runs, [again])


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweeps", description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=float, nargs="+", default=[1e3, 1e4, 1e5])
    parser.add_argument("--page", action="store_true", help="write the table into docs/sweeps.md")
    options = parser.parse_args()
    lines = ["| | runs | s | CPU s | runs/s | runs/CPU s |", "|---|---:|---:|---:|---:|---:|"]
    print("\n".join(lines))
    for one in measure([int(number) for number in options.runs]):
        lines.append(one)
        print(one, flush=True)
    lines += ["", f"Measured on {n_cores()} shared cores, with a load of {os.getloadavg()[0]:.1f} at the end."]
    if options.page:
        write_table(HERE.parent / "docs" / "sweeps.md", "sweeps", "\n".join(lines))


if __name__ == "__main__":
    main()
