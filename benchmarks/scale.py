"""A log on disk, from 1e6 to 1e9 rows: reading, indexing and running it, with memory at the peak.

python -m benchmarks.scale [--rows 1e6 1e7 1e8] [--folder FOLDER] [--page] [--keep]

The log is of a walk on a torus of 64 x 64 states: each of four actions is a move, and half of the steps jump anywhere.
Actions are chosen uniformly, and episodes have 100 steps; files are Parquet, of ten million rows each. Each part has a
process of its own. Memory is the most that the process had, sampled every 20 ms: its own (RssAnon) and what is mapped
of files (RssFile), which the system takes back when it needs memory. Runs are of Q-learning (epsilon .5) by PSRS, a
million steps, or as far as the log goes: cold after the system's cache of files was dropped (by root only), warm with
the same seed again. Of a run of 10,000 steps from cold, the bytes that were read from disk are counted. The disk's own
figures are of a file of 1 GiB: written, read in order, and read at random, 4 kB at a time, by 1 thread and by 16.
"""

import argparse
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.measuring import HERE, write_table

SIDE, LENGTH, A_FILE = 64, 100, 10_000_000
STEPS, FEW_STEPS = 1_000_000, 10_000


def write_files(folder, n_rows):
    """Write the log as Parquet files; those that are there already stay."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for number, begin in enumerate(range(0, n_rows, A_FILE)):
        path = folder / f"part-{number}.parquet"
        if path.exists():
            continue
        rng, n = np.random.default_rng(number), min(A_FILE, n_rows - begin) // LENGTH
        action = rng.integers(4, size=(n, LENGTH), dtype=np.int8)
        jumps = rng.random((n, LENGTH), np.float32) < 0.5
        state = np.empty((2, n, LENGTH + 1), np.int16)  # across and along the torus
        state[:, :, 0] = rng.integers(SIDE, size=(2, n))
        moves = np.array([[1, -1, 0, 0], [0, 0, 1, -1]], np.int16)[:, action]
        moves[:, jumps] = rng.integers(SIDE, size=(2, jumps.sum()), dtype=np.int16)
        state[:, :, 1:] = state[:, :, :1] + np.cumsum(moves, axis=2, dtype=np.int16)
        state = (state[0] % SIDE).astype(np.int32) * SIDE + state[1] % SIDE
        terminated = np.zeros((n, LENGTH), bool)
        terminated[:, -1] = True
        table = pa.table(
            {
                "observation": state[:, :-1].ravel(), "action": action.ravel().astype(np.int32),
                "reward": (state[:, :-1] % 4 == action).astype(np.float64).ravel(),
                "next_observation": state[:, 1:].ravel(),
                "terminated": terminated.ravel(), "propensity": np.full(n * LENGTH, 0.25),
            }
        )  # fmt: skip
        pq.write_table(table, path.with_suffix(".tmp"), row_group_size=1_000_000, compression="zstd")
        path.with_suffix(".tmp").rename(path)


class Peak:
    """The most memory that this process had, in bytes: of its own, of files, and of both."""

    def __enter__(self):
        self.own = self.files = self.both = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self):
        while not self._over.wait(0.02):
            own, files = resident()
            self.own, self.files, self.both = max(self.own, own), max(self.files, files), max(self.both, own + files)

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def resident():
    """The memory of this process in bytes: its own, and what is mapped of files."""
    with open("/proc/self/status") as lines:
        found = dict(line.split(":", 1) for line in lines)
    return tuple(int(found[name].split()[0]) * 1024 for name in ("RssAnon", "RssFile"))


def read_from_disk():
    """How many bytes this process had the disk read."""
    with open("/proc/self/io") as lines:
        return int(dict(line.split(": ") for line in lines)["read_bytes"])


def drop_caches():
    """Drop the system's cache of files; False where this process may not."""
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3")
    except OSError:
        return False
    return True


def part(name, files, folder):
    """Do one part of the job in this process, and return what was measured."""
    import understudy as us
    from understudy.mapped import give_back

    def learner(seed):
        return us.learners.QLearning(SIDE * SIDE, 4, epsilon=0.5, seed=seed)

    found, warm_up = {}, Path(tempfile.mkdtemp())
    write_files(warm_up / "files", 10_000)
    us.simulate(us.psrs(us.read(str(warm_up / "files"), on_disk=warm_up / "log")), learner(0), 0, 10)  # compiles
    shutil.rmtree(warm_up)
    with Peak() as peak:
        begun = time.perf_counter()
        log = us.read(str(files), on_disk=folder, progress=False)
        if name == "read":
            found = {"rows": len(log), "read seconds": time.perf_counter() - begun}
        else:
            begun = time.perf_counter()
            simulator = us.psrs(log)
            seconds = time.perf_counter() - begun
            found = {"index seconds": seconds} if name == "index" else {"open seconds": seconds}
        if name == "run":
            found["cold"] = drop_caches()
            before = read_from_disk()
            us.simulate(simulator, learner(1), 1, FEW_STEPS)
            found["few bytes"] = read_from_disk() - before
            give_back(
                *log.columns.values(), simulator._episodes, simulator.index.opening
            )  # mapped pages stay otherwise
            drop_caches()
            for kind in ("cold", "warm"):
                before, begun = read_from_disk(), time.perf_counter()
                run = us.simulate(simulator, learner(2), 2, STEPS)
                found[f"{kind} rate"] = len(run) / (time.perf_counter() - begun)
                found[f"{kind} bytes"] = read_from_disk() - before
            found |= {"steps": len(run), "rows taken": run.stopped.counts["rows taken"]}
    return found | {"own": peak.own, "files": peak.files, "both": peak.both}


def in_process(name, files, folder):
    """Do one part of the job in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", "--part", name, str(files), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def size_of(folder):
    """The bytes that a folder takes on disk."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def disk_speed(folder, n_bytes=2**30, n_reads=3000):
    """The disk's own speed: MB/s written and read in order, and random reads of 4 kB a second, by 1 and 16 threads."""
    path = folder / "speed"
    block, begun = os.urandom(2**22), time.perf_counter()
    with open(path, "wb") as file:
        for _ in range(n_bytes // len(block)):
            file.write(block)
        os.fsync(file.fileno())
    found = {"written MB/s": n_bytes / 1e6 / (time.perf_counter() - begun)}
    file = os.open(path, os.O_RDONLY)
    drop_caches()
    begun = time.perf_counter()
    while os.read(file, 2**22):
        pass
    found["read MB/s"] = n_bytes / 1e6 / (time.perf_counter() - begun)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)

    def read_some(seed):
        numbers = random.Random(seed)
        for _ in range(n_reads):
            os.pread(file, 4096, numbers.randrange(n_bytes // 4096) * 4096)

    for n_threads in (1, 16):
        drop_caches()
        threads = [threading.Thread(target=read_some, args=(seed,)) for seed in range(n_threads)]
        begun = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found[f"random reads/s, {n_threads} at a time"] = n_threads * n_reads / (time.perf_counter() - begun)
    os.close(file)
    path.unlink()
    return found


def measure(n_rows, place, keep):
    """Return all that is measured of a log of so many rows."""
    files, folder = place / f"files-{n_rows}", place / f"log-{n_rows}"
    shutil.rmtree(folder, ignore_errors=True)
    found = {"rows": n_rows, "load": os.getloadavg()[0]}
    try:
        write_files(files, n_rows)
        found["parquet bytes"] = size_of(files)
        drop_caches()
        for name in ("read", "index", "run"):
            measured = in_process(name, files, folder)
            found |= {key: value for key, value in measured.items() if key not in ("own", "files", "both")}
            found |= {f"{name} {key}": measured[key] for key in ("own", "files", "both")}
            found[f"bytes after {name}"] = size_of(folder)
            print(json.dumps(found), file=sys.stderr, flush=True)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(files, ignore_errors=True)
    return found


def table(results, disk):
    """Return the figures as Markdown."""

    def line(title, show):
        return f"| {title} | " + " | ".join(show(one) for one in results) + " |"

    def memory(name):
        return lambda one: f"{one[f'{name} own'] / 2**30:.2f} + {one[f'{name} files'] / 2**30:.2f}"

    def index_bytes(one):
        return f"{(one['bytes after index'] - one['bytes after read']) / one['rows']:.2f}"

    lines = [
        line("rows", lambda one: f"{one['rows']:.0e}".replace("e+0", "e")),
        "|---|" + "---:|" * len(results),
        line("Parquet files, bytes a row", lambda one: f"{one['parquet bytes'] / one['rows']:.1f}"),
        line("log on disk, bytes a row", lambda one: f"{one['bytes after read'] / one['rows']:.1f}"),
        line("its index, bytes a row", index_bytes),
        line("reading, s", lambda one: f"{one['read seconds']:.1f}"),
        line("reading, M rows/s", lambda one: f"{one['rows'] / one['read seconds'] / 1e6:.2f}"),
        line("reading, GiB of its own + of files", memory("read")),
        line("indexing, s", lambda one: f"{one['index seconds']:.2f}"),
        line("indexing, M rows/s", lambda one: f"{one['rows'] / one['index seconds'] / 1e6:.1f}"),
        line("indexing, GiB of its own + of files", memory("index")),
        line("opened again, ms", lambda one: f"{1000 * one['open seconds']:.0f}"),
        line("steps of a run", lambda one: f"{one['steps']:,}"),
        line("rows taken in it", lambda one: f"{one['rows taken']:,}"),
        line("cold, 1,000 steps/s", lambda one: f"{one['cold rate'] / 1e3:,.0f}"),
        line("cold, MB read from disk", lambda one: f"{one['cold bytes'] / 1e6:,.0f}"),
        line("warm, 1,000 steps/s", lambda one: f"{one['warm rate'] / 1e3:,.0f}"),
        line("10,000 steps from cold, MB read", lambda one: f"{one['few bytes'] / 1e6:.1f}"),
        line("runs, GiB of its own + of files", memory("run")),
    ]  # fmt: skip
    speed = "; ".join(f"{name} {value:,.0f}" for name, value in disk.items())
    loads = ", ".join(f"{one['load']:.1f}" for one in results)
    told = f"{platform.machine()}, {os.cpu_count()} cores; load at the start {loads}. The disk: {speed}."
    return "\n".join([*lines, "", told])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7, 1e8])
    parser.add_argument("--folder", type=Path, help="where files are written (a temporary folder)")
    parser.add_argument("--page", action="store_true", help="write the table into docs/benchmarks.md")
    parser.add_argument("--keep", action="store_true", help="leave the files where they are")
    parser.add_argument("--results", type=Path, default=Path(__file__).with_name("scale.json"), help="(%(default)s)")
    parser.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        name, files, folder = options.part
        print(json.dumps(part(name, Path(files), Path(folder))))
        return
    place = options.folder or Path(tempfile.mkdtemp(prefix="understudy-scale-"))
    place.mkdir(parents=True, exist_ok=True)
    known = json.loads(options.results.read_text()) if options.results.exists() else {}
    known["disk"] = disk_speed(place)
    for n_rows in map(int, options.rows):
        known[str(n_rows)] = measure(n_rows, place, options.keep)
        options.results.write_text(json.dumps(known, indent=1))
    shown = table([known[size] for size in sorted((size for size in known if size != "disk"), key=int)], known["disk"])
    print(shown)
    if options.page:
        write_table(HERE.parent / "docs" / "benchmarks.md", "scale", shown)
    if options.folder is None and not options.keep:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
