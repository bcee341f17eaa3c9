"""Many runs of one kind, each with a seed of its own."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from understudy.contracts import Learner, Simulator
from understudy.contracts.streams import spawn
from understudy.runs.backends import BACKENDS, n_cores
from understudy.runs.describing import learner_settings, plain
from understudy.runs.folder import Folder
from understudy.runs.loop import can_compile, check_fit, simulate
from understudy.runs.probes import Probes
from understudy.runs.progress import progress_bar
from understudy.runs.run import Run, Runs

KINDS = {"simulated": 0, "real": 1, "factory": 2}
"""Part of each run's seed, so that the same number never couples real and simulated runs."""


@dataclass(frozen=True)
class Plan:
    """All that a run needs but its number."""

    simulator: Any  # or a factory, seed -> simulator
    make: Callable[[int], Learner]
    seed: int
    max_steps: int | None
    probes: Probes
    every: int
    compiled: bool | None

    @property
    def from_factory(self) -> bool:
        """Whether each run has a simulator of its own."""
        return not hasattr(self.simulator, "start")

    def seed_of(self, number: int) -> int:
        """The seed of a run: `simulate(simulator, make(run.seed), run.seed)` is the run again."""
        kind = "factory" if self.from_factory else getattr(self.simulator, "kind", "simulated")
        return spawn(self.seed, number, KINDS[kind])

    def simulator_for(self, seed: int) -> Any:
        """The simulator of a run."""
        return self.simulator(seed) if self.from_factory else self.simulator

    def __call__(self, number: int, wanted: Callable[[], bool]) -> Run:
        seed = self.seed_of(number)
        try:
            return simulate(
                self.simulator_for(seed), self.make(seed), seed, self.max_steps,
                probes=self.probes, every=self.every, compiled=self.compiled, wanted=wanted,
            )  # fmt: skip
        except Exception as error:
            error.add_note(f"in run {number} (seed {seed})")
            raise

    def describe(self) -> dict[str, Any]:
        """What the runs are of. With logs of their own, the first run's stands for all."""
        seed = self.seed_of(0)
        simulator, learner = self.simulator_for(seed), self.make(seed)
        check_fit(simulator, learner, self.max_steps, self.every)
        log: Any = getattr(simulator, "log", None)
        index = getattr(simulator, "index", None)
        another: Any = getattr(self.simulator_for(self.seed_of(1)), "log", None)
        return {
            "simulator": plain(getattr(simulator, "settings", None) or {"simulator": type(simulator).__name__}),
            "kind": getattr(simulator, "kind", "simulated"),
            "own_logs": None not in (log, another) and another is not log and another.fingerprint != log.fingerprint,
            "log": log.fingerprint if log is not None else None,
            "log_rows": len(log) if log is not None else None,
            "log_episodes": log.n_episodes if log is not None else None,
            "states": index.fingerprint if index is not None else None,
            "n_states": getattr(simulator, "n_states", None),
            "learner": learner_settings(learner),
            "seed": self.seed,
            "max_steps": self.max_steps,
            "probes": sorted(self.probes),
            "every": self.every,
        }

    def backend(self, workers: int, runs: int) -> str:
        """Threads where loops are compiled, processes where they are Python's."""
        if workers == 1 or runs == 1:
            return "serial"
        learner = self.make(self.seed_of(0))
        compiled = hasattr(learner, "arrays") and learner.arrays() is not None
        compiled &= self.from_factory or can_compile(self.simulator, learner)
        return "threads" if compiled and self.compiled is not False else "processes"


def experiment(
    simulator: Simulator | Callable[[int], Simulator],
    make: Callable[[int], Learner],
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
) -> Runs:
    """Run a learner many times, `make(seed)` for each, in a simulator or in `simulator(seed)`, one for each run.

    With `out`, each run is written to that folder as it finishes; called again, the experiment goes on where it
    stopped, and a folder of another log, encoder, simulator or learner is refused. A run depends on its seed alone,
    not on workers or backend ("serial", "threads" or "processes"; by default the fastest).
    """
    if not hasattr(simulator, "start") and not callable(simulator):
        raise TypeError(f"{simulator!r} is neither a simulator nor a function seed -> simulator")
    if not callable(make):
        raise TypeError(f"give a function seed -> learner, not {make!r}: each run needs a learner of its own")
    if runs < 1:
        raise ValueError(f"runs={runs!r}; give a whole number from 1")
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"backend={backend!r} is none of {', '.join(map(repr, BACKENDS))}")
    plan = Plan(simulator, make, int(seed), max_steps, dict(probes or {}), every, compiled)
    about = plan.describe()
    folder = None if out is None else Folder(out, about)
    if folder is not None:
        folder.claim()
    finished: dict[int, Run] = {}
    if folder is not None:
        finished = {number: folder.load(number) for number in folder.numbers() if number < runs}

    missing = [number for number in range(runs) if number not in finished]
    workers = min(workers or n_cores(), max(1, len(missing)))
    work = BACKENDS[backend or plan.backend(workers, len(missing))]
    title = title or str(about["simulator"]["simulator"])
    with progress_bar(title, runs, progress) as report, closing(work(plan, missing, workers)) as results:
        report(len(finished))
        for number, run in results:
            if folder is not None:
                folder.save(number, run)
            finished[number] = run
            report(len(finished))
    return Runs(tuple(finished[number] for number in sorted(finished)), about)
