"""How far a block of runs is, as a share of it: so that a bar moves within blocks that take long."""

from collections.abc import Callable
from typing import Any

from understudy.contracts.backing import Block, HearsShares, RunBlock, TakesShares
from understudy.contracts.offering import offers


class ShareOfRun:
    """The `keep_going` of one of several runs of a block: what it tells becomes a share of the whole block."""

    def __init__(self, wanted: Any, shares: list[float], position: int) -> None:
        self._wanted, self._shares, self._position = wanted, shares, position

    def __call__(self) -> bool:
        return self._wanted()

    def tell_share(self, share: float) -> None:
        """Take note that this share of the run, from 0 to 1, is made."""
        self._shares[self._position] = share
        self._wanted.tell_share(sum(self._shares) / len(self._shares))


def share_of_each(wanted: Callable[[], bool], n: int) -> list[Callable[[], bool]]:
    """Return the `keep_going` of each of the n runs of a block, by that of the block."""
    if n == 1 or not offers(wanted, TakesShares):
        return [wanted] * n
    shares = [0.0] * n
    return [ShareOfRun(wanted, shares, position) for position in range(n)]


def tell_share(wanted: Callable[[], bool], share: float) -> None:
    """Tell how far a run or a block is, where anyone asks."""
    if offers(wanted, TakesShares):
        wanted.tell_share(share)


class HeardHere:
    """What a block is made with in the process of its experiment, which hears how far it is."""

    def __init__(self, run_block: HearsShares, block: Block, is_wanted: Callable[[], bool]) -> None:
        self._run_block, self._block, self._is_wanted = run_block, block, is_wanted

    def __call__(self) -> bool:
        return self._is_wanted()

    def tell_share(self, share: float) -> None:
        """Let the experiment hear it."""
        self._run_block.hear_share(self._block, share)


def heard_here(run_block: RunBlock, block: Block, is_wanted: Callable[[], bool]) -> Callable[[], bool]:
    """Return what a block is made with in this process: `is_wanted`, heard where `run_block` listens."""
    return HeardHere(run_block, block, is_wanted) if offers(run_block, HearsShares) else is_wanted
