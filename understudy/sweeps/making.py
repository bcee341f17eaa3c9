"""How the runs of a sweep are made: in groups that take about a second or two, on any backend.

A short run takes less time than it takes to hand it to a worker and its result back, so a block of the backend is a
group of runs of one experiment, and what comes back is their rows of the tables. How long runs take is not known
before: a group ends early where it takes longer than `LONGEST`, and what is left of it is made in smaller groups.
"""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from understudy.contracts.backing import Backend, Closable
from understudy.contracts.offering import offers
from understudy.errors import ContractError, visible
from understudy.runs.backends import backend_of
from understudy.runs.experiment import block_and_runs, start_backend
from understudy.runs.failures import FailedRun
from understudy.runs.plan import Plan
from understudy.runs.run import Run
from understudy.settings import shown
from understudy.sweeps.run_tables import curves_table, runs_table

if TYPE_CHECKING:
    import pyarrow as pa

Stack = tuple[int, ...]
"""The numbers of runs that are made together because their learners are stacked; mostly one."""

LONGEST = 2.0
"""Seconds after its first run after which a group takes no further one."""

MOST = 256
"""Stacks of a group at most."""

GROUPS_OF_WORKER = 16
"""Groups that each worker has at least, where there are so many runs: the last ones to finish keep nobody waiting."""


@dataclass(frozen=True)
class Group:
    """Runs that were made: rows of the tables, and those that raised."""

    place: int  # of the experiment
    made: tuple[Stack, ...] = ()
    runs: "pa.Table | None" = None
    curves: "pa.Table | None" = None
    failed: tuple[FailedRun, ...] = ()
    lost: bool = False  # the process that made it died, and it is to be made run by run


@dataclass
class GroupRunner:
    """Makes groups of runs: what a backend calls. A block is the place of an experiment and stacks of its runs."""

    plans: Mapping[int, Plan]
    longest: float = LONGEST

    def __call__(self, block: tuple[int, tuple[Stack, ...]], keep_going: Callable[[], bool]) -> Group:
        place, stacks = block
        plan = self.plans[place]
        numbers: list[int] = []
        runs: list[Run] = []
        seconds: list[float] = []
        failed: list[FailedRun] = []
        made: list[Stack] = []
        last = first = time.perf_counter()
        for stack in stacks:
            results = plan(stack, keep_going)
            made.append(stack)
            now = time.perf_counter()
            for number, run in zip(stack, results, strict=True):
                if isinstance(run, FailedRun):
                    failed.append(run)
                else:
                    numbers.append(number)
                    runs.append(run)
                    seconds.append((now - last) / len(stack))
            if len(made) == 1:
                first = now  # the first run of a worker loads kernels, and says little of the others
            last = now
            if now - first > self.longest:
                break
        tables = runs_table(numbers, runs, seconds), curves_table(numbers, runs)
        return Group(place, tuple(made), *tables, tuple(failed))

    def load_shared(self) -> None:
        """Load the compiled code that runs need, in a process from which workers are forked."""
        for plan in self.plans.values():
            plan.load_shared()

    def give_up(self, block: tuple[int, tuple[Stack, ...]], reason: str) -> Group:
        """Return what becomes of a block that cannot be made: a single run has failed, several are made one by one."""
        place, stacks = block
        if len(stacks) > 1:
            return Group(place, lost=True)
        seed_of = self.plans[place].seed_of
        failed = tuple(FailedRun(number, seed_of(number), visible(reason)) for number in stacks[0])
        return Group(place, stacks, failed=failed)


@dataclass
class _Waiting:
    """Stacks that are still to be made."""

    stacks: dict[int, list[Stack]]  # by the place of their experiment
    alone: set[tuple[int, Stack]] = field(default_factory=set)  # made by themselves: they may kill a process

    def __len__(self) -> int:
        return sum(map(len, self.stacks.values()))

    def groups(self, size: int) -> list[tuple[int, tuple[Stack, ...]]]:
        """Return all stacks in groups; those made by themselves come last."""
        found, last = [], []
        for place, stacks in self.stacks.items():
            together = [stack for stack in stacks if (place, stack) not in self.alone]
            found += [(place, tuple(together[at : at + size])) for at in range(0, len(together), size)]
            last += [(place, (stack,)) for stack in stacks if (place, stack) in self.alone]
        return found + last

    def without(self, made: set[tuple[int, Stack]]) -> "_Waiting":
        """Return what is left when these have been made."""
        left = {place: [one for one in stacks if (place, one) not in made] for place, stacks in self.stacks.items()}
        return _Waiting({place: stacks for place, stacks in left.items() if stacks}, self.alone)


def made_groups(
    plans: Mapping[int, Plan],
    stacks: Mapping[int, Sequence[Stack]],
    backend: str | Backend,
    workers: int,
    alone: set[tuple[int, Stack]] | None = None,
) -> Generator[Group, None, None]:
    """Yield groups of runs until all are made, in any order.

    `plans` and `stacks` are by the place of an experiment; stacks in `alone` are made by themselves, last.
    """
    waiting = _Waiting({place: list(its) for place, its in stacks.items() if its}, alone or set())
    runner = GroupRunner(plans)
    size = max(1, min(MOST, len(waiting) // (workers * GROUPS_OF_WORKER)))
    while waiting:
        blocks = waiting.groups(size)
        made: set[tuple[int, Stack]] = set()
        results = start_backend(backend_of(backend), runner, blocks, min(workers, len(blocks)))
        fitting: list[int] = []
        with closing(_checked(results, blocks)) as groups:
            for block, group in groups:
                yield group
                if group.lost:
                    waiting.alone.update((group.place, stack) for stack in block[1])
                made.update((group.place, stack) for stack in group.made)
                if len(group.made) < len(block[1]) and group.made:
                    fitting.append(len(group.made))
        waiting = waiting.without(made)
        size = max(1, int(median(fitting))) if fitting else size


def _checked(results: Any, blocks: Sequence[Any]) -> Generator[tuple[Any, Group], None, None]:
    """Yield what a backend yields. Raise `ContractError` where a block is missing, unknown, repeated or not a group."""
    missing = set(blocks)
    try:
        for result in results:
            block, group = block_and_runs(result)
            if block not in missing or not isinstance(group, Group) or not set(group.made) <= set(block[1]):
                raise ContractError(
                    "a backend yields each block that it was given once, with what run_block returned for it; it "
                    f"yielded another for {shown(block)}"
                )
            missing.remove(block)
            yield block, group
    finally:
        if offers(results, Closable):
            results.close()
    if missing:
        raise ContractError(f"the backend ended without {len(missing)} of the blocks that it was given")
