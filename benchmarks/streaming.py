"""Passing through a log that lies on disk: CPU time, and memory at the peak beside the log, by the number of rows.

python -m benchmarks.streaming [--rows 1e6 1e7] [--kinds codes vectors decisions] [--parts check fingerprint ...]

The columns of the log are read-only memory maps. Each part has a process of its own, in which it was called with a
small log of the same kind before. Memory is anonymous (RssAnon, which does not count pages of mapped files), sampled by
another process some 500 times a second, at the peak and beyond what there was before; "kept" is what is left of it when
the part has returned, its result included. Codes: 2,000 states, episodes of 40 rows in the mean. Vectors: four numbers,
which do not recur. Decisions: codes, each row an episode of one step.
"""

import argparse
import json
import select
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

SMALL, PIECE, N_STATES, N_ACTIONS = 20_000, 1_000_000, 2_000, 5
KINDS = ("codes", "vectors", "decisions")
EVERY = 0.002  # seconds between two samples of memory


def rows(n, kind, first, rng):
    """Return n rows of a log whose first row begins an episode, and has this number."""
    over = np.ones(n, bool) if kind == "decisions" else rng.random(n) < 1 / 40
    over[-1] = True
    last = np.flatnonzero(over)
    step = np.arange(n) - np.repeat(np.append(0, last[:-1] + 1), np.diff(last, prepend=-1))
    propensity = rng.dirichlet(np.full(N_ACTIONS, 5.0), 64)[rng.integers(64, size=n)]
    action = (propensity.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, N_ACTIONS - 1)
    shape = (n + 1, 4) if kind == "vectors" else (n + 1,)
    seen = rng.random(shape, np.float32) if kind == "vectors" else rng.integers(N_STATES, size=shape)
    following = seen[1:].copy()
    following[last] = rng.permutation(seen[:-1])[: len(last)]
    return {
        "observation": seen[:-1], "action": action.astype(np.int32), "reward": rng.normal(size=n).round(2),
        "next_observation": following, "terminated": over, "truncated": np.zeros(n, bool),
        "episode": first + np.cumsum(over) - over, "step": step.astype(np.int32), "propensity": propensity,
    }  # fmt: skip


def write_log(folder, n, kind):
    """Write the columns of a log of n rows as raw files."""
    folder.mkdir()
    rng, forms = np.random.default_rng(0), {}
    for first in range(0, n, PIECE):
        for name, column in rows(min(PIECE, n - first), kind, first, rng).items():
            with (folder / name).open("ab") as file:
                file.write(np.ascontiguousarray(column).data)
            forms[name] = [column.dtype.str, [n, *column.shape[1:]]]
    (folder / "forms.json").write_text(json.dumps([kind, forms]))


def log_in(folder):
    """Return the log whose columns lie in a folder, as memory maps."""
    import understudy as us

    kind, forms = json.loads((folder / "forms.json").read_text())
    columns = {name: np.memmap(folder / name, dtype, "r", shape=tuple(shape)) for name, (dtype, shape) in forms.items()}
    small = us.Log.from_columns(**rows(SMALL, kind, 0, np.random.default_rng(1)))
    if kind != "vectors":  # whether the small log has the last state is chance
        small = replace(small, spec=replace(small.spec, n_observations=N_STATES))
    return small, replace(small, **columns)


def parts_of(small):
    """Return what is measured, by name: functions of a log. Encoders are fitted on the small log."""
    import understudy as us

    vectors = small.observation.ndim == 2
    encoders = {"Identity": us.encoders.Identity()}
    if vectors:
        encoders = {
            "Boxes": us.encoders.Boxes(bins=6), "KMeans": us.encoders.KMeans(50, most_rows=5000),
            "Homer": us.encoders.Homer(8, max_epochs=1, progress=False), "Function": us.encoders.Function(corner),
        }  # fmt: skip
    fitted = {name: encoder.fit(small) for name, encoder in encoders.items()}

    def forecast(log):
        encoder = fitted["Boxes"] if vectors else None
        return us.forecast(us.qbe(log, encoder), learner, pre_runs=4, max_steps=1000, workers=1, progress=False)

    return {
        "fingerprint": lambda log: log.fingerprint,
        "episodes": lambda log: log.unfinished,
        "require_no_errors": lambda log: log.require_no_errors(),
        "check": us.check,
        **{f"encode {name}": lambda log, encoder=encoder: encode(log, encoder) for name, encoder in fitted.items()},
        "us.encode to files": lambda log: encode_to_files(log, next(iter(fitted.values()))),
        **({} if vectors else {"forecast": forecast, "psrs": us.psrs}),
    }


def encode(log, encoder):
    """Encode the log as simulators do."""
    from understudy.simulators.index import states_of_log

    return states_of_log(log, encoder)


def encode_to_files(log, encoder):
    """Encode the log into a folder that is removed again."""
    import understudy as us

    with tempfile.TemporaryDirectory() as folder:
        return us.encode(log, encoder, out=folder, progress=False)


def corner(observations):
    """Return in which of 16 corners an observation is."""
    return (observations > 0.5) @ np.array([1, 2, 4, 8])


def learner(seed):
    """Return a learner of codes."""
    import understudy as us

    return us.learners.QLearning(N_STATES, N_ACTIONS, epsilon=0.5, seed=seed)


def measured(folder, part):
    """Call a part with a small log, then, once a line is read, with the log in a folder; print the seconds it took."""
    small, log = log_in(folder)
    call = parts_of(small)[part]
    call(small)
    print("ready", flush=True)
    sys.stdin.readline()
    begun = time.process_time()
    kept = call(log)
    print(time.process_time() - begun, flush=True)
    sys.stdin.readline()
    del kept


def watched(folder, part):
    """Return the seconds that a part took, its peak of anonymous memory and what it kept, measured from outside."""
    command = [sys.executable, "-m", "benchmarks.streaming", "--measure", str(folder), part]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as child:
        child.stdout.readline()
        before = peak = anonymous(child.pid)
        child.stdin.write("\n")
        while not select.select([child.stdout], [], [], EVERY)[0]:
            peak = max(peak, anonymous(child.pid))
        seconds, after = child.stdout.readline(), anonymous(child.pid)
        with suppress(BrokenPipeError):
            child.stdin.write("\n")
    return (float(seconds) if seconds else float("nan")), peak - before, after - before


def anonymous(pid):
    """Return the bytes of anonymous memory that a process has."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("RssAnon")).split()[1])
    return 0


def names_of(kind):
    """Return the names of all parts for a kind of log."""
    of_encoders = ["Boxes", "KMeans", "Homer", "Function"] if kind == "vectors" else ["Identity"]
    encoding = [f"encode {name}" for name in of_encoders]
    first = ["fingerprint", "episodes", "require_no_errors", "check", *encoding, "us.encode to files"]
    return first if kind == "vectors" else [*first, "psrs", "forecast"]


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streaming", description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--parts", nargs="+", help="parts whose name contains one of these words (all)")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        folder, part = options.measure
        return measured(Path(folder), part)
    print("| log | rows | | CPU ns a row | MiB at the peak | bytes a row | kept |\n|---|---:|---|---:|---:|---:|---:|")
    for kind in options.kinds:
        for n in map(int, options.rows):
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch) / "log"
                write_log(folder, n, kind)
                for part in names_of(kind):
                    if options.parts and not any(word in part for word in options.parts):
                        continue
                    seconds, peak, kept = watched(folder, part)
                    figures = f"{1e9 * seconds / n:,.0f} | {peak / 2**20:,.0f} | {peak / n:,.1f} | {kept / n:,.1f}"
                    print(f"| {kind} | {n:.0e} | {part} | {figures} |", flush=True)
    return None


if __name__ == "__main__":
    main()
