"""Runs made where the results folder cannot be reached: they come back unsaved, and are saved here."""

import traceback
from collections.abc import Callable, Generator
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import cloudpickle

from understudy.contracts import ReadsObservations
from understudy.contracts.backing import Block
from understudy.contracts.offering import offers
from understudy.runs.failures import FailedRun
from understudy.runs.folder import Folder
from understudy.runs.look_ahead import look_ahead_loop
from understudy.runs.loop import compiled_loop, fastest_loop
from understudy.runs.plan import Plan
from understudy.runs.run import Run
from understudy.runs.sending import sendable
from understudy.simulators.coding import LOG_POSITIONS


@dataclass
class FailuresNoted:
    """Takes the place of a results folder on a worker: it keeps which runs raised, and nothing else."""

    failed: list[FailedRun] = field(default_factory=list)

    def save(self, number: int, run: Run) -> None:
        """Do nothing: the run is saved when it has come back."""

    def save_failure(self, failed: FailedRun) -> None:
        """Keep which run raised."""
        self.failed.append(failed)


class RemoteError(Exception):
    """What a run raised on a worker, with the runs that failed by it. Its text is the traceback there."""

    def __init__(self, error: Exception, failed: list[FailedRun], text: str) -> None:
        super().__init__(text)
        self.error, self.failed, self.text = error, failed, text

    def __reduce__(self) -> tuple[Callable, tuple]:
        return remote_error, (cloudpickle.dumps(sendable(self.error)), self.failed, self.text)


def remote_error(pickled: bytes, failed: list[FailedRun], text: str) -> RemoteError:
    """Return the error, from its pieces."""
    return RemoteError(cloudpickle.loads(pickled), failed, text)


class RemoteRuns:
    """The `run_block` of an experiment, for workers that do not reach its folder.

    Called on a worker, it returns runs unsaved, and raises `RemoteError`, which brings along the runs that failed.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def __call__(self, block: Block, keep_going: Callable[[], bool]) -> list[Run | FailedRun]:
        plan, noted = copy(self.plan), FailuresNoted()
        plan.folder = noted  # type: ignore[assignment]
        try:
            return plan(block, keep_going)
        except Exception as error:
            raise RemoteError(error, noted.failed, "\n" + traceback.format_exc()) from None

    def give_up(self, block: Block, reason: str) -> list[FailedRun]:
        """Return the runs of a block as failed, as `Plan.give_up` does. Called in the process of the experiment."""
        return self.plan.give_up(block, reason)

    def __getstate__(self) -> dict[str, Any]:
        code_observations(self.plan)
        plan = copy(self.plan)
        plan.folder = None
        return {"plan": plan}


def code_observations(plan: Plan) -> None:
    """Let a simulator code its observations for the learner now: the codes then travel once, to all workers.

    Otherwise each of them would make them, and hold them in memory of its own.
    """
    if plan.from_factory:
        return
    simulator, learner = plan.simulator, plan.first.learner
    loop = fastest_loop(simulator, learner, plan.compiled is not False)
    if loop is look_ahead_loop or (loop is compiled_loop and offers(learner, ReadsObservations)):
        simulator.start(0, LOG_POSITIONS)
    elif loop is compiled_loop:
        simulator.start(0, learner.codes)


def saved_here(
    results: Generator[tuple[Block, Any], None, None], folder: Folder | None
) -> Generator[tuple[Block, Any], None, None]:
    """Yield what a backend yields, each run saved in the folder before. Raise what a run raised on a worker."""
    try:
        for block, runs in results:
            for number, run in zip(block, runs, strict=True) if folder is not None else ():
                if isinstance(run, FailedRun):
                    folder.save_failure(run)  # type: ignore[union-attr]
                else:
                    folder.save(number, run)  # type: ignore[union-attr]
            yield block, runs
    except RemoteError as raised:
        for failed in raised.failed if folder is not None else ():
            folder.save_failure(failed)  # type: ignore[union-attr]
        raise raised.error from raised
    finally:
        results.close()
