"""Runs made in processes. What they need is sent once, and where a process dies, its runs are tried again.

A worker may be killed, run out of memory or crash, and takes the whole pool with it; which block it was at is told by
files that workers leave while they are at one. All blocks that were under way are then made once more by a single
worker, one after another, when the others are finished: an innocent one finishes, and runs that need much memory have
all of it. A block whose worker died three times is given up.
"""

import os
import re
import shutil
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import cloudpickle

from understudy.contracts.backing import Block, GivesUp, RunBlock, always
from understudy.contracts.offering import offers
from understudy.errors import RunError
from understudy.runs import array_files
from understudy.runs.sending import pickled_for_workers

RETRIES = 2
"""How often a block whose worker died is tried again."""


def in_processes(
    run_block: RunBlock, blocks: Sequence[Block], workers: int
) -> Generator[tuple[Block, Any], None, None]:
    """Yield runs made in processes: for loops in Python. Large arrays are sent as memory maps.

    Raise `RunError` where workers die in a block again and again, or before they begin one; where `run_block` can give
    up a block (`contracts.GivesUp`), it decides.
    """
    waiting, deaths, early_deaths = dict(enumerate(blocks)), Counter[int](), 0
    with array_files.naming_temporary_folder():
        temporary = tempfile.TemporaryDirectory(prefix="understudy-")
    with temporary as folder:
        pickled, kept = pickled_for_workers(run_block)
        while waiting:
            untouched = [place for place in waiting if not deaths[place]]
            places, n = (untouched, workers) if untouched else (sorted(waiting, key=deaths.__getitem__), 1)
            try:
                with closing(_in_pool({place: waiting[place] for place in places}, n, pickled, folder)) as results:
                    for place, runs in results:
                        yield waiting.pop(place), runs
                continue
            except BrokenProcessPool as error:
                under_way, died = _marked_places(folder) & set(waiting), error
            deaths.update(under_way)
            early_deaths += not under_way
            if early_deaths > RETRIES:
                raise RunError(
                    f"worker processes died {early_deaths} times before they began a run{_exit_codes(died)}; use fewer "
                    "workers=, or backend='serial' to see why"
                ) from died
            for place in [place for place in under_way if deaths[place] > RETRIES]:
                block = waiting.pop(place)
                reason = (
                    f"the process that made it died {deaths[place]} times{_exit_codes(died)}, killed, out of memory or "
                    "crashed; use backend='serial' to see where"
                )
                if not offers(run_block, GivesUp):
                    raise RunError(f"{block} could not be made: {reason}") from died
                yield block, run_block.give_up(block, reason)
        del kept  # copies of arrays, and with them their files


def _in_pool(
    blocks: dict[int, Block], workers: int, pickled: bytes, folder: str
) -> Generator[tuple[int, Any], None, None]:
    """Yield the place of each block with its runs, as they finish. Raise `BrokenProcessPool` where a worker dies.

    Whatever ends this early (an error, Ctrl-C, `close`) kills the workers.
    """
    from loky import ProcessPoolExecutor

    folders = [name for name in (folder, array_files.FILES.folder) if name is not None]
    initargs = (pickled, os.getpid(), folders)
    executor = ProcessPoolExecutor(min(workers, max(1, len(blocks))), initializer=_start_worker, initargs=initargs)
    try:
        with _without_interrupts():  # workers inherit it: Ctrl-C is for this process, which ends them
            futures: dict[Future, int] = {
                executor.submit(_run_in_worker, _mark(folder, place), block): place for place, block in blocks.items()
            }
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        # Futures are not cancelled before: loky sets the exception of each, and prints an error where it cannot.
        executor.shutdown(kill_workers=True)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Context manager: Ctrl-C waits until its end, and is not sent to processes that are started within."""
    if not hasattr(signal, "pthread_sigmask"):  # a function of Python's own that not every system has
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _mark(folder: str, place: int) -> str:
    """Return the path of the file that is there while a worker is at a block."""
    return os.path.join(folder, f"{place}.begun")


def _marked_places(folder: str) -> set[int]:
    """Return the places of the blocks that workers had begun and not ended, and remove the files that say so."""
    names = [name for name in os.listdir(folder) if name.endswith(".begun")]
    for name in names:
        os.remove(os.path.join(folder, name))
    return {int(name.removesuffix(".begun")) for name in names}


def _exit_codes(error: BrokenProcessPool) -> str:
    """Return the exit codes of workers, as loky tells them, in words for a message; empty where it does not."""
    found = re.search(r"exit codes of the workers are \{(.*)\}", str(error))
    return f" (exit {found[1]})" if found else ""


_run_block: RunBlock | None = None
_start_error: Exception | None = None


def _start_worker(pickled: bytes, parent: int, folders: Sequence[str]) -> None:
    global _run_block, _start_error
    threading.Thread(target=_exit_with_parent, args=(parent, folders), daemon=True).start()
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded: there is a worker for each core already
    try:
        _run_block = cloudpickle.loads(pickled)
    except Exception as error:  # raised where it is needed: here it would end the worker, and be lost
        _start_error = error


def _exit_with_parent(parent: int, folders: Sequence[str]) -> None:
    """Wait until the process that started this worker was killed; then remove its folders and end this worker."""
    while os.getppid() == parent:
        time.sleep(1.0)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _run_in_worker(mark: str, block: Block) -> Any:
    try:
        if _run_block is None:
            assert _start_error is not None
            _start_error.add_note("raised when a worker process received what a run needs")
            raise _start_error
        with suppress(OSError):  # a full disk is not this run's fault
            Path(mark).touch()
        return _run_block(block, always)
    except Exception as error:
        if _can_be_pickled(error):
            raise
        instead = RuntimeError(f"{type(error).__name__}: {error}")  # code of others raised it, not a rule of ours
        instead.__notes__ = getattr(error, "__notes__", [])  # Python's attribute, there once a note was added
        raise instead from None
    finally:
        with suppress(OSError):
            Path(mark).unlink()


def _can_be_pickled(error: Exception) -> bool:
    """True if an exception can be sent to another process: some classes need more than the message to be made again."""
    try:
        cloudpickle.loads(cloudpickle.dumps(error))
    except Exception:
        return False
    return True
