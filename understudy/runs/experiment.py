"""Many runs of one kind, each with a seed of its own."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from numbers import Integral
from typing import Any

from understudy.contracts import Learner, Log, LoopOwner, Simulator
from understudy.contracts.progress import progress_bar
from understudy.contracts.streams import spawn
from understudy.errors import ResultsError
from understudy.runs.backends import BACKENDS, n_cores
from understudy.runs.checking import check_about
from understudy.runs.describing import describe
from understudy.runs.folder import Folder
from understudy.runs.logged import logged_return, logged_reward
from understudy.runs.loop import can_compile, check_answers, check_fit, simulate
from understudy.runs.probes import Probes, Readings
from understudy.runs.run import KINDS, Run, Runs
from understudy.runs.stacked import BLOCK, can_stack, together
from understudy.settings import seed_of, whole
from understudy.storage import parse_json

MOST_RUNS = 1_000_000
"""Runs are numbered by six digits."""


@dataclass(frozen=True)
class Plan:
    """All that a run needs but its number."""

    simulator: Any  # or a factory, seed -> simulator
    make: Callable[[int], Learner | LoopOwner]
    seed: int
    max_steps: int | None
    probes: Probes
    every: int
    compiled: bool | None
    keep_rows: bool = True
    folder: Folder | None = None

    @property
    def from_factory(self) -> bool:
        """Whether each run has a simulator of its own."""
        return not hasattr(self.simulator, "start")

    @cached_property
    def first(self) -> tuple[int, Any]:
        """The kind of the runs, as a part of their seeds, and the first one's simulator."""
        if not self.from_factory:
            return KINDS[is_real(self.simulator), False], self.simulator
        made = self.simulator(spawn(self.seed, 0, KINDS[False, True]))
        check_answers("simulator", made)
        if not is_real(made):
            return KINDS[False, True], made
        return KINDS[True, True], self.simulator(spawn(self.seed, 0, KINDS[True, True]))

    def seed_of(self, number: int) -> int:
        """The seed of a run: `simulate(simulator, make(run.seed), run.seed)` is the run again."""
        return spawn(self.seed, number, self.first[0])

    def simulator_for(self, seed: int) -> Any:
        """The simulator of a run."""
        return self.simulator(seed) if self.from_factory else self.simulator

    def __getstate__(self) -> dict[str, Any]:
        """What travels to other processes: the kind, but not the first run's simulator."""
        return self.__dict__ | {"first": (self.first[0], None)}

    def __call__(self, numbers: Sequence[int], wanted: Callable[[], bool]) -> list[Run]:
        if len(numbers) == 1:
            return [self.alone(numbers[0], wanted)]
        seeds = [self.seed_of(number) for number in numbers]
        simulators: list[Any] = []
        learners: list[Any] = []
        for number, seed in zip(numbers, seeds, strict=True):
            with noted(number, seed):
                simulators.append(self.simulator_for(seed))
                learners.append(self.make(seed))
                check_fit(simulators[-1], learners[-1], self.max_steps, self.every)
        if len({learner.form for learner in learners}) > 1:  # a factory may make each run a learner of another form
            return [self.alone(number, wanted) for number in numbers]
        readings = [Readings(self.probes, int(self.every), seed, self.keep_rows) for seed in seeds]
        max_steps = None if self.max_steps is None else int(self.max_steps)
        runs: dict[int, Run] = {}
        for place, run in together(simulators, learners, seeds, max_steps, readings, wanted):
            runs[place] = self.finish(numbers[place], simulators[place], run)
        return [runs[place] for place in range(len(numbers))]

    def alone(self, number: int, wanted: Callable[[], bool]) -> Run:
        """One run by itself."""
        seed = self.seed_of(number)
        with noted(number, seed):
            simulator = self.simulator_for(seed)
            run = simulate(
                simulator, self.make(seed), seed, self.max_steps,
                probes=self.probes, every=self.every, compiled=self.compiled, keep_rows=self.keep_rows, wanted=wanted,
            )  # fmt: skip
            return self.finish(number, simulator, run)

    def finish(self, number: int, simulator: Any, run: Run) -> Run:
        """Keep a run at once, and where no interrupt arrives."""
        if self.from_factory and (log := log_of(simulator)) is not None:
            run = replace(run, log=log.fingerprint)
        if self.folder is not None:
            self.folder.save(number, run)
        return run

    def blocks(self, numbers: Sequence[int]) -> list[tuple[int, ...]]:
        """Runs that are run together: stacked where learners can be, by their numbers whatever the workers."""
        size = BLOCK if self.compiled is None and can_stack(self.make(self.seed_of(0))) else 1
        return [tuple(block) for _, block in groupby(numbers, lambda number: number // size)]

    def describe(self) -> tuple[dict[str, Any], dict[str, str]]:
        """What the runs are of, and what of it could not be described; one's own log stands for those of all runs."""
        seed = self.seed_of(0)
        simulator, learner = self.first[1], self.make(seed)
        check_fit(simulator, learner, self.max_steps, self.every)
        Readings(self.probes, int(self.every), seed)  # raises at once where a probe is none
        log, n_states = log_of(simulator), getattr(simulator, "n_states", None)
        states = getattr(getattr(simulator, "index", None), "fingerprint", None)
        settings = getattr(simulator, "settings", None)
        limit = settings.get("max_episode_steps") if isinstance(settings, Mapping) else None
        earned = logged_return(log, limit) if log is not None else None
        factory = self.simulator if self.from_factory else None
        found = describe(
            {"simulator": simulator, "learner": learner, "probes": self.probes, "make": self.make, "factory": factory}
        )
        shown = as_table(found.shown["simulator"], simulator)
        shown = {"simulator": shown.pop("class")} | shown
        code = shown.get("code")
        return {
            "simulator": {name: told for name, told in shown.items() if name not in ("log", "states", "code")}
            | {"simulator": str(shown["simulator"])},
            "simulator_code": None if code is None else str(code),
            "kind": "real" if is_real(simulator) else "simulated",
            "from_factory": self.from_factory,
            "log": log.fingerprint if log is not None else None,
            "log_rows": len(log) if log is not None else None,
            "log_episodes": log.n_episodes if log is not None else None,
            "log_terminated": int(log.terminated.sum()) if log is not None else None,
            "log_return": earned.mean if earned is not None else None,
            "log_cut_off": earned.n_cut_off if earned is not None else None,
            "log_reward": logged_reward(log) if log is not None else None,
            "states": states if isinstance(states, str) else None,
            "n_states": count_of(n_states),
            "learner": as_table(found.shown["learner"], learner),
            "seed": self.seed,
            "max_steps": None if self.max_steps is None else int(self.max_steps),
            "probes": found.shown["probes"],
            "every": int(self.every),
            "make": found.parts["make"],
            "factory": None if factory is None else found.parts["factory"],
            "digest": found.digest,
        }, found.unknown

    def backend(self, workers: int, blocks: int) -> str:
        """Threads where loops are compiled, processes where they are Python's."""
        if workers == 1 or blocks == 1:
            return "serial"
        compiled = self.compiled is not False and can_compile(self.first[1], self.make(self.seed_of(0)))
        return "threads" if compiled else "processes"


@contextmanager
def noted(number: int, seed: int) -> Iterator[None]:
    """Errors within say which run they come from."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in run {number} (seed {seed})")
        raise


def as_table(shown: Any, thing: Any) -> dict[str, Any]:
    """What is shown of an object, as a table with its class; of one that is a single text, that text."""
    if not isinstance(shown, dict):
        return {"class": type(thing).__name__, "digest": str(shown)}
    return shown if isinstance(shown.get("class"), str) else shown | {"class": type(thing).__name__}


def count_of(number: Any) -> int | None:
    """A whole number that files can hold, or None for anything else."""
    found = int(number) if isinstance(number, Integral) and not isinstance(number, bool) else -1
    return found if 0 <= found < 2**63 else None


def is_real(simulator: Any) -> bool:
    """Whether a simulator is a true environment."""
    return getattr(simulator, "kind", None) == "real"


def log_of(simulator: Any) -> Any:
    """The log a simulator replays, or None."""
    log = getattr(simulator, "log", None)
    return log if isinstance(log, Log) else None


def refuse_unknown(unknown: Mapping[str, str]) -> None:
    """Raise where an experiment has parts that cannot be described: its folder could be taken for another's."""
    if unknown:
        listed = "; ".join(f"{path} is {what}" for path, what in list(unknown.items())[:3])
        more = f"; and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
        raise ResultsError(
            f"with out=, runs of another experiment could not be told from these: {listed}{more}, which cannot be "
            "described; keep it out of the functions that make learners and simulators, or give the class that holds "
            "it a property settings, a mapping of all that makes it what it is"
        )


def check_written(about: Mapping[str, Any]) -> None:
    """Raise where what runs are of could not be read back from their folder."""
    try:
        check_about(parse_json(json.dumps(about, allow_nan=False)))
    except ValueError as error:
        raise ResultsError(
            f"with out=, these runs could not be read back: {error}; give the simulator or the learner other attributes"
        ) from error


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
    backend: str | None = None,
    out: Any = None,
    progress: bool | None = None,
    title: str | None = None,
    compiled: bool | None = None,
    keep_rows: bool = True,
) -> Runs:
    """Run a learner many times, `make(seed)` for each, in a simulator or in `simulator(seed)`, one for each run.

    With `out`, each run is written to that folder as it finishes; called again, the experiment goes on where it
    stopped, and a folder of another log, encoder, simulator, learner or probe is refused, or of another `make` or
    factory, by what these functions do and refer to; so is an experiment that cannot be told from others, since a part
    of it cannot be described (give its class a property `settings`, a mapping that says what it is). A run depends on
    its seed alone, not on workers or backend ("serial", "threads" or "processes"; by default the fastest), nor on the
    runs it is stacked with, where learners can be stacked. With `keep_rows=False` runs do not keep which rows they were
    served, which takes up to 4 bytes a step; all else is as ever.
    """
    check_answers("simulator", simulator)
    if not hasattr(simulator, "start") and not callable(simulator):
        raise TypeError(f"{simulator!r} is neither a simulator nor a function seed -> simulator")
    if not callable(make):
        raise TypeError(f"give a function seed -> learner, not {make!r}: each run needs a learner of its own")
    runs, seed = whole("runs", runs, most=MOST_RUNS), seed_of(seed)
    workers = None if workers is None else whole("workers", workers)
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"backend={backend!r} is none of {', '.join(map(repr, BACKENDS))}")
    plan = Plan(simulator, make, seed, max_steps, dict(probes or {}), every, compiled, bool(keep_rows))
    about, unknown = plan.describe()
    finished: dict[int, Run] = {}
    if out is not None:
        refuse_unknown(unknown)
        check_written(about)
        folder = Folder(out, about)
        folder.claim()
        finished = {number: folder.load(number) for number in folder.numbers() if number < runs}
        if keep_rows:  # those that were made without are made again
            finished = {number: run for number, run in finished.items() if run.has_rows}
        plan = replace(plan, folder=folder)

    blocks = plan.blocks([number for number in range(runs) if number not in finished])
    workers = min(workers or n_cores(), max(1, len(blocks)))
    work = BACKENDS[backend or plan.backend(workers, len(blocks))]
    title = title or str(about["simulator"]["simulator"])
    with (
        progress_bar(title, runs, progress, len(finished)) as report,
        closing(work(plan, blocks, workers)) as results,
    ):
        for numbers, made in results:
            finished |= zip(numbers, made, strict=True)
            report(len(finished))
    return Runs.of([finished[number] for number in sorted(finished)], about)
