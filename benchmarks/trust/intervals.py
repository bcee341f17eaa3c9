"""Do intervals from halves of one log hold the truth as often as they say?"""

import numpy as np

import understudy as us
from benchmarks.trust.settings import QUIET, grid_probes, log_of, make_learner, percent, truth

LOGS = 400
SIZES = (50, 100, 200, 500, 1000)
READINGS = {  # every, and max_steps: by size, for the deterministic and the slip grid
    "deterministic": {50: (150, None), 100: (300, None), 200: (250, 3_000), 500: (250, 3_000), 1000: (250, 3_000)},
    "slip": {50: (200, None), 100: (450, None), 200: (900, None), 500: (1_250, 15_000), 1000: (1_250, 15_000)},
}
POINTS = 8

PROTOCOL = """
Logs of the uniform policy on the 5 x 5 grid, deterministic and with three of ten actions replaced by a random one; the
paper's Q-learning and Expected SARSA (exploring in nine of ten steps) in PSRS and QBE; `us.halves` with its defaults:
100 runs on the log, 20 on each of 20 halves. The truth is the mean of 5,000 runs in the grid itself. The curve of a log
ends at the last reading that all of its runs reached - in the deterministic grid with 200 episodes or more at step
3,000, when the values are learned, and in the other with 500 or more at step 15,000 - and, for the start value, at the
last reading at which true runs still differ (standard deviation at least a hundredth of the curve's range): later all
of them have the same value, to many digits. *Covered* is the share of logs whose interval of 95% holds the truth: the
mean over eight points, the eighths of the curve, and the lowest of the eight. *Naive* is the same for 1.96 standard
errors over runs. *Seen* is the part of the curve that halves reached.

Success, set before these logs were looked at: covered 93 to 98% in the mean over the curve, and nowhere below 90% at
its eighths, in each of the 80 cases. The method was chosen on other logs.
"""
LONGEST = {50: 4_500, 100: 9_000}
"""Steps of true runs, where the log and not max_steps ends the runs; elsewhere 16,000."""


def cases():
    return {
        f"{kind}, {episodes:,} episodes, {simulator}, {learner}": (kind, episodes, simulator, learner)
        for kind in READINGS
        for episodes in SIZES
        for simulator in ("psrs", "qbe")
        for learner in ("Q-learning", "Expected SARSA")
    }


def measure(case, number):
    kind, episodes, simulator, learner = case
    every, max_steps = READINGS[kind][episodes]
    found = us.halves(
        getattr(us, simulator)(log_of(kind, episodes, number)), make_learner(learner), seed=number,
        probes=grid_probes(kind), every=every, max_steps=max_steps, **QUIET,
    )  # fmt: skip
    true = truth(kind, learner, every, max_steps or LONGEST.get(episodes, 16_000))
    return {probe: _covered(found, probe, *true[probe]) for probe in found.probes}


def _covered(found, probe, mean, spread):
    """Whether intervals hold the truth at the eighths of a curve, ours and the naive ones, and what halves reached."""
    if found.runs.horizon() < found.runs.about.every:
        return None  # a log on which a run stopped before the first reading
    interval = found.interval(probe)
    n = min(len(interval.steps), 1 + int(np.flatnonzero(spread >= 0.01 * np.ptp(mean))[-1]))
    at = np.ceil(np.arange(1, POINTS + 1) / POINTS * n).astype(int) - 1
    low, high = interval.naive
    mean = mean[: len(interval.steps)]
    return {
        "covered": ((interval.low <= mean) & (mean <= interval.high))[at].tolist(),
        "naive": ((low <= mean) & (mean <= high))[at].tolist(),
        "seen": min(1.0, interval.reach / float(interval.steps[n - 1])),
        "width": (interval.high - interval.low)[at].tolist(),
    }


def table(results):
    head = (
        "| grid | episodes | simulator | learner | probe | covered, % | lowest eighth, % | naive, % | seen, % | logs |"
    )
    lines = [head, "|---|--:|---|---|---|--:|--:|--:|--:|--:|"]
    wrong, n_cases = [], 0
    for name, found in results.items():
        for probe in ("start value", "episode return"):
            kept = [log[probe] for log in found if log[probe] is not None]
            if not kept:
                continue
            covered, naive = (np.array([log[key] for log in kept], dtype=float) for key in ("covered", "naive"))
            mean, lowest = covered.mean(), covered.mean(axis=0).min()
            missed = not 0.93 <= mean <= 0.98 or lowest < 0.90
            n_cases += 1
            wrong += [f"{name}, {probe}"] if missed else []
            seen = np.mean([log["seen"] for log in kept])
            shown = [percent(share) for share in (mean, lowest, naive.mean(), seen)]
            where = " | ".join(name.replace(" episodes", "").split(", "))
            lines.append(f"| {where} | {probe}{' *' if missed else ''} | {' | '.join(shown)} | {len(kept)} |")
    lines += ["", f"{n_cases - len(wrong)} of {n_cases} cases are within the limits; those marked * are not."]
    return "\n".join(lines)
