"""Runs made in processes. What they need is sent once, and where a process dies, its runs are tried again.

A worker may be killed, run out of memory or crash. What it was at is made once more by a single worker, one block after
another, when the others are finished: an innocent block finishes, and runs that need much memory have all of it. A
block whose worker died three times is given up.
"""

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

from understudy.contracts.backing import Block, GivesUp, HearsShares, RunBlock
from understudy.contracts.offering import offers
from understudy.errors import RunError
from understudy.runs import array_files
from understudy.runs.deaths import WorkersDied
from understudy.runs.forked import CannotFork, can_try_forking, in_forked_workers
from understudy.runs.loky_workers import in_loky_workers
from understudy.runs.sending import pickled_for_workers

RETRIES = 2
"""How often a block whose worker died is tried again."""


def in_processes(
    run_block: RunBlock, blocks: Sequence[Block], workers: int
) -> Generator[tuple[Block, Any], None, None]:
    """Yield runs made in processes: for loops in Python. Large arrays are sent as memory maps.

    Raise `RunError` where workers die in a block again and again, or before they begin one; where `run_block` can give
    up a block (`contracts.GivesUp`), it decides.
    """
    waiting, deaths, early_deaths = dict(enumerate(blocks)), Counter[int](), 0
    pickled, _held = pickled_for_workers(run_block) if waiting else (b"", [])
    folders = [array_files.FILES.folder] if array_files.FILES.folder is not None else []
    forking = can_try_forking()
    while waiting:
        untouched = [place for place in waiting if not deaths[place]]
        places, n = (untouched, workers) if untouched else (sorted(waiting, key=deaths.__getitem__), 1)
        given = {place: waiting[place] for place in places}
        try:
            with closing(
                in_forked_workers(given, n, pickled, folders, _listener(run_block))
                if forking
                else in_loky_workers(given, n, pickled, folders)
            ) as results:
                for place, runs in results:
                    yield waiting.pop(place), runs
            continue
        except CannotFork:
            forking = False
            continue
        except WorkersDied as error:
            under_way, died = error.places & set(waiting), error
        deaths.update(under_way)
        early_deaths += not under_way
        if early_deaths > RETRIES:
            raise RunError(
                f"worker processes died {early_deaths} times before they began a run{died.exits}; use fewer workers=, "
                "or backend='serial' to see why"
            ) from died
        for place in [place for place in under_way if deaths[place] > RETRIES]:
            block = waiting.pop(place)
            reason = (
                f"the process that made it died {deaths[place]} times{died.exits}, killed, out of memory or crashed; "
                "use backend='serial' to see where"
            )
            if not offers(run_block, GivesUp):
                raise RunError(f"{block} could not be made: {reason}") from died
            yield block, run_block.give_up(block, reason)


def _listener(run_block: RunBlock) -> Any:
    """Return what is told how far a block is."""
    return run_block.hear_share if offers(run_block, HearsShares) else lambda block, share: None
