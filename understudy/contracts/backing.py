"""What a backend of `experiment` promises."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

Block = tuple[Any, ...]
"""The numbers of runs that are made together, in one call."""

RunBlock = Callable[[Block, Callable[[], bool]], Any]
"""Makes the runs of a block. The second argument is called now and then; where it returns False, runs are cancelled."""


@runtime_checkable
class Closable(Protocol):
    """An iterator that can be closed early, as generators can. Gained: what a backend still does is cancelled."""

    def close(self) -> None:
        """End the iterator now."""


@runtime_checkable
class Backend(Protocol):
    """Decides where and when runs are made. Given to `experiment(backend=...)`, or named by a string of ours.

    Promised: every block is passed to `run_block` once, and comes back with what that returned, in any order. Runs
    depend on their numbers alone, so the results are the same whatever the backend. `run_block` can be pickled by
    cloudpickle. Gained: runs on whatever machines the backend knows of.
    """

    def __call__(self, run_block: RunBlock, blocks: Sequence[Block], workers: int) -> Iterable[tuple[Block, Any]]:
        """Yield each block with its runs as they finish. Closing the iterator cancels what is left."""
