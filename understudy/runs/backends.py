"""Where runs are made: in this thread, in several threads, in processes, or on a cluster."""

import os
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any

from understudy.contracts.backing import Backend, Block, HasRemoteWorkers, RunBlock, always
from understudy.contracts.offering import offers
from understudy.errors import SettingError
from understudy.extras import require
from understudy.runs.processes import in_processes
from understudy.runs.shares import heard_here
from understudy.settings import real, whole

Results = Generator[tuple[Block, Any], None, None]
"""An iterator over blocks and their runs, in the order in which they finish."""


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    has_affinity = hasattr(os, "sched_getaffinity")  # a function of Python's own that not every system has
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def in_turn(run_block: RunBlock, blocks: Sequence[Block], workers: int) -> Results:
    """Yield runs made one after another, in this thread."""
    for block in blocks:
        yield block, run_block(block, heard_here(run_block, block, always))


def in_threads(run_block: RunBlock, blocks: Sequence[Block], workers: int) -> Results:
    """Yield runs made in threads: for compiled loops, which let other threads work."""
    cancelled = threading.Event()
    with ThreadPoolExecutor(workers) as executor:
        futures: dict[Future, Block] = {
            executor.submit(run_block, block, heard_here(run_block, block, lambda: not cancelled.is_set())): block
            for block in blocks
        }
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:  # an error, Ctrl-C or `close`: the rest is cancelled
            for future in futures:
                future.cancel()
            cancelled.set()
            raise


BACKENDS: dict[str, Backend] = {"serial": in_turn, "threads": in_threads, "processes": in_processes}

NAMES = (*BACKENDS, "ray")
"""The backends that have a name."""


def ray(address: str | None = None, *, max_retries: int = 2, num_cpus: float = 1, num_gpus: float = 0) -> Backend:
    """Return a backend that makes runs on a Ray cluster: `experiment(..., backend=us.backends.ray("head:6379"))`.

    Without an `address`, the cluster that this process is connected to, or that runs on this machine; where there is
    none, one is started here. Log and index are put into its object store once, and workers read them without copies.
    Runs come back to this process, which keeps them (`out=`) as they finish. Runs whose worker or machine died are
    tried again, `max_retries` times each; then they are given up, as those of processes are. A task, which makes one
    run or several short ones, asks the cluster for `num_cpus` cores and `num_gpus` GPUs. Needs the extra "ray".
    """
    require("us.backends.ray", "ray")
    from understudy.runs.ray_backend import OnRay

    return OnRay(
        address,
        whole("max_retries", max_retries, least=0),
        real("num_cpus", num_cpus, 0),
        real("num_gpus", num_gpus, 0),
    )


def workers_of(backend: Backend | None, workers: int | None) -> int:
    """Return how many workers to use: those asked for, or those of a backend that has its own, or one for each core."""
    if workers is not None:
        return workers
    return backend.n_workers if backend is not None and offers(backend, HasRemoteWorkers) else n_cores()


def backend_of(chosen: str | Backend) -> Backend:
    """Return a backend by its name, or as it is. Raise `SettingError` where it is neither."""
    if chosen == "ray":
        return ray()
    if isinstance(chosen, str) and chosen in BACKENDS:
        return BACKENDS[chosen]
    if not callable(chosen):
        raise SettingError(
            f"backend={chosen!r} is not one of {', '.join(map(repr, NAMES))}; name one, or give a function as "
            "understudy.contracts.Backend describes it"
        )
    return chosen
