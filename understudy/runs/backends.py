"""Where runs are made: in this thread, in several threads, or in processes."""

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
"""Arrays of this many bytes or more are sent to other processes as memory maps."""

Results = Generator[tuple[Block, Any], None, None]
"""An iterator over blocks and their runs, in the order in which they finish."""


def always() -> bool:
    """Return True: the run is not cancelled."""
    return True


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    has_affinity = hasattr(os, "sched_getaffinity")  # a function of Python's own that not every system has
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def in_turn(run_block: RunBlock, blocks: Sequence[Block], workers: int) -> Results:
    """Yield runs made one after another, in this thread."""
    for block in blocks:
        yield block, run_block(block, always)


def in_threads(run_block: RunBlock, blocks: Sequence[Block], workers: int) -> Results:
    """Yield runs made in threads: for compiled loops, which let other threads work."""
    cancelled = threading.Event()
    with ThreadPoolExecutor(workers) as executor:
        yield from _as_finished(executor, lambda block: run_block(block, lambda: not cancelled.is_set()), blocks,
                                cancelled.set)  # fmt: skip


def in_processes(run_block: RunBlock, blocks: Sequence[Block], workers: int) -> Results:
    """Yield runs made in processes: for loops in Python. What they need is sent once, large arrays as memory maps."""
    from loky import ProcessPoolExecutor

    with tempfile.TemporaryDirectory(prefix="understudy-") as folder:
        pickled = _pickle(run_block, Path(folder))
        executor = ProcessPoolExecutor(workers, initializer=_start_worker, initargs=(pickled, os.getpid(), folder))
        try:
            yield from _as_finished(executor, _run_in_worker, blocks, lambda: executor.shutdown(kill_workers=True))
        finally:
            executor.shutdown(kill_workers=True)


BACKENDS: dict[str, Backend] = {"serial": in_turn, "threads": in_threads, "processes": in_processes}


def _as_finished(
    executor: Executor, call: Callable[[Block], Any], blocks: Sequence[Block], cancel: Callable[[], None]
) -> Results:
    """Yield results as they finish. Whatever ends this early (an error, Ctrl-C, `close`) cancels the rest."""
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
    """Pickles for our own workers, over a pipe; large arrays are written to files that workers map into memory."""

    def __init__(self, file: Any, folder: Path) -> None:
        super().__init__(file)
        self.folder, self.n_files = folder, 0

    def reducer_override(self, thing: Any) -> Any:
        if type(thing) is np.ndarray and thing.nbytes >= LARGE and not thing.dtype.hasobject and 0 not in thing.strides:
            self.n_files += 1
            path = self.folder / f"{self.n_files}.npy"
            np.save(path, thing, allow_pickle=False)
            return _mapped_array, (str(path), thing.flags.writeable)
        return super().reducer_override(thing)


def _mapped_array(path: str, writeable: bool) -> np.ndarray:
    # Copy on write: each worker may write on its array, and no other sees it.
    array = np.asarray(np.load(path, mmap_mode="c", allow_pickle=False))
    array.setflags(write=writeable)
    return array


def _pickle(run_block: RunBlock, folder: Path) -> bytes:
    file = io.BytesIO()
    try:
        _Pickler(file, folder).dump(run_block)
    except Exception as error:
        error.add_note(
            "what a run needs cannot be sent to other processes; make it in the factory, or use backend='serial'"
        )
        raise
    return file.getvalue()


_run_block: RunBlock | None = None


def _start_worker(pickled: bytes, parent: int, folder: str) -> None:
    global _run_block
    threading.Thread(target=_exit_with_parent, args=(parent, folder), daemon=True).start()
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded: there is a worker for each core already
    _run_block = cloudpickle.loads(pickled)


def _exit_with_parent(parent: int, folder: str) -> None:
    """Wait until the process that started this worker was killed; then remove its folder and end this worker."""
    while os.getppid() == parent:
        time.sleep(1.0)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _run_in_worker(block: Block) -> Any:
    assert _run_block is not None
    try:
        return _run_block(block, always)
    except Exception as error:
        if _can_be_pickled(error):
            raise
        instead = RuntimeError(f"{type(error).__name__}: {error}")  # code of others raised it, not a rule of ours
        instead.__notes__ = getattr(error, "__notes__", [])  # Python's attribute, there once a note was added
        raise instead from None


def _can_be_pickled(error: Exception) -> bool:
    """True if an exception can be sent to another process: some classes need more than the message to be made again."""
    try:
        cloudpickle.loads(cloudpickle.dumps(error))
    except Exception:
        return False
    return True
