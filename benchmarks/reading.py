"""Reading a log from Parquet: rows a second, and memory at the peak, beside plain pyarrow.parquet.read_table.

python -m benchmarks.reading [--rows 1e6 5e6] [--repeats 3] [--files 8]

Each reading has a process of its own. Its memory is the largest that it ever had (ru_maxrss) beyond what it had before,
libraries and a small log of the same kind read already. Of the times of some repeats the smallest counts, as CPU time:
others share the machine. The log has 82 bytes a row. In one kind of file it is as `us.write` writes it; in the other,
actions and episodes are text, propensities are five columns, next observations are missing (so rows are dropped), and
two columns are not used.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

WORDS = ("left", "right", "up", "down", "stay")
NAMES = {
    "numbers": {},
    "text": {
        "observation": "page", "action": "arm", "terminated": "end", "truncated": "cut", "episode": "visit",
        "propensity": [f"p_{word}" for word in WORDS],
    },
}  # fmt: skip
SMALL, PIECE = 1000, 500_000


def rows(n, kind, first, rng):
    """Return n rows of a log, of which the first has this number; episodes have 5 to 259 rows, and do not go on."""
    last = np.cumsum(rng.integers(5, 260, n // 5)) - 1
    last = np.append(last[last < n - 1], n - 1)
    over = np.zeros(n, bool)
    over[last] = True
    terminated = over & (rng.random(n) < 0.8)
    episode = first + np.cumsum(over) - over
    propensity = rng.dirichlet(np.ones(5), n)
    observation, action = rng.integers(400, size=n), rng.integers(5, size=n)
    shared = {"reward": rng.normal(size=n).round(2)}
    if kind == "numbers":
        step = np.arange(n) - np.repeat(np.append(0, last[:-1] + 1), np.diff(last, prepend=-1))
        return pa.table(
            {
                **shared, "observation": observation, "action": action.astype(np.int32), "terminated": terminated,
                "next_observation": rng.integers(400, size=n), "truncated": over & ~terminated, "episode": episode,
                "step": step.astype(np.int32),
                "propensity": pa.FixedSizeListArray.from_arrays(propensity.reshape(-1), 5),
            }
        )  # fmt: skip
    return pa.table(
        {
            **shared, "page": observation, "arm": pa.array(WORDS).take(pa.array(action)), "end": terminated,
            "cut": over & ~terminated, "visit": np.char.add("visit-", episode.astype(str)), "unused": rng.random(n),
            "agent": np.char.add("agent ", rng.integers(1000, size=n).astype(str)),
            **{f"p_{word}": propensity[:, at] for at, word in enumerate(WORDS)},
        }
    )  # fmt: skip


def write_files(folder, n, kind, n_files):
    """Write a log to so many files of a new folder, a piece at a time."""
    folder.mkdir()
    rng, first = np.random.default_rng(0), 0
    for number in range(n_files):
        writer = None
        left = n // n_files
        while left:
            table = rows(min(left, PIECE), kind, first, rng)
            writer = writer or pq.ParquetWriter(folder / f"part-{number}.parquet", table.schema)
            writer.write_table(table, row_group_size=131_072)
            left, first = left - len(table), first + len(table)
        writer.close()


def measured(how, folder, kind, small):
    """Read a folder in this process; print seconds of CPU, bytes of the log, and bytes at the peak as JSON."""
    import understudy as us

    def read(source):
        if how == "read_table":
            return pa.concat_tables([pq.read_table(path) for path in sorted(source.iterdir())]).nbytes
        return sum(column.nbytes for column in us.read(source, **NAMES[kind]).columns.values())

    read(small)
    before, begun = peak(), time.process_time()
    size = read(folder)
    print(json.dumps([time.process_time() - begun, size, peak() - before]))


def peak():
    """Return the most bytes that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def child(*arguments):
    """Return what this program prints in a process of its own, whose peak begins with the low one of this process."""
    command = [sys.executable, "-m", "benchmarks.reading", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading", description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 5e6])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--read", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        how, folder, kind, small = options.read
        return measured(how, Path(folder), kind, Path(small))
    if options.write:
        folder, n, kind, n_files = options.write
        return write_files(Path(folder), int(n), kind, int(n_files))
    print("| log | rows | | M rows a CPU second | bytes a row | at the peak |\n|---|---:|---|---:|---:|---:|")
    for kind in NAMES:
        for n in map(int, options.rows):
            with tempfile.TemporaryDirectory() as scratch:
                folder, small = f"{scratch}/log", f"{scratch}/small"
                child("--write", folder, n, kind, options.files)
                child("--write", small, SMALL, kind, 1)
                for how in ("us.read", "read_table"):
                    found = [json.loads(child("--read", how, folder, kind, small)) for _ in range(options.repeats)]
                    seconds, size, most = (min(values) for values in zip(*found, strict=True))
                    print(
                        f"| {kind} | {n:.0e} | {how} | {n / seconds / 1e6:.2f} | {size / n:.0f} | {most / n:.0f} |",
                        flush=True,
                    )
    return None


if __name__ == "__main__":
    main()
