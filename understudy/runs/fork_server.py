"""A process that loads what runs need, once, and forks workers that share its memory; and what those workers do.

It has no threads: memory that another thread had locked would stay locked in its workers forever. Where what it loads
starts threads or uses a GPU, it says so, and nothing is forked.
"""

import gc
import os
import shutil
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle

import cloudpickle
import numpy as np

from understudy.contracts.backing import Block, RunBlock, SharedStart
from understudy.contracts.offering import offers
from understudy.runs.sending import sendable

HARMLESS = ("jemalloc_bg_thd",)
"""Names of threads that take care of forks themselves."""

UNTIL_ENDED = 0.5
"""Seconds that threads have to end: those that read a log on disk ahead of a run end with it, not at once."""

TELL_EVERY = 0.2
"""Seconds between two messages of how far a block is."""

UNTIL_GONE = 5.0
"""Seconds in which a process that was killed is gone, once the system has closed its pipes: it does so first."""

END = "end"
"""What is asked of this process where all went well, and its folders are removed by the process that made them."""


def serve(fd: int, parent: int, folders: Sequence[str]) -> None:
    """Load what runs need, as the process `parent` sends it, and fork a worker for each request of it.

    When that process is gone without having asked for the end, remove its folders; workers end with this process.
    """
    control, workers, asked_to_end = Connection(fd), set[int](), False
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded: there is a worker for each core already
    try:
        loaded = load(control.recv_bytes())
        control.send(can_fork())
        while True:
            if not control.poll(1.0):
                if os.getppid() != parent:
                    raise EOFError
                continue
            request, *arguments = control.recv()
            if request == END:
                asked_to_end = True
                raise EOFError
            if request == "fork":
                worker = forked(control, loaded, folders)
                workers.add(worker)
                control.send(worker)
            else:
                workers.remove(arguments[0])
                control.send(os.waitstatus_to_exitcode(os.waitpid(arguments[0], 0)[1]))
    except (EOFError, OSError):  # the other end was closed, or its process killed
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        for worker in workers:
            os.waitpid(worker, 0)
        if not asked_to_end and is_gone(parent):
            remove_all(folders)
    finally:
        os._exit(0)


def is_gone(parent: int) -> bool:
    """Wait until the process that started this one is gone, not for long, and return whether it is."""
    last = time.monotonic() + UNTIL_GONE
    while os.getppid() == parent and time.monotonic() < last:
        time.sleep(0.02)
    return os.getppid() != parent


def load(pickled: bytes) -> Callable[[], RunBlock]:
    """Return a function that returns what was pickled, loaded once, or raises what was raised then."""
    try:
        run_block = cloudpickle.loads(pickled)
        if offers(run_block, SharedStart):
            run_block.load_shared()
    except Exception as error:  # raised where a block is made: here it would be lost
        error.add_note("raised when a worker process received what a run needs")
        failed = error

        def fail() -> RunBlock:
            raise failed

        return fail
    return lambda: run_block


def can_fork() -> bool:
    """True if this process has no thread that a fork would lose, and no GPU, which forked processes cannot use.

    A fork is tried: NumPy's and SciPy's linear algebra end their threads then, and start them again where they need
    them.
    """
    gc.collect()
    gc.freeze()  # what is there now is not looked at again, and so stays shared
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's, of threads: they are looked at below
        tried = os.fork()
    if tried == 0:
        os._exit(0)
    os.waitpid(tried, 0)
    last = time.monotonic() + UNTIL_ENDED
    while n_threads() > 1 and time.monotonic() < last:
        time.sleep(0.02)
    torch = sys.modules.get("torch")
    return n_threads() == 1 and (torch is None or not torch.cuda.is_initialized())


def n_threads() -> int:
    """Return the number of threads of this process, those that take care of forks left out."""
    names = []
    for thread in os.listdir("/proc/self/task"):
        with suppress(OSError), open(f"/proc/self/task/{thread}/comm") as file:  # it may have ended
            names.append(file.read().strip())
    return sum(name not in HARMLESS for name in names)


def forked(control: Connection, loaded: Callable[[], RunBlock], folders: Sequence[str]) -> int:
    """Fork a worker with the pipe that `control` sends next, and return its process number."""
    fd, server = recv_handle(control), os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    worker = os.fork()
    if worker:
        os.close(fd)
        return worker
    try:
        control.close()
        pipe = Connection(fd)
        # Processes that a learner starts must not hold this end: nobody would see this one die as long as they live.
        os.set_inheritable(fd, False)
        os.register_at_fork(after_in_child=pipe.close)
        threading.Thread(target=exit_with_parent, args=(server, folders), daemon=True).start()
        renew_random_numbers()
        work(pipe, loaded)
    except (EOFError, OSError):  # nobody waits for results any more
        pass
    finally:
        os._exit(0)


def renew_random_numbers() -> None:
    """Seed the generators of whole modules anew: those of all workers would yield the same numbers.

    (Python's own does so by itself.)
    """
    np.random.seed()  # noqa: NPY002 (it is there for learners of others)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.seed()


def exit_with_parent(parent: int, folders: Sequence[str]) -> None:
    """Wait until the process that started this worker is gone; then remove folders and end this worker."""
    while os.getppid() == parent:
        time.sleep(1.0)
    remove_all(folders)
    os._exit(1)


def remove_all(folders: Sequence[str]) -> None:
    """Remove the temporary folders of a process that was killed."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


class Wanted:
    """What a block is made with in a worker: it is never cancelled (the worker is killed), and tells how far it is."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._told = pipe, time.monotonic()

    def __call__(self) -> bool:
        return True

    def tell_share(self, share: float) -> None:
        """Send how far the block is, now and then."""
        now = time.monotonic()
        if now - self._told >= TELL_EVERY:
            self._told = now
            with suppress(OSError):  # the experiment was killed, which is not this run's fault
                self._pipe.send(("share", share))


def work(pipe: Connection, loaded: Callable[[], RunBlock]) -> None:
    """Make the blocks that a pipe sends, and send what becomes of each: its runs, or its error."""
    while True:
        block: Block = pipe.recv()
        try:
            message = cloudpickle.dumps(("made", loaded()(block, Wanted(pipe))))
        except Exception as error:
            told = "".join(traceback.format_exception(error))
            message = cloudpickle.dumps(("raised", sendable(error), told))
        with suppress(OSError, ValueError):  # what a learner prints is seen even though this process will be killed
            sys.stdout.flush()
        pipe.send_bytes(message)
