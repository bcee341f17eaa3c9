"""Rows of a log on disk, asked for before a run needs them.

A run that waits for its disk waits for one page after another. But which episodes the tape reads next is known: its
order is a function of the seed. So a thread draws the same order a little ahead of the run, and asks the system for the
pages of these episodes, many at a time. It changes nothing of a run, and without it runs are the same.
"""

import mmap
import os
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from understudy.contracts.compiling import routine
from understudy.contracts.streams import ORDER
from understudy.mapped import advise_in_order, advise_random, file_below, reserved
from understudy.simulators.kernels import layout
from understudy.simulators.kernels.tape import BLOCK_END, Tape, shuffle_step

AHEAD = 256
"""How many entries of the tape are asked for ahead of the run, and of twice as many where they begin."""

TOGETHER = 32  # entries that are drawn together
PAUSE = 0.0002  # seconds between two looks at where the run is
LONG_PAUSE = 0.02  # where the run is faster than the thread: its pages are in memory
PAGE = mmap.PAGESIZE


def read_ahead_of(rehearsal: Any, tape: Tape) -> None:
    """Ask for pages ahead of a rehearsal of a log on disk, until it is gone. Its seed must not have been used yet."""
    rules = tape.rules
    columns = [array for array in (*tape.records, tape.queue_of) if file_below(array) is not None]
    if rules[layout.READ_ORDER] == layout.IN_LOG_ORDER:
        advise_in_order(*columns, tape.episodes, tape.opening)  # the system reads ahead by itself
        return
    maps = _Maps([*columns, tape.episodes, tape.opening])
    maps.begin()
    weakref.finalize(rehearsal, maps.end)
    if sys.platform != "linux" or not columns:
        return
    over = threading.Event()
    with suppress(OSError):  # a file that was removed since: the run reads its map by itself
        reader = _Reader(tape, columns, over)
        threading.Thread(target=reader.run, daemon=True, name="reading ahead").start()
        weakref.finalize(rehearsal, over.set)


class _Maps:
    """Arrays that are read at random as long as any rehearsal reads them, and in order by all else."""

    users: ClassVar[Counter[int]] = Counter()  # how many rehearsals read each map
    lock = threading.RLock()  # the end of a rehearsal may be found by Python while this thread holds it

    def __init__(self, arrays: list[np.ndarray]) -> None:
        self._arrays = arrays

    def begin(self) -> None:
        with self.lock:
            self.users.update(map(_address, self._arrays))
            advise_random(*self._arrays)

    def end(self) -> None:
        with self.lock:
            self.users.subtract(map(_address, self._arrays))
            advise_in_order(*(array for array in self._arrays if not self.users[_address(array)]))


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


class _Reader:
    """Draws the order of a tape ahead of it; it holds no reference to the rehearsal."""

    def __init__(self, tape: Tape, columns: list[np.ndarray], over: threading.Event) -> None:
        self._cursor, self._streams, self._over = tape.cursor, tape.streams.copy(), over
        self._by_rows = tape.rules[layout.READ_ORDER] == layout.BY_ROWS
        self._episodes, self._n = tape.episodes, len(tape.order)
        self._order = reserved(self._n, np.int32)
        small = [] if self._by_rows else [tape.episodes, tape.opening]
        self._files = _Files()
        self._columns = [(self._files.open(array), array.strides[0]) for array in columns]
        self._small = [(self._files.open(array), array.strides[0]) for array in small if file_below(array) is not None]
        self._drawn = np.empty(self._n if self._n < 2 * AHEAD else 2 * AHEAD, np.int64)  # a ring

    def run(self) -> None:
        """Ask for pages until the run is over."""
        try:
            self._run()
        finally:
            self._files.close()

    def _run(self) -> None:
        n_drawn = n_asked = 0
        while not self._over.is_set():
            n_read = int(self._cursor[layout.TAPE_READ])
            if n_read >= self._n:
                return
            overtaken = n_asked < n_read - TOGETHER
            while n_drawn < min(n_read + 2 * AHEAD, self._n):
                end = min(n_drawn + TOGETHER, n_read + 2 * AHEAD, self._n)
                draw(self._order, self._episodes, self._by_rows, n_drawn, end, self._streams, self._drawn)
                if end > n_read:
                    for place in range(max(n_drawn, n_read), end):
                        entry = int(self._drawn[place % len(self._drawn)])
                        for file, width in self._small:
                            ask(file, width, entry, entry + 1)
                n_drawn = end
            n_asked = max(n_asked, n_read)
            end = min(n_asked + TOGETHER, n_read + AHEAD, self._n)
            for first, last in self._rows(n_asked, end):
                for file, width in self._columns:
                    ask(file, width, first, last)
            done, n_asked = n_asked == end, max(n_asked, end)
            if overtaken or done:
                self._over.wait(LONG_PAUSE if overtaken else PAUSE)

    def _rows(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the first row, and that after the last, of some entries of the tape."""
        for place in range(begin, end):
            entry = int(self._drawn[place % len(self._drawn)])
            yield (
                (entry, entry + 1) if self._by_rows else (int(self._episodes[entry, 0]), int(self._episodes[entry, 1]))
            )


class _Files:
    """Open files, closed together."""

    def __init__(self) -> None:
        self._open: list[int] = []

    def open(self, array: np.ndarray) -> int:
        """Return a new handle of the file that an array is all of, or the first part of."""
        try:
            self._open.append(os.open(str(file_below(array)), os.O_RDONLY))
        except OSError:
            self.close()
            raise
        return self._open[-1]

    def close(self) -> None:
        while self._open:
            os.close(self._open.pop())


def ask(file: int, width: int, first: int, last: int) -> None:
    """Ask the system to read some rows of a file, of so many bytes each."""
    begin = first * width // PAGE * PAGE
    os.posix_fadvise(file, begin, last * width - begin, os.POSIX_FADV_WILLNEED)


@routine
def draw(order, episodes, by_rows, begin, end, streams, drawn):
    """Draw entries of a tape's order, as the tape draws them, into a ring."""
    for position in range(begin, end):
        block_end = len(order) if by_rows else np.int64(episodes[position, BLOCK_END])
        drawn[position % len(drawn)] = shuffle_step(order, position, block_end, streams, ORDER)
