"""Where runs are made: in this thread, in several threads, or in processes."""

import os
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any

from understudy.contracts.backing import Backend, Block, RunBlock, always
from understudy.runs.processes import in_processes
from understudy.runs.shares import heard_here

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
