"""Progress of long work, for people who wait: a bar on a terminal or in a notebook, elsewhere a line now and then."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from html import escape
from threading import Event, Lock, Thread

Report = Callable[[float], None]
"""A function that is called with the number of runs, epochs or fits that are finished; half of one is 0.5."""

FIRST_AFTER = 10.0  # seconds until the first line
THEN_EVERY = 60.0  # seconds between two lines
BETWEEN_PICTURES = 0.2  # seconds between two pictures of a bar in a notebook, which has to send each of them

_silence = Event()
"""Set where progress is not to be shown at all."""

_printing = Lock()
"""Held while lines are printed: where one task is part of another, only the outer one prints."""


@contextmanager
def progress_bar(title: str, total: int | None, show: bool | None = None, done: int = 0) -> Iterator[Report]:
    """Context manager: show on standard error how many of a total are finished; `done` of them were at the start.

    Where the total is None nobody knows it, and the time that is left is not shown.

    By default as a bar where that is a terminal, as one below the cell of a notebook, and elsewhere (a file, a pipe) as
    a line after ten seconds and then each minute. `show=True` draws the bar anywhere, `show=False` shows nothing.
    """
    if _silence.is_set() or total == 0:  # nothing to wait for
        show = False
    if show is not False and _in_notebook():
        with _bar_below_cell(title, total, done) as report:
            yield report
    elif show is None and not _on_terminal():
        with _lines(title, total, done) as report:
            yield report
    elif show is False:
        yield lambda done: None
    else:
        with _bar(title, total, done) as report:
            yield report


@contextmanager
def silenced() -> Iterator[None]:
    """Context manager: no progress is shown, in no thread of this process."""
    before = _silence.is_set()
    _silence.set()
    try:
        yield
    finally:
        if not before:
            _silence.clear()


@contextmanager
def every_minute(call: Callable[[], None], show: bool | None = None) -> Iterator[None]:
    """Context manager: call a function after ten seconds and then once a minute, in a thread of its own.

    By default only where no bars are drawn; and not within another `every_minute`, whose lines are enough.
    """
    silent = sys.stderr is None or _on_terminal() if show is None else not show
    if silent or _silence.is_set() or not _printing.acquire(blocking=False):
        yield
        return
    over = Event()

    def call_now_and_then() -> None:
        pause = FIRST_AFTER
        with suppress(OSError, ValueError):  # standard error was closed, here or by who reads it
            while not over.wait(pause):
                call()
                pause = THEN_EVERY

    thread = Thread(target=call_now_and_then, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        _printing.release()


@contextmanager
def _bar(title: str, total: int | None, done: int) -> Iterator[Report]:
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
def _bar_below_cell(title: str, total: int | None, done: int) -> Iterator[Report]:
    from IPython.display import HTML, display

    began, shown_at = time.monotonic(), -1.0

    def picture(now: float, over: bool = False) -> HTML:
        spent = time.monotonic() - began
        of_all = "" if total is None else f" of {total:,}"
        left = f", about {duration_in_words(spent * (total - now) / (now - done))} left" if total and done < now else ""
        bar = "" if over else f'<progress value="{now}" max="{total or 1}" style="width:16em"></progress> '
        words = f"{title}: {int(now):,}{of_all} after {duration_in_words(spent)}{'' if over else left}"
        return HTML(f"<small>{bar}{escape(words)}</small>")

    shown, last = display(picture(done), display_id=True), float(done)

    def report(now: float) -> None:
        nonlocal shown_at, last
        last = now
        if time.monotonic() - shown_at > BETWEEN_PICTURES:
            shown_at = time.monotonic()
            shown.update(picture(now))

    try:
        yield report
    finally:
        shown.update(picture(last, over=True))


@contextmanager
def _lines(title: str, total: int | None, before: int) -> Iterator[Report]:
    began, finished = time.monotonic(), float(before)

    def report(done: float) -> None:
        nonlocal finished
        finished = done

    def print_line() -> None:
        spent, now = time.monotonic() - began, finished
        of_all, left = "", ""
        if total is not None:
            of_all = f" of {total:,}"
            if before < now < total:
                left = f", about {duration_in_words(spent * (total - now) / (now - before))} left"
        print(f"{title}: {int(now):,}{of_all} after {duration_in_words(spent)}{left}", file=sys.stderr, flush=True)

    with every_minute(print_line):
        yield report


def duration_in_words(seconds: float) -> str:
    """Return a number of seconds as people say it.

    >>> duration_in_words(9.6), duration_in_words(200), duration_in_words(9000)
    ('10 s', '3 min', '2 h 30 min')
    """
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _in_notebook() -> bool:
    """True if this is run by the kernel of a notebook."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return type(get_ipython()).__name__ == "ZMQInteractiveShell"
