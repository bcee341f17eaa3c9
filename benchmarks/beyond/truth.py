"""The true learning curve of each problem of the panel, over real runs."""

from functools import cache
from typing import Any

import numpy as np

from benchmarks.beyond.problems import PANEL, WINDOWS
from benchmarks.measuring import lines_of, results_file

LOGS = 1

PROTOCOL = f"""
The true curves: what an episode earned on average, over the episodes that ended in each of {WINDOWS} windows of a
run, in 4,000 real runs of each problem (200 of PPO). A problem's margin, for all that follows, is a tenth of the
range of its longest true curve, or its unit where that is larger: the curve of *treatment* is flat, and its unit is a
survival of .03. The error is the largest standard error of a window's mean, as a share of the margin. The logger
takes the best action, or, in the share of steps that it explores, any; on CartPole it pushes to the side that the
pole falls to instead.
"""


def cases():
    return {
        f"{name}: {steps:,}": (name, problem.steps.index(steps))
        for name, problem in PANEL.items()
        for steps in dict.fromkeys(problem.steps)
    }


def measure(case, number):
    name, size = case
    problem = PANEL[name]
    curves = problem.true_curves(size, problem.true_runs)
    n = np.isfinite(curves).sum(axis=0)
    return {
        "mean": np.nanmean(curves, axis=0).tolist(),
        "error": (np.nanstd(curves, axis=0) / np.sqrt(n)).tolist(),
        "runs": int(n.min()),
    }


def table(results):
    head = "| problem | actions | logger explores | learner | steps | true curve | range | margin | error, margins |"
    lines = [head, "|---|--:|--:|---|--:|---|--:|--:|--:|"]
    given = cases()
    for case, (found,) in results.items():
        name, size = given[case]
        problem, mean, margin = PANEL[name], np.array(found["mean"]), margin_of(name)
        cells = [
            name, problem.world.n_actions, f"{problem.world.soft:g}", problem.words, f"{problem.steps[size]:,}",
            " ".join(f"{value:.3g}" for value in mean), f"{np.ptp(mean):.3g}", f"{margin:.2g}",
            f"{max(found['error']) / margin:.2f}",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def error_of(name: str, size: int, mean: np.ndarray) -> float:
    """Return the largest difference from the truth of a mean curve, over its windows, in margins; NaN without any."""
    off = np.abs(mean - np.array(truth_of(name, size)["mean"])[: len(mean)]) / margin_of(name)
    return float(off.max()) if len(off) else float("nan")


@cache
def truth_of(name: str, size: int) -> dict[str, Any]:
    """Return the truth for runs on logs of a size. Raise `SystemExit` where it was not measured yet."""
    case = f"{name}: {PANEL[name].steps[size]:,}"
    for line in lines_of(results_file("beyond", "truth")):
        if line["case"] == case:
            return line["found"]
    raise SystemExit(f"the truth of {case} is not known yet; first run python -m benchmarks.beyond truth")


def margin_of(name: str) -> float:
    """Return a problem's margin: a tenth of the range of its longest true curve, or its unit where that is larger."""
    mean = truth_of(name, 2)["mean"]
    return max(0.1 * (max(mean) - min(mean)), PANEL[name].unit)
