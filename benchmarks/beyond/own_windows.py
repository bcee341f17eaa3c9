"""The panel's ladders once more, read in windows that `us.beyond` chooses: short runs are not lost for long windows."""

import numpy as np

import understudy as us
from benchmarks.beyond import ladders
from benchmarks.beyond.ladders import RUNS, SHARE, ladder_on
from benchmarks.beyond.problems import PANEL, PROBE, QUIET, Problem
from benchmarks.beyond.truth import margin_of
from understudy.runs.run import reached

LOGS = ladders.LOGS
TRUE_RUNS = 2_000
READ_ABOVE = ("navigation", "hill car", "continuous grid")
"""Problems whose runs are long enough for the panel's windows."""

PROTOCOL = f"""
The same logs, learners, rungs, margins and numbers of runs as above, but `us.beyond` reads the runs as it does for its
users, in windows of its own, a sixteenth of what runs reach or longer. Above, nothing can be trusted of runs that end
before the first eighth of the panel's length. The truth is the mean of {TRUE_RUNS:,} real runs in the same windows, up
to the trusted length. What counts as sound and as long is the same. This table was added after the one above was seen,
and before it was measured; the problems that are read well above ({", ".join(READ_ABOVE)}) and PPO are left out to save
time.
"""


def cases():
    given = ladders.cases()
    return {case: (name, size) for case, (name, size) in given.items() if not left_out(name)}


def left_out(name: str) -> bool:
    return PANEL[name].ppo or name in READ_ABOVE


def measure(case, number):
    name, size = case
    problem, margin = PANEL[name], margin_of(name)
    log = problem.log(size, number)
    options = {"max_steps": problem.steps[size], "seed": number, **QUIET}
    exact = us.experiment(us.qbe(log, problem.world.encoder, stop="plain"), problem.make, runs=RUNS, **options).lengths
    simulator, then = ladder_on(log, problem.world.encoder)
    probes = {PROBE: us.probes.episode_returns}
    found = us.beyond(simulator, problem.make, margin=margin, probes=probes, runs=RUNS, **options)
    return {
        "exact": int(reached(exact, SHARE)),
        "rungs": list(then),
        "length": found.longest,
        "trusted": found.steps,
        "why": found.sentence,
        "evidence": {one.name: one.steps for one in found.evidence},
        "every": found.runs.about.every,
        "error": error_in_windows(problem, found, margin),
    }


def error_in_windows(problem: Problem, found: us.Beyond, margin: float) -> float:
    """Return the largest difference from the truth over the windows within the trusted length, in margins; NaN
    where there is none with a reading."""
    every = found.runs.about.every
    n = found.steps // every if PROBE in found.runs.probes else 0
    if n == 0:
        return float("nan")
    true = problem.real_curves(every, n, TRUE_RUNS)
    off = np.abs(means(found.runs.curve(PROBE)[1][:, :n]) - means(true)) / margin
    return float(np.nanmax(off)) if np.isfinite(off).any() else float("nan")


def means(curves: np.ndarray) -> np.ndarray:
    """Return the mean over runs at each window; NaN where no run has an episode that ended there."""
    n = np.isfinite(curves).sum(axis=0)
    return np.where(n > 0, np.nansum(curves, axis=0) / np.maximum(n, 1), np.nan)


table = ladders.table
