"""Do intervals from halves hold for a learner that trains a network, with fewer halves and stacked runs?"""

from functools import lru_cache

import numpy as np

import understudy as us
from benchmarks.trust.settings import QUIET, grid, log_of, percent

LOGS = 40
EPISODES, EPOCH, TRUE_RUNS = 200, 1_000, 300

PROTOCOL = """
PPO (epochs of 1,000 steps) on logs of 200 episodes of the 5 x 5 grid with three of ten actions replaced by a random
one, in PSRS: 10 runs on the log and 10 on each of 8 halves, each ten trained as one stack. The truth is the mean of
300 real runs. Covered as for intervals above, at every reading that all runs of a log reached.

Success, set before these logs were looked at: covered at least 90% in the mean over the curve. With 40 logs the
figure itself is known to about 3%.
"""


def cases():
    return {"PPO, start value": "start value"}


def make(seed):
    return us.learners.PPO(log_of("slip", 2, 0).spec, seed=seed, gamma=0.95, epoch_steps=EPOCH)


@lru_cache(maxsize=1)
def true_curve():
    runs = us.experiment(
        us.real(grid("slip")), make, runs=TRUE_RUNS, seed=1, max_steps=8 * EPOCH, every=EPOCH,
        probes={"start value": us.probes.start_value(grid("slip"))}, **QUIET,
    )  # fmt: skip
    return runs.curve("start value")[1].mean(axis=0)


def measure(case, number):
    found = us.halves(
        us.psrs(log_of("slip", EPISODES, number)), make, runs=10, halves=8, runs_of_half=10, seed=number,
        every=EPOCH, max_steps=8 * EPOCH, probes={case: us.probes.start_value(grid("slip"))}, **QUIET,
    )  # fmt: skip
    interval, true = found.interval(case), true_curve()
    n = len(interval.steps)
    low, high = interval.naive
    return {
        "covered": ((interval.low <= true[:n]) & (true[:n] <= interval.high)).tolist(),
        "naive": ((low <= true[:n]) & (true[:n] <= high)).tolist(),
        "from log": float(np.median(interval.from_log / interval.from_runs)),
    }


def table(results):
    lines = [
        "| learner | covered, % | naive, % | log's share of the error / runs' share, median | logs |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, found in results.items():
        covered, naive = (np.mean(np.concatenate([log[key] for log in found])) for key in ("covered", "naive"))
        ratio = np.median([log["from log"] for log in found])
        lines.append(f"| {name} | {percent(covered)} | {percent(naive)} | {ratio:.1f} | {len(found)} |")
    return "\n".join(lines)
