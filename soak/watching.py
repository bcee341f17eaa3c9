"""What a process does while it reads an input: code it runs, files it writes, memory it takes, warnings it prints."""

import os
import resource
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from understudy.errors import UnderstudyError, UnderstudyWarning

MEMORY = 2 << 30
"""Bytes that reading an input may take beyond what the process has."""

LONGEST_MESSAGE = 2000

FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "subprocess.Popen",
             "pickle.find_class", "marshal.loads", "ctypes.dlopen", "socket.connect", "socket.bind", "os.remove",
             "os.rename", "os.link", "os.symlink", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate", "shutil.rmtree",
             "webbrowser.open", "os.putenv", "sys.addaudithook")  # fmt: skip
"""Events of Python's audit that no reader of ours may cause."""

PLANTED_MODULES = ("antigravity", "this", "planted")
"""Modules that forged files name; importing one would be running what a file says."""

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Outcome(NamedTuple):
    """How reading an input ended: `read`, `refused`, or what must not happen, with words that say more."""

    end: str
    words: str = ""

    @property
    def fine(self) -> bool:
        """True if this is allowed."""
        return self.end in ("read", "read as other values", "damage not noticed", "refused", "refused for memory")


class Watch:
    """Python's audit events of this process, noted while `armed`. There is one, since hooks cannot be removed."""

    def __init__(self) -> None:
        self.armed = False
        self.seen: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple) -> None:
        if not self.armed:
            return
        if event == "open":
            flags = arguments[2] if len(arguments) > 2 and isinstance(arguments[2], int) else 0
            if flags & WRITING and str(arguments[0]) != os.devnull:
                self.seen.append(f"opened {arguments[0]!r} to write")
        elif event in ("exec", "compile") and not _is_an_import():
            of = arguments[0].co_filename if event == "exec" else arguments[1]
            if not (event == "compile" and of in ("<unknown>", b"<unknown>")):  # ast.literal_eval runs nothing
                self.seen.append(f"{event} {of!r}")
        elif event in FORBIDDEN and not _is_an_import() and not (event == "os.mkdir" and os.path.isdir(arguments[0])):
            self.seen.append(f"{event} {arguments!r}"[:200])


def _is_an_import() -> bool:
    """True if Python's own import is at work: modules of ours and of others are loaded when they are first needed."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


_WATCH: Watch | None = None


def the_watch() -> Watch:
    """Return the watch of this process."""
    global _WATCH
    if _WATCH is None:
        _WATCH = Watch()
    return _WATCH


def limit_memory(more: int = MEMORY) -> None:
    """Let this process have so many bytes more of address space than it has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * os.sysconf("SC_PAGE_SIZE") + more,) * 2)


def limit_processor_time(seconds: int) -> None:
    """Let this process use so many more seconds of its processor; then the system ends it (SIGXCPU)."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds + 1, resource.RLIM_INFINITY))


@contextmanager
def _armed() -> Iterator[Watch]:
    watch = the_watch()
    watch.seen.clear()
    watch.armed = True
    try:
        yield watch
    finally:
        watch.armed = False


def outcome_of(read: Callable[[], Any], folder: Path, canary: Path) -> tuple[Outcome, Any]:
    """Call `read`. Return how that ended and what it returned. `folder` must not change, and `canary` not appear."""
    files, value = files_in(folder), None
    with warnings.catch_warnings(record=True) as warned, _armed() as watch:
        warnings.simplefilter("always")
        try:
            value = read()
            outcome = Outcome("read")
        except UnderstudyError as error:
            outcome = _refusal(str(error))
        except ModuleNotFoundError as error:  # an extra: the message says how to install it
            outcome = _refusal(str(error)) if "pip install" in str(error) else Outcome("raised", repr(error))
        except Exception as error:  # whatever it is, that is what is looked for
            outcome = Outcome("raised", _where(error))
        seen = list(watch.seen)
    if canary.exists() or any(name in sys.modules for name in PLANTED_MODULES):
        shutil.rmtree(canary, ignore_errors=True)
        return Outcome("code run", "the canary is there"), value
    if seen:
        return Outcome("code run" if "opened" not in seen[0] else "written", "; ".join(seen[:3])), value
    if files_in(folder) != files:
        return Outcome("written", "the folder has changed"), value
    others = [one for one in warned if not issubclass(one.category, UnderstudyWarning)]
    if others and outcome.fine:
        return Outcome("warned", f"{others[0].category.__name__}: {others[0].message} at {others[0].filename}"), value
    return outcome, value


def _refusal(message: str) -> Outcome:
    if "\n" in message or len(message) > LONGEST_MESSAGE or not message.strip():
        return Outcome("no sentence", message[:300])
    memory = any(word in message.lower() for word in ("memory", "malloc", "alloc"))
    return Outcome("refused for memory" if memory else "refused", message[:300])


def _where(error: BaseException) -> str:
    """Return an error with the last lines of the library that it came through."""
    frames, trace = [], error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        frames.append(f"{'/'.join(name.split('/')[-3:])}:{trace.tb_lineno}")
        trace = trace.tb_next
    return f"{type(error).__name__}: {str(error)[:200]} at {' > '.join(frames[-4:])}"


def files_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Return the size and the time of each file below a folder."""
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            about = os.lstat(path)
            found[path] = (about.st_size, about.st_mtime_ns)
    return found
