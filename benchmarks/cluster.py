"""What a Ray cluster costs: time beside threads and processes, and the memory of workers and nodes, on this machine.

python -m benchmarks.cluster [--repeats 5] [--rows 1000000] [--parts time memory]

Time: each pair is measured one after the other, `--repeats` times, and the ratio is that of the shortest of each, so
that what else the machine does counts little. The cluster is up, and its workers have made runs before. Memory: two
nodes with two workers each, on one machine; a worker's own memory (private pages) beyond what it was with a small log,
and the growth of the machine's shared memory, which object stores are, over the size of what runs need.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np

import understudy as us
from benchmarks.__main__ import make, recorded
from understudy.runs.backends import n_cores
from understudy.runs.buffers import packed
from understudy.runs.plan import Plan
from understudy.runs.ray_backend import OnRay
from understudy.runs.remote import RemoteRuns

QUIET = {"log_to_driver": False, "logging_level": "ERROR"}
CASES = {
    # name: the other backend, runs, steps of each, whether they are compiled
    "compiled runs of a second or more": ("threads", 4, 12_000_000, None),
    "runs in Python of a second or more": ("processes", 4, 40_000, False),
    "100 compiled runs of 1,000 steps": ("processes", 100, 1_000, None),
    "100 runs in Python of 1,000 steps": ("processes", 100, 1_000, False),
}


def measure_time(repeats: int) -> None:
    """Print the time of each case on both backends, and their ratio."""
    import ray

    ray.init(num_cpus=n_cores(), include_dashboard=False, object_store_memory=500_000_000, **QUIET)
    _, log = recorded(200_000)
    simulator = us.model(log)
    for name, (other, runs, steps, compiled) in CASES.items():
        options = {"runs": runs, "max_steps": steps, "compiled": compiled, "keep_rows": False, "progress": False}
        took = {other: [], "ray": []}
        for backend in took:  # compiles, starts workers, fills caches
            us.experiment(simulator, make, backend=backend, **options | {"runs": 2 * n_cores()})
        for _ in range(repeats):
            for backend, times in took.items():
                began = time.perf_counter()
                us.experiment(simulator, make, backend=backend, **options)
                times.append(time.perf_counter() - began)
        ours, theirs = min(took["ray"]), min(took[other])
        spread = ", ".join(f"{one / two:.2f}" for one, two in zip(took["ray"], took[other], strict=True))
        found = f"{name}: ray {ours:.2f} s, {other} {theirs:.2f} s, ratio {ours / theirs:.3f} (each time: {spread})"
        print(f"{found}, load {os.getloadavg()[0]:.1f}", flush=True)
    ray.shutdown()


class Measured:
    """Makes runs, and returns where, and how much memory is the worker's own before and after it has made any, in MiB.

    What runs need is there before: the log, its index, and the simulator made of them.
    """

    def __init__(self, run_block):
        self.run_block, self.before = run_block, None

    def __call__(self, block, keep_going):
        import ray

        self.before = self.before or own_mebibytes()
        self.run_block(block, keep_going)
        return ray.get_runtime_context().get_node_id(), os.getpid(), (self.before, own_mebibytes())


def own_mebibytes() -> float:
    """The memory of this process that no other shares, in MiB."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def shared_memory() -> float:
    """The shared memory of this machine, in MiB."""
    (line,) = (line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("Shmem:"))
    return int(line.split()[1]) / 1024


def own_memory(simulator, runs: int) -> dict[tuple[str, int], tuple[float, float]]:
    """The own memory of each worker, by node and process, before and after its runs."""
    plan = Plan(simulator, make, 0, 1000, {}, 1000, None, keep_rows=False)
    results = OnRay()(Measured(RemoteRuns(plan)), [(number,) for number in range(runs)], 4)
    return {(node, process): own for _, (node, process, own) in results}


def measure_memory(rows: int) -> None:
    """Print the own memory of workers, and how many copies of the log and its index there are."""
    import ray
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    node = {"num_cpus": 2, "object_store_memory": int(2.5 * 120 * rows) + 100_000_000}
    cluster = Cluster(initialize_head=True, head_node_args=node | {"include_dashboard": False})
    cluster.add_node(**node)
    ray.init(address=cluster.address, **QUIET)
    _, small = recorded(2_000)
    _, log = recorded(rows)
    simulator = us.psrs(log)
    size = sum(part.nbytes for part in packed(Plan(simulator, make, 0, 1000, {}, 1000, None)).buffers) / 2**20
    before_own = own_memory(us.psrs(small), 40)
    before_shared = shared_memory()
    own = own_memory(simulator, 40)
    copies = (shared_memory() - before_shared) / size
    more = np.array([np.subtract(own[one], before_own[one][1]) for one in own if one in before_own])
    nodes = {name for name, _ in own}
    print(
        f"{len(log):,} rows: {size:,.0f} MiB of log and index, {copies:.2f} copies of it in shared memory; "
        f"{len(own)} workers on {len(nodes)} nodes; a worker's own memory grows by {more[:, 0].mean():.1f} MiB when it "
        f"receives them, and by {np.diff(more).mean():.1f} MiB for the queues of a run"
    )
    ray.shutdown()
    cluster.shutdown()


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--parts", nargs="+", choices=("time", "memory"), default=("time", "memory"))
    options = parser.parse_args()
    print(f"{n_cores()} cores, load {os.getloadavg()[0]:.1f}")
    if "time" in options.parts:
        measure_time(options.repeats)
    if "memory" in options.parts:
        measure_memory(options.rows)


if __name__ == "__main__":
    main()
