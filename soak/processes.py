"""Processes that are started, watched and killed: their session, their workers, what they say and leave behind."""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

NOISE = ("Traceback", "InvalidStateError", "Exception ignored", "Error in", "BrokenPipe", "core dumped")
"""What no driver may say, however it ends."""


WORKERS = (b"LokyProcess", b"fork_server")
"""What the command lines of worker processes hold."""


class Ended(NamedTuple):
    """How a process ended: its exit code (negative: the signal), what it said, what it left in its temporary folder."""

    code: int
    said: str
    seconds: float
    left: list[str]
    stayed: list[int]
    """Processes of its session that were still there when it had ended and they should have noticed."""

    @property
    def noise(self) -> list[str]:
        """Lines that no driver may say."""
        return [line for line in self.said.splitlines() if any(word in line for word in NOISE)]


class Driver:
    """A command in a session and with a temporary folder of its own."""

    def __init__(self, command: list[str], scratch: Path, **environment: str) -> None:
        self.temporary = Path(environment.get("TMPDIR") or scratch / f"tmp-{time.monotonic_ns()}")
        self.temporary.mkdir(exist_ok=True)
        self.said = scratch / f"said-{time.monotonic_ns()}.txt"
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells start what runs in the background
            signal.signal(signal.SIGINT, signal.default_int_handler)
        with self.said.open("wb") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True,
                env={**os.environ, "TMPDIR": str(self.temporary), **environment},
            )  # fmt: skip
        self.began = time.monotonic()

    def running(self) -> bool:
        """True if it has not ended."""
        return self.process.poll() is None

    def workers(self) -> list[int]:
        """Return the ids of its worker processes, that which forks them included."""
        others = [pid for pid in session(self.process.pid) if pid != self.process.pid]
        return [pid for pid in others if any(word in command_of(pid) for word in WORKERS)]

    def kill(self, target: str, number: signal.Signals, choice: int = 0) -> str:
        """Send a signal to the driver, to a worker (where there is one), or to the whole session. Return to which."""
        workers = self.workers() if target == "worker" else []
        if target == "worker" and workers:
            send(workers[choice % len(workers)], number)
            return "worker"
        if target == "all":
            for pid in session(self.process.pid):
                send(pid, number)
            return "all"
        send(self.process.pid, number)
        return "driver"

    def wait(self, seconds: float) -> Ended | None:
        """Return how it ended; None where it has not within so many seconds, and is killed then."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill("all", signal.SIGKILL)
            self.process.wait()
            return None
        took, until = time.monotonic() - self.began, time.monotonic() + 20
        while (stayed := session(self.process.pid)) and time.monotonic() < until:
            time.sleep(0.05)
        for pid in stayed:
            send(pid, signal.SIGKILL)
        left = sorted(path.name for path in self.temporary.iterdir()) if self.temporary.exists() else []
        return Ended(code, self.said.read_text(encoding="utf-8", errors="replace"), took, left, stayed)

    def forget(self) -> None:
        """Remove its temporary folder and what it said."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.said.unlink(missing_ok=True)


def job(name: str, folder: Path) -> list[str]:
    """Return the command of a job of `soak.jobs`."""
    return [sys.executable, "-m", "soak.jobs", name, str(folder)]


def understudy(*arguments: str) -> list[str]:
    """Return a command of the library's own."""
    return [sys.executable, "-m", "understudy", *arguments]


def session(leader: int) -> list[int]:
    """Return the ids of the processes in a session that have not ended."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = (
                    Path(f"/proc/{name}/stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
                )
            except (OSError, IndexError):
                continue
            if int(fields[3]) == leader and fields[0] not in "ZX":
                found.append(int(name))
    return found


def command_of(pid: int) -> bytes:
    """Return the command line of a process; empty where it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process, if it is there."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)
