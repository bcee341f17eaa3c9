"""What a backend of `experiment` promises."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

Block = tuple[Any, ...]
"""The numbers of the runs that are made together, in one call."""

RunBlock = Callable[[Block, Callable[[], bool]], Any]
"""A function that makes the runs of a block. It calls its second argument now and then; where that returns False, it
raises, because the runs are cancelled."""


def always() -> bool:
    """Return True: the run is not cancelled."""
    return True


@runtime_checkable
class GivesUp(Protocol):
    """The `run_block` of an experiment, told that a block cannot be made: the workers that tried it died, say.

    Promised: `give_up` takes a block that was not yielded. Gained: its runs are recorded as failed, for `errors="keep"`
    and for the next call.
    """

    def give_up(self, block: Block, reason: str) -> Any:
        """Return what to yield with this block, or raise `RunError` where errors are not kept."""


@runtime_checkable
class SharedStart(Protocol):
    """The `run_block` of an experiment, in a process from which workers are about to be forked.

    Promised: no thread is started and no GPU used. Gained: what is loaded once is in the memory of all workers.
    """

    def load_shared(self) -> None:
        """Load what every block needs, such as compiled code."""


@runtime_checkable
class TakesShares(Protocol):
    """The second argument of `run_block`, where the backend can pass on how far a block is.

    Promised: it may be called often. Gained: the progress bar moves within a block, by `HearsShares`.
    """

    def tell_share(self, share: float) -> None:
        """Take note that this share of the block under way, from 0 to 1, is made."""


@runtime_checkable
class HearsShares(Protocol):
    """The `run_block` of an experiment, in the process of the experiment, told how far blocks are.

    Promised: `hear_share` is called in the thread that asks the backend for results, or in one of this process.
    Gained: the progress bar moves within a block. A backend that cannot tell need not call it.
    """

    def hear_share(self, block: Block, share: float) -> None:
        """Take note that this share of a block, from 0 to 1, is made."""


@runtime_checkable
class Closable(Protocol):
    """An iterator that can be closed early, as generators can.

    Promised: `close` cancels the runs that are not finished. Gained: it is called when an experiment ends early.
    """

    def close(self) -> None:
        """End the iterator now."""


@runtime_checkable
class Backend(Protocol):
    """A function that decides where and when runs are made, for `experiment(backend=...)`; ours have names.

    Promised: every block is passed to `run_block` once, and yielded with what that returned, in any order. Runs depend
    on their numbers alone, so the results are the same with any backend. `run_block` can be pickled by cloudpickle.
    Gained: runs on any machines that the backend can reach.
    """

    def __call__(self, run_block: RunBlock, blocks: Sequence[Block], workers: int) -> Iterable[tuple[Block, Any]]:
        """Yield each block with its runs as they finish. Closing the iterator cancels what is left."""


@runtime_checkable
class HasRemoteWorkers(Backend, Protocol):
    """A backend whose workers may be on other machines, which do not reach the results folder.

    Promised: `n_workers` is how many blocks can be made at a time now. Gained: so many are used where `workers=` is not
    given; with `out=`, the experiment writes each run itself when the backend yields it, and notes runs that raised on
    a worker, so that no disk need be shared.
    """

    @property
    def n_workers(self) -> int: ...
