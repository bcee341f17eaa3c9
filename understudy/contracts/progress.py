"""How far something has come, for people who wait: a bar on a terminal, elsewhere a plain line now and then."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread

Report = Callable[[int], None]
"""Told how many runs, epochs or fits are finished."""

FIRST = 10.0  # seconds until the first line
MINUTE = 60.0  # between two lines

_speaking = Lock()
"""Held by whoever prints lines: of what is done within, only the outermost is told."""


@contextmanager
def progress_bar(title: str, total: int, show: bool | None = None, done: int = 0) -> Iterator[Report]:
    """Show on standard error how many of a total are finished; `done` were before it began.

    By default as a bar where that is a terminal, and as a line after ten seconds and then each minute where it is not
    (a file, a pipe, a notebook's log). `show=True` draws the bar anywhere, `show=False` shows nothing.
    """
    if show is None and not _on_terminal():
        with _lines(title, total, done) as report:
            yield report
    elif show is False:
        yield lambda done: None
    else:
        with _bar(title, total, done) as report:
            yield report


@contextmanager
def pulse(beat: Callable[[], None], show: bool | None = None) -> Iterator[None]:
    """Call `beat` after ten seconds and then once a minute, from a thread of its own.

    By default only where no bars are drawn; and not within another pulse, whose lines say enough.
    """
    silent = sys.stderr is None or _on_terminal() if show is None else not show
    if silent or not _speaking.acquire(blocking=False):
        yield
        return
    over = Event()

    def beating() -> None:
        pause = FIRST
        with suppress(OSError, ValueError):  # whoever reads our output has seen enough, or it was closed
            while not over.wait(pause):
                beat()
                pause = MINUTE

    thread = Thread(target=beating, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        _speaking.release()


@contextmanager
def _bar(title: str, total: int, done: int) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:<24}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bars:
        bar = bars.add_task(title, total=total, completed=done)
        yield lambda done: bars.update(bar, completed=done)


@contextmanager
def _lines(title: str, total: int, before: int) -> Iterator[Report]:
    began, finished = time.monotonic(), before

    def report(done: int) -> None:
        nonlocal finished
        finished = done

    def say() -> None:
        spent, now = time.monotonic() - began, finished
        left = f", about {lasting(spent * (total - now) / (now - before))} left" if before < now < total else ""
        print(f"{title}: {now:,} of {total:,} after {lasting(spent)}{left}", file=sys.stderr, flush=True)

    with pulse(say):
        yield report


def lasting(seconds: float) -> str:
    """So many seconds as people say it.

    >>> lasting(9.6), lasting(200), lasting(9000)
    ('10 s', '3 min', '2 h 30 min')
    """
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
