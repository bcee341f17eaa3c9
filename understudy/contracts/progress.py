"""How far something has come, for people who wait."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

Report = Callable[[int], None]
"""Told how many runs, epochs or fits are finished."""

MINUTE = 60.0


@contextmanager
def progress_bar(title: str, total: int, show: bool | None = None) -> Iterator[Report]:
    """A bar on standard error; by default only where that is a terminal."""
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda done: None
        return
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
        bar = bars.add_task(title, total=total)
        yield lambda done: bars.update(bar, completed=done)


@contextmanager
def pulse(beat: Callable[[], None], show: bool | None = None) -> Iterator[None]:
    """Call `beat` once a minute, from a thread of its own; by default only where no bars are drawn."""
    if sys.stderr.isatty() if show is None else not show:
        yield
        return
    over = Event()

    def beating() -> None:
        with suppress(BrokenPipeError):  # whoever reads our output has seen enough
            while not over.wait(MINUTE):
                beat()

    thread = Thread(target=beating, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
