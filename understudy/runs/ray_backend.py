"""Runs on a Ray cluster. What they need is put into its object store once; blocks of runs are tasks.

Each machine has one copy of the log and its index, which all workers there read where it is; a worker unpickles the
rest once, for all of its tasks. Runs come back to this process, so that no disk need be shared. Where a worker or a
machine is lost, its blocks are tried again, each by itself.
"""

import os
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from math import ceil, inf
from typing import Any

import cloudpickle

from understudy.contracts.backing import Block, GivesUp, RunBlock, always
from understudy.contracts.offering import offers
from understudy.errors import RunError, SettingError
from understudy.extras import require
from understudy.runs.backends import n_cores
from understudy.runs.buffers import packed, unpacked
from understudy.runs.sending import sendable

SECONDS_OF_TASK = 0.5
"""Short blocks are grouped into tasks that take about so long: a task costs some milliseconds."""

UNTIL_FORCED = 2.0
"""Seconds until tasks that were cancelled are killed with their workers."""

IDLE = 10.0
"""Seconds after which a worker without tasks lets go of what it has received, so that the object store can free it."""


@dataclass(frozen=True)
class OnRay:
    """A backend that makes runs on a Ray cluster. Made by `us.backends.ray`, which says what the fields are."""

    address: str | None = None
    max_retries: int = 2
    num_cpus: float = 1
    num_gpus: float = 0

    @property
    def n_workers(self) -> int:
        """How many tasks the cluster can take at a time, by the cores and GPUs that it has now; at least 1."""
        found = connected(self.address).cluster_resources()
        asked = {"CPU": self.num_cpus, "GPU": self.num_gpus}
        room = [found.get(kind, 0) / number for kind, number in asked.items() if number]
        if room and min(room) < 1:
            say(f"no machine of the Ray cluster has room for a task of {asked} now; runs wait until one has")
        return max(1, int(min(room, default=1)))

    def __call__(
        self, run_block: RunBlock, blocks: Sequence[Block], workers: int
    ) -> Generator[tuple[Block, Any], None, None]:
        """Yield runs made on the cluster, as they finish; where the cluster has more room, `workers` tasks at a time.

        Raise `RunError` where workers die in a block again and again; where `run_block` can give up a block
        (`contracts.GivesUp`), it decides.
        """
        if not blocks:
            return
        ray = connected(self.address)
        needed = put(ray, run_block)
        task = remote_function().options(num_cpus=self.num_cpus, num_gpus=self.num_gpus, max_retries=0)
        # One more task for each worker is on its way, so that none waits for this process.
        most = workers if workers < self.n_workers else 2 * workers
        waiting, suspects, deaths = deque(blocks), deque[Block](), Counter[Block]()
        under_way: dict[Any, list[Block]] = {}
        pace = inf  # seconds a block, of the last task
        try:
            while waiting or suspects or under_way:
                while (waiting or suspects) and len(under_way) < most:
                    size = group_size(len(waiting), workers, pace)
                    group = [waiting.popleft() for _ in range(size)] or [suspects.popleft()]
                    under_way[task.remote([needed], group)] = group
                (done,), _ = ray.wait(list(under_way), num_returns=1)
                group = under_way.pop(done)
                answer = answer_of(ray, done)
                if isinstance(answer, Exception):
                    deaths.update(group)
                    suspects.extend(block for block in group if deaths[block] <= self.max_retries)
                    for block in [block for block in group if deaths[block] > self.max_retries]:
                        yield block, given_up(run_block, block, deaths[block], answer)
                    continue
                results, raised, took = answer
                yield from results
                if raised is not None:
                    raise raised
                pace = took / len(group)
        finally:  # an error, Ctrl-C or `close`: the rest is cancelled
            cancel(ray, list(under_way))


def connected(address: str | None) -> Any:
    """Return the module `ray`, connected: as it is, or to the cluster at an address, or to one on this machine.

    Without an address, that of the variable RAY_ADDRESS is used, or the cluster that runs on this machine; where there
    is none, one is started that lives as long as this process.
    """
    require("backend='ray'", "ray")
    import ray

    if ray.is_initialized():
        return ray
    address = address or os.environ.get("RAY_ADDRESS")
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        ray.init(address=address or "auto", **quiet)
    except ConnectionError as error:
        if address is not None:
            raise SettingError(
                f"no Ray cluster answers at address={address!r}; start one there with ray start --head, or leave "
                "address= out for one on this machine"
            ) from error
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(include_dashboard=False, num_cpus=n_cores(), **quiet)
        say(
            f"no Ray cluster was found: one with the {n_cores()} cores of this machine was started, for as long as "
            "this process lives; give us.backends.ray(address=...) for another"
        )
    return ray


def say(sentence: str) -> None:
    """Print a sentence where progress is printed."""
    print(sentence, file=sys.stderr, flush=True)


def put(ray: Any, run_block: RunBlock) -> Any:
    """Return a reference to what a run needs, put into the object store."""
    needed = packed(run_block)
    try:
        return ray.put(needed)
    except (ray.exceptions.ObjectStoreFullError, ray.exceptions.OutOfDiskError) as error:
        size = sum(buffer.nbytes for buffer in needed.buffers) + len(needed.pickled)
        raise RunError(
            f"the object store of this machine has no room for the {size / 2**20:,.0f} MiB that runs need; start Ray "
            "with a larger --object-store-memory, or on a disk with more room"
        ) from error


def group_size(n_waiting: int, workers: int, pace: float) -> int:
    """Return how many blocks the next task has: it takes long enough, and the last ones are shared out evenly.

    >>> [group_size(n, workers=4, pace=0.01) for n in (1000, 40, 3, 0)], group_size(1000, workers=4, pace=2.0)
    ([50, 5, 1, 0], 1)
    """
    return min(max(1, int(SECONDS_OF_TASK / max(pace, 1e-9))), ceil(n_waiting / (2 * workers)))


def answer_of(ray: Any, task: Any) -> Any:
    """Return what a task returned, or the error by which Ray says that its worker or machine is lost."""
    errors = ray.exceptions
    lost = (
        errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError, errors.ObjectLostError,
        errors.RaySystemError,
    )  # fmt: skip
    try:
        return cloudpickle.loads(ray.get(task))
    except lost as error:
        return error
    except errors.RayTaskError as error:  # raised by the task itself, and not by a run: these are returned
        if isinstance(error.cause, errors.OwnerDiedError):  # and this process, the owner, lives
            raise RunError(
                "workers of the Ray cluster cannot reach this process; let it be on the same network as the machines, "
                "and give it the same RAY_AUTH_MODE as the cluster was started with"
            ) from error
        if isinstance(error.cause, lost):
            return error.cause
        raise RunError(
            f"a worker of the Ray cluster could not begin its runs: {last_line(error.cause or error)}; every machine "
            "needs understudy, and what learners are made of, as they are installed here"
        ) from error


def last_line(error: Exception) -> str:
    """Return the last line of what an error says, or its name."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def given_up(run_block: RunBlock, block: Block, deaths: int, error: Exception) -> Any:
    """Return what to yield with a block whose workers died again and again."""
    reason = (
        f"the Ray worker that made it died {deaths} times, killed, out of memory, crashed or with its machine "
        f"({type(error).__name__}); use backend='serial' to see where"
    )
    if not offers(run_block, GivesUp):
        raise RunError(f"{block} could not be made: {reason}") from error
    return run_block.give_up(block, reason)


def cancel(ray: Any, tasks: list[Any]) -> None:
    """Cancel tasks: first those that wait, and runs between two steps; where that takes long, with their workers."""
    for force in (False, True):
        if not tasks:
            return
        with suppress(Exception):  # the cluster may be gone
            for task in tasks:
                ray.cancel(task, force=force)
            _, tasks = ray.wait(tasks, num_returns=len(tasks), timeout=UNTIL_FORCED)


@cache
def remote_function() -> Any:
    """Return `make_blocks` as Ray calls it on workers."""
    import ray

    return ray.remote(make_blocks)


class _Received:
    """What a worker received last: it is unpickled once, and let go when there was no task for a while."""

    def __init__(self) -> None:
        self._name, self._run_block = "", None
        self._timer: threading.Timer | None = None

    def get(self, reference: Any) -> Any:
        """Return what a reference stands for."""
        import ray

        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()  # where it has run out just now, it forgets first
        name = reference.hex()
        if name != self._name:
            self.forget()  # first, so that there is room
            found = ray.get(reference)
            try:
                self._run_block, self._name = unpacked(found), name
            except Exception as error:
                error.add_note("raised when a worker of the Ray cluster received what a run needs")
                raise
        return self._run_block

    def wait(self) -> None:
        """Forget it after a while, unless `get` is called before."""
        self._timer = threading.Timer(IDLE, self.forget)
        self._timer.daemon = True
        self._timer.start()

    def forget(self) -> None:
        """Let go of it."""
        self._name, self._run_block = "", None


_received = _Received()


def make_blocks(references: Sequence[Any], blocks: Sequence[Block]) -> bytes:
    """Return the runs of blocks, made on a worker, with what was raised, or None, and how many seconds it took.

    Pickled here: arrays that Ray itself unpickles stay in the object store for as long as somebody has them.
    """
    import ray

    results, raised, began = [], None, time.perf_counter()
    try:
        run_block = _received.get(references[0])
        for block in blocks:
            results.append((block, run_block(block, always)))  # noqa: PERF401 - what is finished must stay there
    except ray.exceptions.RayError:  # what a run needs could not be had
        raise
    except Exception as error:
        raised = sendable(error)
    except BaseException:  # cancelled between two steps of a run
        _received.forget()
        raise
    finally:
        _received.wait()
    return cloudpickle.dumps((results, raised, time.perf_counter() - began))
