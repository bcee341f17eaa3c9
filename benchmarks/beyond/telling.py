"""Whether a learner that is told of cut episodes has a truer curve than one that is not."""

import numpy as np
from scipy.stats import t

import understudy as us
from benchmarks.beyond.problems import PANEL, PROBE
from benchmarks.beyond.traces import TracedQLearning
from benchmarks.beyond.truth import margin_of
from understudy.runs.run import reached

LOGS = 3
RUNS = 100
TRUE_RUNS = 1_000
DECAY = 0.8
SHARE = 0.9  # of the runs that must reach a step for the runs to do so
MOST_CUT = (0.1, 0.3)
PROBLEMS = ("slip grid", "FrozenLake", "CliffWalking", "continuous grid")
CLEARLY = 0.1  # of a margin

PROTOCOL = f"""
Where an episode is cut, the learner can be told that the step before was its last, as if it had been truncated, or
nothing. To Q-learning, which looks at single steps, the two are the same, number by number (a test holds it). It
matters to learners that look further, so this is measured with Watkins's Q(lambda), lambda {DECAY:g}: told, it begins
a new trace; not told, errors of the next episode move the values of the one that was cut. Problems, learners'
settings and windows are those of the panel, on its small and middle logs, {LOGS} of each; QBE with the rung *cut*
alone, and a `max_cut` of {MOST_CUT[0]:g} and of {MOST_CUT[1]:g}, so that cuts matter; {RUNS} runs of each, told and
not told with the same seeds. The truth is the mean of {TRUE_RUNS:,} real runs of the same learner. The error is the
root mean square, over the whole windows that nine of ten runs reach in both cases, of the mean curve less the true
one, in margins of the problem; without such a window a log does not count.

**Better** is what has the smaller error on average over all logs, of which each problem and size is one case: *clearly*
so where the mean difference is at least {CLEARLY:g} margins and its 95% interval, by t over the cases, leaves out 0.
Learners are told today, and that changes only if telling nothing is clearly better.
"""


def cases():
    return {
        f"{name}: {PANEL[name].sizes[size]:,}, max_cut {most:g}": (name, size, most)
        for name in PROBLEMS
        for size in (0, 1)
        for most in MOST_CUT
    }


def made(problem, encoder, *, hears):
    """Return a function that makes the learner for a seed; `encoder` gives the rows of its table."""
    sizes = (problem.world.n_codes, problem.world.n_actions)
    return lambda seed: TracedQLearning(*sizes, encoder=encoder, **problem.learner, decay=DECAY, hears=hears, seed=seed)


def measure(case, number):
    name, size, most = case
    problem, reading = PANEL[name], PANEL[name].reading(size)
    simulator = us.qbe(problem.log(size, number), problem.world.encoder, then="cut", max_cut=most)
    found = {
        hears: us.experiment(
            simulator, made(problem, problem.world.codes, hears=hears), runs=RUNS, seed=number, **reading
        )
        for hears in (True, False)
    }
    real = us.experiment(
        us.real(problem.world.finite), made(problem, None, hears=True), runs=TRUE_RUNS, seed=number, **reading
    )
    steps = min(int(reached(runs.lengths, SHARE)) for runs in found.values())
    windows = steps // problem.window(size)
    curves = {hears: np.nanmean(runs.curve(PROBE)[1][:, :windows], axis=0) for hears, runs in found.items()}
    truth = np.nanmean(real.curve(PROBE)[1][:, :windows], axis=0)
    cut = [np.searchsorted(run.cuts, steps, side="right") for run in found[True]]
    ended = [np.searchsorted(run.ends, steps, side="right") for run in found[True]]
    return {
        "steps": steps,
        "cut": float(np.sum(cut) / max(1, np.sum(cut) + np.sum(ended))),
        "told": error_of(curves[True], truth, margin_of(name)),
        "silent": error_of(curves[False], truth, margin_of(name)),
    }


def error_of(curve, truth, margin):
    """Return the root mean square of the difference of two curves in margins; NaN without a window."""
    return float(np.sqrt(np.mean((curve - truth) ** 2)) / margin) if len(curve) else float("nan")


def difference(results):
    """Return by how much the error is larger where learners are not told, with the half width of its interval.

    Logs of a problem and size, whatever their `max_cut`, are one case.
    """
    groups = {}
    for case, found in results.items():
        off = [log["silent"] - log["told"] for log in found if np.isfinite(log["told"])]
        groups.setdefault(case.partition(",")[0], []).extend(off)
    means = np.array([np.mean(group) for group in groups.values() if group])
    if len(means) < 2:
        return float("nan"), float("nan")
    return float(means.mean()), float(t.ppf(0.975, len(means) - 1) * means.std(ddof=1) / np.sqrt(len(means)))


def table(results):
    lines = ["| problem | episodes | max_cut | steps | cut | error told | error not told |", f"|---|{'--:|' * 6}"]
    given = cases()
    for case, found in results.items():
        name, size, most = given[case]
        middle = {key: np.median([log[key] for log in found]) for key in ("steps", "cut")}
        errors = [[log[key] for log in found if np.isfinite(log[key])] for key in ("told", "silent")]
        shown = [f"{np.mean(error):.2f}" if error else "" for error in errors]
        cells = [name, f"{PANEL[name].sizes[size]:,}", f"{most:g}", f"{middle['steps']:,.0f}", f"{middle['cut']:.0%}"]
        lines.append(f"| {' | '.join(cells + shown)} |")
    more, width = difference(results)
    return "\n".join([*lines, "", f"Not told, the error is larger by {more:.3f} margins (95%: within {width:.3f})."])
