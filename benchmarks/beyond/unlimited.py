"""What relaxations without a limit do on the panel: own rows again, the nearest row, any row."""

import numpy as np

from benchmarks.beyond.problems import PANEL, WINDOWS, sized_cases
from benchmarks.beyond.relaxed import RELAXATIONS, relaxed_curves
from benchmarks.beyond.truth import error_of

LOGS = 2
RUNS = 40

PROTOCOL = f"""
Relaxations that know no limit, {RUNS} runs of Q-learning on each of {LOGS} logs. Each serves the oldest unused row of
the own state and the drawn action while there is one, as QBE does; then *reuse* serves own rows again, drawn with
replacement, and stops where the action was never tried; *nearest* serves an unused row with that action from the
nearest state that has one (where the log shows numbers, each in units of its spread); *any* serves the oldest unused
row with that action from any state, which is a radius without limit. Openings are drawn with replacement. Steps are
those that all but a tenth of the runs reached, the median over logs. The error is that of the mean curve, its largest
difference from the truth over all whole windows up to there, in margins: the median over logs. Above 1 is wrong.
"""


def cases():
    return {case: (name, size) for case, (name, size) in sized_cases().items() if not PANEL[name].ppo}


def measure(case, number):
    name, size = case
    problem, found = PANEL[name], {}
    log = problem.log(size, number)
    for relaxation in RELAXATIONS:
        if relaxation == "nearest" and not problem.world.has_numbers:
            continue
        curves, lengths = relaxed_curves(problem, log, relaxation, RUNS, number, problem.window(size), WINDOWS)
        reached = int(np.quantile(lengths, 0.1, method="lower"))
        mean = mean_up_to(curves, reached // problem.window(size))
        found[relaxation] = {"steps": reached, "curve": mean.tolist(), "error": error_of(name, size, mean)}
    return found


def mean_up_to(curves, windows):
    """Return the mean over the runs that have a reading, of the first so many windows."""
    if not windows:
        return np.empty(0)
    return np.nanmean(curves[:, :windows], axis=0)


def table(results):
    lines = [
        "| problem | episodes | run | reuse: steps | error | nearest: steps | error | any: steps | error |",
        f"|---|{'--:|' * 8}",
    ]
    given = cases()
    for case, found in results.items():
        name, size = given[case]
        problem, cells = PANEL[name], []
        for relaxation in RELAXATIONS:
            of_logs = [log[relaxation] for log in found if relaxation in log]
            errors = [log["error"] for log in of_logs if np.isfinite(log["error"])]
            cells.append(f"{np.median([log['steps'] for log in of_logs]):,.0f}" if of_logs else "")
            cells.append(f"{np.median(errors):.1f}" if errors else "")
        lines.append(f"| {' | '.join([name, f'{problem.sizes[size]:,}', f'{problem.steps[size]:,}', *cells])} |")
    return "\n".join(lines)
