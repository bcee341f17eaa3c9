"""The sets of runs of PPO in the continuous grid: real ones, and one set for each simulator and kind of log."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import understudy as us
from paper import continuous_grid, grids
from paper.continuous_grid import CAP, FORWARD, GAMMA, HOMER, POLICY_VALUE
from paper.workspace import Workspace
from understudy.progress import progress_bar
from understudy.runs import Runs
from understudy.runs.backends import in_processes, in_turn, n_cores


@dataclass(frozen=True)
class Settings:
    """Sizes of the item."""

    runs: int = 10
    epochs: int = 50
    many_epochs: int = 20  # of real runs and baselines beyond the first ten; other simulators stop by themselves
    epoch_steps: int = 5000
    own_runs: int = 40  # runs with a log each, of the simulators that should be exact
    other_runs: int = 20  # runs with a log each, of the other simulators
    own_epochs: int = 16  # of baselines with a log for each run
    real_runs: int = 80  # real runs that those with a log each are compared with
    early: int = 5  # epochs in which runs differ so much that they would hide all later ones
    ppo: Mapping[str, Any] = field(default_factory=dict)


FULL = Settings()
QUICK = Settings(
    runs=3, epochs=4, many_epochs=4, epoch_steps=800, own_runs=3, other_runs=3, own_epochs=2, real_runs=3, early=1,
    ppo={"policy_rate": 2e-3, "value_rate": 5e-3, "policy_iterations": 20, "value_iterations": 20},
)  # fmt: skip

FIRST = 10
"""Real runs and baselines that go on to the last epoch, however many there are."""

REAL = "Real"
BASELINES = ("obs-only", "act-only", "random")
REPLAYED = ("PSRS-oracle", "PSRS-Homer", "PSRS-Forward")
EXACT = ("PSRS-oracle", "PSRS-Forward")
DRAWN = (*REPLAYED, *BASELINES)
QUEUES = ("QBE-oracle", "QBE-Homer", "QBE-Forward")
SETS = (*DRAWN, *QUEUES)
POINTS = "PSRS-observations"
RETURN, LENGTH, WITHIN = "validation return", "validation length", "return within the epoch"
VALUE = POLICY_VALUE

LONG, MANY, OWN, TRAINED = "long", "many", "own logs", "trained"
"""Kinds of work: runs to the last epoch, many runs for fewer epochs, runs with a log each, and training an encoder."""

Task = tuple[str, str]
"""A kind of work, and the name of a set or of an encoder."""


@dataclass(frozen=True)
class RunSets:
    """Makes each set of runs of this item, in any process: called with a task, it returns the set."""

    workspace: Workspace
    settings: Settings

    def __call__(self, task: Task, wanted: Callable[[], bool] = lambda: True) -> Any:
        kind, name = task
        return {LONG: self.long, MANY: self.many, OWN: self.own, TRAINED: self.train}[kind](name)

    @cached_property
    def ready(self) -> continuous_grid.Prepared:
        """The log and its encoders, which are read from the results folder once they have been trained."""
        return continuous_grid.prepare(self.workspace)

    def train(self, name: str) -> None:
        """Train an encoder, and keep it in the results folder."""
        _ = self.ready.encoders[name]

    def __getstate__(self) -> dict[str, Any]:
        return {
            "workspace": self.workspace,
            "settings": self.settings,
        }  # what is cached is made again in another process

    def long(self, name: str) -> Runs:
        """Return runs to the last epoch: only the first ten of those that no log stops."""
        endless = name in (REAL, *BASELINES)
        return self.runs(name, name, min(FIRST, self.settings.runs) if endless else self.settings.runs)

    def many(self, name: str) -> Runs:
        """Return as many runs as were asked for, for fewer epochs; real ones at least `real_runs`."""
        runs = max(self.settings.runs, self.settings.real_runs) if name == REAL else self.settings.runs
        return self.runs(f"{name}, many", name, runs, self.settings.many_epochs)

    def own(self, name: str) -> Runs:
        """Return runs with a log each, which are independent, as real runs are."""
        env, rows, cap, make = self.ready.env, len(self.ready.log), self.cap, self.simulator(name)
        runs = self.settings.own_runs if name in REPLAYED else self.settings.other_runs
        epochs = self.settings.own_epochs if name in BASELINES else None
        factory = lambda seed: make(continuous_grid.record(env, rows, seed, cap))  # noqa: E731
        return self.runs(f"{name}, own logs", name, runs, epochs, factory)

    def runs(self, title: str, name: str, runs: int, epochs: int | None = None, factory: Any = None) -> Runs:
        """Return runs of PPO under the simulator of a set, or under those that a factory makes."""
        env, log, steps = self.ready.env, self.ready.log, self.settings.epoch_steps
        options = {"epoch_steps": steps, "abandons": self.workspace.authors, **self.settings.ppo}
        simulator = factory or (continuous_grid.real(env, self.cap) if name == REAL else self.simulator(name)(log))
        return self.workspace.experiment(
            title, simulator, lambda seed: us.learners.PPO(log.spec, seed=seed, **options),
            runs=runs, max_steps=(epochs or self.settings.epochs) * steps, every=steps, workers=1, progress=False,
            probes=us.probes.validation(env, gamma=GAMMA, max_episode_steps=CAP)
            | {VALUE: continuous_grid.policy_value(env), WITHIN: us.probes.episode_returns},
        )  # fmt: skip

    @property
    def cap(self) -> int | None:
        """The number of steps after which episodes end; None for no limit."""
        return CAP if self.workspace.authors else None

    def simulator(self, name: str) -> Callable[[us.Log], Any]:
        """Return the function that makes the simulator of a set from a log.

        It holds the encoder itself and not all encoders: a results folder sees what it holds, and would take runs for
        others where more encoders have been trained, or in a folder of another name.
        """
        order: dict[str, Any] = {"order": grids.conventions(self.workspace).order}
        if name == "act-only":
            return us.actions_only
        if name == "random":
            return us.any_row
        if name == "obs-only":  # by the states of the paper's encoder
            homer = self.ready.encoders[HOMER]
            return lambda log: us.states_only(log, homer, **order)
        if name == POINTS:
            return lambda log: us.psrs(log, **order)
        kind, encoder_name = name.split("-")
        make: Any = {"PSRS": us.psrs, "QBE": us.qbe}[kind]
        encoder = self.ready.encoders[encoder_name]
        return lambda log: make(log, encoder, **order)


def without_and_with_training(tasks: list[Task]) -> tuple[list[Task], list[Task]]:
    """Return the tasks that need no trained encoder, which can be done while those are trained, and the others."""
    learned = (HOMER, FORWARD)
    others = [task for task in tasks if task[1] == "obs-only" or task[1].endswith(learned)]
    return [task for task in tasks if task not in others], others


def make_sets(run_sets: RunSets, tasks: list[Task]) -> dict[Task, Runs]:
    """Do tasks, several at a time, and return their sets; the ten runs of a set are trained together, by one worker."""
    workers = 1 if run_sets.workspace.quick else min(run_sets.workspace.workers or n_cores(), len(tasks))
    backend = in_turn if workers == 1 else in_processes
    made: dict[Task, Runs] = {}
    with progress_bar("sets of runs", len(tasks), None) as report:
        for task, runs in backend(run_sets, tasks, workers):
            made[task] = runs
            report(len(made))
    return made
