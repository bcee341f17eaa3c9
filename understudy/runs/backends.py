"""Where runs run: here, in threads, or in processes."""

import io
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np

from understudy.contracts.backing import Backend, Block, RunBlock

LARGE = 1 << 20
"""Arrays of so many bytes or more reach other processes as memory maps."""

Results = Generator[tuple[Block, Any], None, None]
"""Blocks and their runs, as they finish."""


def always() -> bool:
    """True: runs are not cancelled."""
    return True


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_turn(run_block: RunBlock, blocks: Sequence[Block], workers: int) -> Results:
    """One run after another, in this thread."""
    for block in blocks:
        yield block, run_block(block, always)


def in_threads(run_block: RunBlock, blocks: Sequence[Block], workers: int) -> Results:
    """Runs in threads: for compiled loops, which let other threads work."""
    cancelled = threading.Event()
    with ThreadPoolExecutor(workers) as executor:
        yield from _as_finished(executor, lambda block: run_block(block, lambda: not cancelled.is_set()), blocks,
                                cancelled.set)  # fmt: skip


def in_processes(run_block: RunBlock, blocks: Sequence[Block], workers: int) -> Results:
    """Runs in processes: for loops in Python. What they need travels once, large arrays as memory maps."""
    from loky import ProcessPoolExecutor

    with tempfile.TemporaryDirectory(prefix="understudy-") as folder:
        parcel = _pack(run_block, Path(folder))
        executor = ProcessPoolExecutor(workers, initializer=_receive, initargs=(parcel, os.getpid(), folder))
        try:
            yield from _as_finished(executor, _perform, blocks, lambda: executor.shutdown(kill_workers=True))
        finally:
            executor.shutdown(kill_workers=True)


BACKENDS: dict[str, Backend] = {"serial": in_turn, "threads": in_threads, "processes": in_processes}


def _as_finished(
    executor: Executor, call: Callable[[Block], Any], blocks: Sequence[Block], cancel: Callable[[], None]
) -> Results:
    """Results as they come. Whatever ends this early - an error, Ctrl-C, the consumer - cancels the rest."""
    futures: dict[Future, Block] = {executor.submit(call, block): block for block in blocks}
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BaseException:
        for future in futures:
            future.cancel()
        cancel()
        raise


class _Pickler(cloudpickle.Pickler):
    """Pickles for our own workers, over a pipe; large arrays are left in files that they map into memory."""

    def __init__(self, file: Any, folder: Path) -> None:
        super().__init__(file)
        self.folder, self.n_files = folder, 0

    def reducer_override(self, thing: Any) -> Any:
        if type(thing) is np.ndarray and thing.nbytes >= LARGE and not thing.dtype.hasobject and 0 not in thing.strides:
            self.n_files += 1
            path = self.folder / f"{self.n_files}.npy"
            np.save(path, thing, allow_pickle=False)
            return _map, (str(path), thing.flags.writeable)
        return super().reducer_override(thing)


def _map(path: str, writeable: bool) -> np.ndarray:
    # Copy on write: workers see a writable array, and none sees what another writes.
    array = np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
    array.setflags(write=writeable)
    return array


def _pack(run_block: RunBlock, folder: Path) -> bytes:
    file = io.BytesIO()
    try:
        _Pickler(file, folder).dump(run_block)
    except Exception as error:
        error.add_note(
            "what a run needs cannot travel to other processes; make it in the factory, or use backend='serial'"
        )
        raise
    return file.getvalue()


_run_block: RunBlock | None = None


def _receive(parcel: bytes, parent: int, folder: str) -> None:
    global _run_block
    threading.Thread(target=_leave_with, args=(parent, folder), daemon=True).start()
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded: there is a worker for each core already
    _run_block = cloudpickle.loads(parcel)


def _leave_with(parent: int, folder: str) -> None:
    """End this worker once the process that started it was killed, and remove what that one can remove no more."""
    while os.getppid() == parent:
        time.sleep(1.0)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _perform(block: Block) -> Any:
    assert _run_block is not None
    try:
        return _run_block(block, always)
    except Exception as error:
        if not _travels(error):
            told = RuntimeError(f"{type(error).__name__}: {error}")
            told.__notes__ = getattr(error, "__notes__", [])
            raise told from None
        raise


def _travels(error: Exception) -> bool:
    """True if an exception can be made again in another process: some take more than the message they give."""
    try:
        cloudpickle.loads(cloudpickle.dumps(error))
    except Exception:
        return False
    return True
