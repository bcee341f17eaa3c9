"""Blocks of runs made by processes that are forked from one another process, which has loaded what they need.

So they share its modules, compiled code and arrays. A worker that dies takes nothing with it but the block it was at.
"""

import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import send_handle
from typing import Any

import cloudpickle

from understudy.contracts.backing import Block
from understudy.runs.deaths import WorkersDied, exit_in_words
from understudy.runs.fork_server import END

AHEAD = 4
"""Where this many blocks wait for each worker, each has one more at hand: short runs do not wait for this process."""

SECONDS_TO_END = 10.0
"""After which the process that forks is killed, where it does not end by itself."""


class CannotFork(Exception):  # noqa: N818 (it is not an error)
    """What runs need starts threads or uses a GPU when it is loaded: workers must be started by other means."""


class TextOfWorker(Exception):  # noqa: N818 (the cause of an error, as text)
    """The traceback of an error that was raised in a worker, as it would have been printed there."""

    def __str__(self) -> str:
        return f"in a worker process:\n\n{self.args[0]}"


def can_try_forking() -> bool:
    """True if this system's processes can be forked safely where they have no threads, and threads can be seen."""
    return sys.platform == "linux" and os.path.isdir("/proc/self/task")


class ForkServer:
    """The process that loads what runs need and forks workers, as seen from the process that started it."""

    def __init__(self, pickled: bytes, folders: Sequence[str]) -> None:
        ours, theirs = socket.socketpair()
        path = [one for one in sys.path if isinstance(one, str)]  # Python itself leaves out others
        script = (
            f"import sys; sys.path[:] = {path!r}; from understudy.runs.fork_server import serve; "
            f"serve({theirs.fileno()}, {os.getpid()}, {list(folders)!r})"
        )
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # as multiprocessing does
        with theirs, without_interrupts():  # workers inherit it: Ctrl-C is for this process, which ends them
            self._process = subprocess.Popen([sys.executable, *flags, "-c", script], pass_fds=[theirs.fileno()])
        self._control = Connection(ours.detach())
        try:
            with self._explained():
                self._control.send_bytes(pickled)
                may_fork = self._control.recv()
            if not may_fork:
                raise CannotFork
        except BaseException:
            self.close()
            raise

    def fork(self) -> tuple[Connection, int]:
        """Return the pipe to a new worker, and its process number."""
        ours, theirs = socket.socketpair()
        with self._explained(), theirs:
            self._control.send(("fork",))
            send_handle(self._control, theirs.fileno(), self._process.pid)
            return Connection(ours.detach()), self._control.recv()

    def exit_code(self, worker: int) -> int:
        """Return the exit code of a worker that has died."""
        with self._explained():
            self._control.send(("wait", worker))
            return self._control.recv()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Context manager: where this process's counterpart is gone, raise `WorkersDied`."""
        try:
            yield
        except TimeoutError:  # raised by somebody's alarm: no pipe does
            raise
        except (EOFError, OSError) as error:
            self.close()
            raise WorkersDied(set(), exit_in_words([self._process.returncode])) from error

    def close(self) -> None:
        """End the process, and with it all workers."""
        with suppress(OSError):  # it is gone, or was sent more than it has read: then it finds the pipe closed
            os.set_blocking(self._control.fileno(), False)
            self._control.send((END,))
        self._control.close()
        try:
            self._process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def in_forked_workers(
    blocks: dict[int, Block], workers: int, pickled: bytes, folders: Sequence[str], hear: Callable[[Block, float], None]
) -> Generator[tuple[int, Any], None, None]:
    """Yield the place of each block with its runs, as they finish; `hear` is told how far a block is.

    Raise `WorkersDied` at the end, where workers have died: a new one took the place of each. Raise `CannotFork` at
    once where that is not safe. Whatever ends this early (an error, Ctrl-C, `close`) kills the workers.
    """
    server = ForkServer(pickled, folders)
    waiting, died, codes = deque(blocks), set[int](), list[int]()
    at: dict[Connection, deque[int]] = {}
    processes: dict[Connection, int] = {}

    def hand_out(pipe: Connection) -> None:
        """Give a worker what it is to do next."""
        n = 2 if len(waiting) > AHEAD * workers else 1
        while waiting and len(at[pipe]) < n:
            at[pipe].append(waiting.popleft())
            with suppress(OSError):  # it died, which is found out when it is listened to
                pipe.send(blocks[at[pipe][-1]])

    def start_worker() -> None:
        pipe, process = server.fork()
        at[pipe], processes[pipe] = deque(), process
        hand_out(pipe)

    def bury(pipe: Connection) -> None:
        """Take note of a worker that has died, and start another one if there is work for it."""
        codes.append(server.exit_code(processes.pop(pipe)))
        under_way, *not_begun = at.pop(pipe)
        died.add(under_way)
        waiting.extendleft(reversed(not_begun))
        pipe.close()
        if waiting:
            start_worker()

    try:
        for _ in range(min(workers, len(blocks))):
            start_worker()
        while any(at.values()):
            for pipe in wait([pipe for pipe, places in at.items() if places]):
                assert isinstance(pipe, Connection)
                try:
                    kind, *content = cloudpickle.loads(pipe.recv_bytes())
                except TimeoutError:  # raised by somebody's alarm: no pipe does
                    raise
                except (EOFError, OSError):
                    bury(pipe)
                    continue
                if kind == "share":
                    hear(blocks[at[pipe][0]], content[0])
                elif kind == "raised":
                    raise content[0] from TextOfWorker(content[1])
                else:
                    place = at[pipe].popleft()
                    hand_out(pipe)
                    yield place, content[0]
        if died:
            raise WorkersDied(died, exit_in_words(codes))
    except WorkersDied as error:  # of the process that forks, all workers that are at a block died with it
        under_way = {places[0] for places in at.values() if places}
        raise WorkersDied(died | error.places | under_way, exit_in_words(codes) or error.exits) from error.__cause__
    finally:
        for pipe in at:
            pipe.close()
        server.close()


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Context manager: Ctrl-C waits until its end, and is not sent to processes that are started within."""
    if not hasattr(signal, "pthread_sigmask"):  # a function of Python's own that not every system has
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
