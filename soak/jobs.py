"""Drivers that are killed: experiments of a few seconds with results folders, as users write them.

Run as `python -m soak.jobs NAME FOLDER`, in a process of its own. The same command goes on where one was killed.
"""

import os
import sys
from pathlib import Path
from typing import Any

RUNS = 12
WORKERS = 2


class Running:
    """A learner in Python that prefers actions that earned; in some runs it raises, where asked for."""

    def __init__(self, seed: int, raises: bool = False) -> None:
        import numpy as np

        self.total, self.steps, self.raises = np.ones(5), 0, raises and seed % 4 == 1

    def policy(self, observation: Any) -> Any:
        return self.total / self.total.sum()

    def learn(self, step: Any) -> None:
        self.steps += 1
        self.total[step.action] += max(0.0, step.reward)
        if self.raises and self.steps > 50:
            raise ZeroDivisionError("as asked for")


def make_running(seed: int) -> Running:
    """Return a learner."""
    return Running(seed)


def make_raising(seed: int) -> Running:
    """Return a learner that raises for some seeds."""
    return Running(seed, raises=True)


def simulator() -> Any:
    """Return PSRS on a log that is large enough for its arrays to be sent to workers as files."""
    import numpy as np

    import understudy as us

    rng, n = np.random.default_rng(0), 60_000
    return us.psrs(
        us.Log.from_columns(
            observation=rng.integers(0, 25, n), action=rng.integers(0, 5, n), reward=rng.integers(0, 2, n) * 1.0,
            terminated=np.arange(n) % 10 == 9, propensity=np.full((n, 5), 0.2),
        )
    )  # fmt: skip


def run_job(name: str, folder: Path) -> None:
    """Run an experiment into a folder, or go on with it."""
    import warnings

    import understudy as us

    options: dict[str, Any] = {"out": folder, "progress": True, "every": 200, "workers": WORKERS, "max_steps": 2500}
    probes = {"value": us.probes.start_value(us.envs.Grid(5))}
    if name == "processes":
        us.experiment(simulator(), make_running, runs=RUNS, backend="processes", **options)
    elif name == "errors kept":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", us.FailedRunsWarning)
            us.experiment(simulator(), make_raising, runs=RUNS, backend="processes", errors="keep", **options)
    elif name == "threads":
        us.experiment(simulator(), make_q, runs=40 * RUNS, backend="threads", probes=probes, **options)
    elif name == "halves":
        us.halves(simulator(), make_q, runs=RUNS, halves=8, runs_of_half=4, probes=probes, **options)
    elif name == "other":  # another experiment than "processes", for a folder that has that one
        us.experiment(simulator(), make_running, runs=RUNS, backend="processes", seed=1, **options)
    elif name == "ray":
        backend = us.backends.ray(address=os.environ["RAY_ADDRESS"])
        us.experiment(simulator(), make_running, runs=RUNS, backend=backend, **options)
    elif name == "serial":
        us.experiment(simulator(), make_running, runs=RUNS, backend="serial", **options)
    else:
        raise SystemExit(f"there is no job {name}")


def make_q(seed: int) -> Any:
    """Return a compiled learner."""
    import understudy as us

    return us.learners.QLearning(25, 5, epsilon=0.5, alpha=0.5, gamma=0.9, seed=seed)


def main() -> int:
    """Run the job that is named. An error of the library is one sentence, and Ctrl-C none, as in its own commands."""
    try:
        from understudy.errors import UnderstudyError

        try:
            run_job(sys.argv[1], Path(sys.argv[2]))
        except UnderstudyError as error:
            print(f"job: {error}", file=sys.stderr)
            return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
