"""Blocks of runs made by processes of their own, each of which loads what runs need: where forking is not safe.

A worker that dies takes the whole pool with it; which block it was at is told by files that workers leave while they
are at one.
"""

import os
import re
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import Any

from understudy.contracts.backing import Block, RunBlock, always
from understudy.runs import scratch
from understudy.runs.deaths import WorkersDied
from understudy.runs.fork_server import exit_with_parent, load
from understudy.runs.forked import without_interrupts
from understudy.runs.sending import sendable


def in_loky_workers(
    blocks: dict[int, Block], workers: int, pickled: bytes, folders: Sequence[str]
) -> Generator[tuple[int, Any], None, None]:
    """Yield the place of each block with its runs, as they finish. Raise `WorkersDied` where a worker dies.

    Whatever ends this early (an error, Ctrl-C, `close`) kills the workers.
    """
    from loky import ProcessPoolExecutor

    with scratch.naming_the_folder():
        marks = scratch.new_folder()
    initargs = (pickled, os.getpid(), [*folders, marks])
    executor = ProcessPoolExecutor(min(workers, len(blocks)), initializer=_start_worker, initargs=initargs)
    try:
        with without_interrupts():  # workers inherit it: Ctrl-C is for this process, which ends them
            futures: dict[Future, int] = {
                executor.submit(_run_in_worker, os.path.join(marks, str(place)), block): place
                for place, block in blocks.items()
            }
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BrokenProcessPool as error:
        raise WorkersDied({int(place) for place in os.listdir(marks)}, _exits(error)) from error
    finally:
        # Futures are not cancelled before: loky sets the exception of each, and prints an error where it cannot.
        executor.shutdown(kill_workers=True)
        scratch.remove_folder(marks)


def _exits(error: BrokenProcessPool) -> str:
    """Return the exit codes of workers, as loky tells them, in words for a message; empty where it does not."""
    found = re.search(r"exit codes of the workers are \{(.*)\}", str(error))
    return f" (exit {found[1]})" if found else ""


_loaded: Any = None


def _start_worker(pickled: bytes, parent: int, folders: Sequence[str]) -> None:
    global _loaded
    threading.Thread(target=exit_with_parent, args=(parent, folders), daemon=True).start()
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded: there is a worker for each core already
    _loaded = load(pickled)


def _run_in_worker(mark: str, block: Block) -> Any:
    try:
        run_block: RunBlock = _loaded()
        with suppress(OSError):  # a full disk is not this run's fault
            Path(mark).touch()
        return run_block(block, always)
    except Exception as error:
        told = sendable(error)
        if told is error:
            raise
        raise told from None
    finally:
        with suppress(OSError):
            Path(mark).unlink()
