"""Many runs of the same learner and simulator, each with a seed of its own."""

import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from understudy.contracts import Learner, LoopOwner, Simulator
from understudy.contracts.backing import Backend, Block, Closable, HasRemoteWorkers, RunBlock
from understudy.contracts.offering import offers
from understudy.errors import ContractError, FailedRunsWarning, ResultsError, RunError, SettingError
from understudy.progress import progress_bar
from understudy.runs.backends import Results, backend_of, workers_of
from understudy.runs.checking import check_about
from understudy.runs.failures import FailedRun, failures_sentence
from understudy.runs.folder import Folder
from understudy.runs.plan import Plan, checking_call
from understudy.runs.prerequisites import check_attributes, refuse_class
from understudy.runs.probes import Probes, named_probes
from understudy.runs.remote import RemoteRuns, saved_here
from understudy.runs.run import Run, Runs
from understudy.runs.scratch import remove_abandoned_once
from understudy.settings import seed_of, shown, whole
from understudy.storage import parse_json

ERRORS = ("raise", "keep")
"""What becomes of a run that raises: its error ends the experiment, or it is kept as failed and the others go on."""

MOST_RUNS = 1_000_000
"""The largest number of runs: files are named by six digits."""


def refuse_unknown(unknown: Mapping[str, str]) -> None:
    """Raise `ResultsError` where parts of an experiment cannot be described: folders of others would not be refused."""
    if unknown:
        listed = "; ".join(f"{path} is {what}" for path, what in list(unknown.items())[:3])
        more = f"; and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
        raise ResultsError(
            f"with out=, runs of another experiment could not be told from these: {listed}{more}, which cannot be "
            "described; keep it out of the functions that make learners and simulators, or give the class that holds "
            "it a property settings, a mapping of all that makes it what it is"
        )


def check_written(about: Mapping[str, Any]) -> None:
    """Raise `ResultsError` where an experiment's record could not be read back from its folder."""
    try:
        check_about(parse_json(json.dumps(about, allow_nan=False)))
    except ValueError as error:
        raise ResultsError(
            f"with out=, these runs could not be read back: {error}; give the simulator or the learner other attributes"
        ) from error


def start_backend(backend: Backend, run_block: RunBlock, blocks: Sequence[Block], workers: int) -> Iterable[Any]:
    """Return what a backend returns, an iterable. Raise `ContractError` where it is not a backend."""
    advice = "; give an object, not the class" if isinstance(backend, type) else ""
    with checking_call(backend, 3, f"a backend is called with run_block, blocks and workers{advice}"):
        results = backend(run_block, blocks, workers)
    if not isinstance(results, Iterable):
        found = f"it returned {shown(results)}, which yields nothing"
        raise ContractError(f"a backend yields (block, runs); {found}{advice}")
    return results


def results_of(plan: Plan, blocks: Sequence[Block], backend: Backend | None, workers: int) -> Results:
    """Return an iterator over what a backend yields, by default the fastest. Where workers are remote, runs are saved
    here.
    """
    workers = min(workers, max(1, len(blocks)))
    work = backend or backend_of(plan.fastest_backend(workers, len(blocks)))
    if not offers(work, HasRemoteWorkers):
        return each_once(start_backend(work, plan, blocks, workers), blocks, plan.seed_of)
    return saved_here(
        each_once(start_backend(work, RemoteRuns(plan), blocks, workers), blocks, plan.seed_of), plan.folder
    )


def each_once(
    results: Iterable[tuple[Block, Any]], blocks: Sequence[Block], seed_of_number: Callable[[int], int]
) -> Results:
    """Yield what a backend yields.

    Raise `ContractError` where a block is missing, unknown or repeated, or does not come with its own runs.
    """
    missing = set(blocks)
    try:
        for result in results:
            block, runs = block_and_runs(result)
            if block not in missing:
                raise ContractError(f"the backend yielded runs {block}, which it was not given or has yielded before")
            check_runs(block, runs, seed_of_number)
            missing.remove(block)
            yield block, runs
    finally:
        if offers(results, Closable):
            results.close()
    if missing:
        raise ContractError(
            f"the backend ended without runs {sorted(missing)[0]}; it must yield every block it is given"
        )


def block_and_runs(result: Any) -> tuple[Block, Any]:
    """Return the two parts of what a backend yielded. Raise `ContractError` where it is not such a pair."""
    try:
        block, runs = result
        block = tuple(block)
        hash(block)
    except (TypeError, ValueError):
        raise ContractError(f"a backend yields (block, runs); it yielded {shown(result)}") from None
    return block, runs


def check_runs(block: Block, runs: Any, seed_of_number: Callable[[int], int]) -> None:
    """Raise `ContractError` where these are not the runs of a block, in its order."""
    rule = "it must yield a block with what run_block returned for it"
    if not isinstance(runs, Sequence) or not all(isinstance(run, Run | FailedRun) for run in runs):
        raise ContractError(f"the backend yielded {shown(runs)} for {block}; {rule}")
    if len(runs) != len(block):
        raise ContractError(f"the backend yielded {len(runs)} runs for {block}; {rule}")
    for number, run in zip(block, runs, strict=True):
        if run.seed != seed_of_number(number):
            raise ContractError(
                f"the backend yielded a run with seed {run.seed} as run {number}, whose seed is "
                f"{seed_of_number(number)}; {rule}"
            )


def experiment(
    simulator: Simulator | Callable[[int], Simulator],
    make: Callable[[int], Learner | LoopOwner],
    *,
    runs: int = 100,
    seed: int = 0,
    max_steps: int | None = None,
    probes: Probes | None = None,
    every: int = 1000,
    workers: int | None = None,
    backend: str | Backend | None = None,
    out: Any = None,
    progress: bool | None = None,
    title: str | None = None,
    compiled: bool | None = None,
    keep_rows: bool = True,
    errors: Literal["raise", "keep"] = "raise",
) -> Runs:
    """Return many runs of a learner, each with a learner `make(seed)`, in a simulator or in one `simulator(seed)` each.

    With `out`, each run is written to that folder as it finishes; called again, the experiment goes on where it
    stopped. A folder of another log, encoder, simulator, learner, probe, `make` or factory is refused; functions are
    compared by what they do and refer to. An experiment is refused, too, where a part of it cannot be described and so
    not be compared: give its class a property `settings`, a mapping that says what it is. A run depends on its seed
    alone, not on workers or backend ("serial", "threads", "processes", "ray", or one of your own, see
    `contracts.Backend`; by default the fastest of the first three), nor on the runs it is stacked with, where learners
    can be stacked. With `keep_rows=False` runs do not keep which rows they were served, which takes up to 4 bytes a
    step; on a ladder a byte a step is kept all the same, the rung that served it, by which pages show how far runs are
    exact and what served them beyond that.

    A run that raises ends the experiment; the same call with `out` goes on with the others first. With `errors="keep"`
    it is kept in `Runs.failed`, with its number, seed, reason and traceback, the others go on, and a warning names it;
    the same call makes it again. So are runs whose process died three times. Where all fail, `RunError` is raised.
    """
    check_attributes("simulator", simulator)
    if offers(simulator, Simulator):
        refuse_class("simulator", simulator)
    elif not callable(simulator):
        raise ContractError(f"{simulator!r} is neither a simulator nor a function seed -> simulator")
    if not callable(make):
        raise ContractError(f"give a function seed -> learner, not {make!r}: each run needs a learner of its own")
    runs, seed = whole("runs", runs, most=MOST_RUNS), seed_of(seed)
    workers = None if workers is None else whole("workers", workers)
    work = None if backend is None else backend_of(backend)
    if errors not in ERRORS:
        raise SettingError(f"errors={errors!r} is not one of {', '.join(map(repr, ERRORS))}")
    remove_abandoned_once()
    plan = Plan(
        simulator, make, seed, max_steps, named_probes(probes), every, compiled, bool(keep_rows), errors == "keep"
    )
    about, unknown = plan.about()
    finished: dict[int, Run] = {}
    failed: dict[int, FailedRun] = {}
    failed_before: set[int] = set()
    if out is not None:
        refuse_unknown(unknown)
        check_written(about)
        folder = Folder(out, about)
        folder.reserve()
        about = folder.about  # as an earlier version told it, where one began the folder
        finished = {number: folder.load(number) for number in folder.numbers() if number < runs}
        if keep_rows:  # runs that were made without rows are made again
            finished = {number: run for number, run in finished.items() if run.has_rows}
        failed_before = {one.number for one in folder.failures()}
        plan.folder = folder

    workers = workers_of(work, workers)
    blocks = plan.blocks([number for number in range(runs) if number not in finished], workers)
    # Blocks that raised come last: an error that comes again must not keep the others from being run.
    blocks.sort(key=failed_before.isdisjoint, reverse=True)
    title = title or str(about["simulator"]["simulator"])
    with (
        progress_bar(title, runs, progress, len(finished)) as report,
        closing(results_of(plan, blocks, work, workers)) as results,
    ):
        under_way: dict[Block, float] = {}  # how many runs of a block are made, as far as the backend tells

        def show(block: Block, share: float) -> None:
            if share:
                under_way[block] = share * len(block)
            else:  # it is finished
                under_way.pop(block, None)
            report(len(finished) + len(failed) + sum(under_way.copy().values()))

        plan.listener = show
        for block, its_runs in results:
            for number, run in zip(block, its_runs, strict=True):
                if isinstance(run, FailedRun):
                    failed[number] = run
                    continue
                finished[number] = run
                if number in failed_before:
                    plan.folder.remove_failure(number)  # type: ignore[union-attr]
            show(block, 0.0)
    found = [failed[number] for number in sorted(failed)]
    if found:
        told = failures_sentence(found, runs)
        if not finished:
            raise RunError(f"{told}; mend what they have in common, and call it again")
        warnings.warn(f"{told}; what is computed is of the others alone", FailedRunsWarning, stacklevel=2)
    return Runs.of([finished[number] for number in sorted(finished)], about, found)


def check_folder(
    out: Any,
    simulator: Simulator | Callable[[int], Simulator],
    make: Callable[[int], Learner | LoopOwner],
    *,
    seed: int = 0,
    max_steps: int | None = None,
    probes: Probes | None = None,
    every: int = 1000,
) -> None:
    """Raise `ResultsError` where `experiment` would refuse to go on in a folder; nothing is run or written."""
    if os.path.exists(Path(out) / "experiment.json"):
        plan = Plan(simulator, make, seed_of(seed), max_steps, named_probes(probes), every, compiled=None)
        Folder(out, plan.about()[0]).check()
