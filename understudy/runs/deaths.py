"""Worker processes that died: at which blocks, and how."""

import signal
from collections.abc import Sequence


class WorkersDied(Exception):  # noqa: N818 (it is dealt with)
    """Worker processes died: at the blocks with these places; none where they had not begun one."""

    def __init__(self, places: set[int], exits: str) -> None:
        super().__init__(f"worker processes died{exits}")
        self.places, self.exits = places, exits


def exit_in_words(codes: Sequence[int]) -> str:
    """Return the exit codes of processes, in words for a message; empty where there are none.

    >>> exit_in_words([-9, 3])
    ' (exit SIGKILL(-9), EXIT(3))'
    """
    return f" (exit {', '.join(dict.fromkeys(map(_named, codes)))})" if codes else ""


def _named(code: int) -> str:
    try:
        return f"{signal.Signals(-code).name}({code})"
    except ValueError:
        return f"EXIT({code})"
