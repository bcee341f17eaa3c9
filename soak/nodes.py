"""Workers, nodes and drivers of a Ray cluster, of three nodes on this machine, killed at random moments."""

import os
import signal
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from soak.kills import CODES, Seen, digest_of, undisturbed
from soak.processes import Driver, command_of, job, send

KINDS = ("worker", "node", "driver SIGKILL", "driver SIGINT")
NODE = {"num_cpus": 1, "object_store_memory": 80_000_000}
ROUNDS = 4


class Struck(NamedTuple):
    """An experiment on a cluster that was struck: what was killed and when, and what went wrong."""

    what: str
    moment: str
    code: int | None
    wrong: list[str]
    hit: bool = True
    """False where it came too late: nothing was at work."""


def ray_is_here() -> bool:
    """True if Ray is installed, and the library has a backend for it."""
    import importlib.util

    return all(importlib.util.find_spec(name) is not None for name in ("ray", "understudy.runs.ray_backend"))


def run_nodes(scratch: Path, report: Any = print, rounds: int = ROUNDS) -> list[Struck] | None:
    """Strike experiments on a cluster, and return what became of them; None where Ray is not installed."""
    if not ray_is_here():
        return None
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    whole = undisturbed("serial", scratch)
    cluster = Cluster(initialize_head=True, head_node_args=NODE | {"include_dashboard": False})
    found = []
    try:
        nodes = [cluster.add_node(**NODE), cluster.add_node(**NODE)]
        os.environ["RAY_ADDRESS"] = cluster.address
        calm = Driver(job("ray", scratch / "calm"), scratch)
        ended = calm.wait(600)
        assert ended is not None
        assert ended.code == 0, ended
        assert digest_of(scratch / "calm") == whole.digest
        for number in range(rounds * len(KINDS)):
            kind = KINDS[number % len(KINDS)]
            rng = np.random.default_rng([99, number])
            found.append(_strike(kind, rng, cluster, nodes, ended.seconds, whole.digest, scratch / f"struck-{number}"))
            report(number + 1, rounds * len(KINDS))
    finally:
        os.environ.pop("RAY_ADDRESS", None)
        cluster.shutdown()
    return found


def _strike(
    kind: str, rng: np.random.Generator, cluster: Any, nodes: list[Any], seconds: float, digest: str, folder: Path
) -> Struck:
    """Kill something while an experiment runs, go on until it ends by itself, and compare the runs."""
    seen, wrong, code, hit = Seen(folder), list[str](), None, False
    share = float(rng.uniform(0.3, 0.95))
    for attempt in range(3):
        driver = Driver(job("ray", folder), folder.parent)
        if attempt == 0:
            while driver.running() and time.monotonic() - driver.began < share * seconds:
                time.sleep(0.05)
                seen.look()
            hit = _kill(kind, rng, cluster, nodes, driver)
        ended = driver.wait(60 + 20 * seconds)
        seen.look()
        wrong += seen.check()
        if ended is None:
            wrong.append("no end")
            break
        code = ended.code if attempt == 0 else code
        wrong += [f"it said {line[:300]!r}" for line in ended.noise]
        ends = {0, CODES[signal.Signals[kind.split()[1]]]} if attempt == 0 and kind.startswith("driver") else {0}
        if ended.code not in ends:
            wrong.append(f"exit code {ended.code}: {ended.said[-400:]!r}")
        driver.forget()
        if wrong or ended.code == 0:
            break
    if kind == "node":
        nodes.append(cluster.add_node(**NODE))
    if not wrong and digest_of(folder) != digest:
        wrong.append("the runs are not those of a process alone")
    return Struck(kind, f"at {share:.0%} of its time", code, wrong, hit)


def _kill(kind: str, rng: np.random.Generator, cluster: Any, nodes: list[Any], driver: Driver) -> bool:
    """Kill something. True if it was at work."""
    running = driver.running()
    if kind == "node":
        cluster.remove_node(nodes.pop(int(rng.integers(len(nodes)))), allow_graceful=False)
    elif kind == "worker":
        while not (busy := _at_work()) and driver.running():
            time.sleep(0.05)
        running = bool(busy)
        if busy:
            send(busy[int(rng.integers(len(busy)))], signal.SIGKILL)
    else:
        driver.kill("driver", signal.Signals[kind.split()[1]])
    return running


def _at_work() -> list[int]:
    """Return the ids of the cluster's workers that are at a task."""
    return [pid for pid in descendants(os.getpid()) if command_of(pid).startswith(b"ray::make_blocks")]


def descendants(pid: int) -> list[int]:
    """Return the ids of the processes that a process has started, and that these have."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                text = Path(f"/proc/{name}/stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            parents[int(name)] = int(text.rsplit(")", 1)[1].split()[1])
    found, level = [], [pid]
    while level:
        level = [child for child, parent in parents.items() if parent in level]
        found += level
    return found
