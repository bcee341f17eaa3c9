"""Are verdicts on runs that share one log right, and how often is the trusted horizon?"""

import numpy as np

import understudy as us
from benchmarks.trust.settings import QUIET, grid, grid_probes, log_of, make_learner, percent, truth

LOGS = 200
EVERY, MAX_STEPS, REAL_RUNS = 400, 6_000, 400
PROBE = "start value"

PROTOCOL = """
Q-learning (the paper's, exploring in nine of ten steps) on one log of 100 or 300 episodes of the 5 x 5 grid with
three of ten actions replaced by a random one, up to step 6,000 or as far as all runs go; `us.halves` with its
defaults, against 400 real runs, and against PSRS on the same halves. The margin is a tenth of the range of the true
curve. The true error of a simulator is that of its mean curve over all logs of the case against 5,000 real runs (root
of the mean square over the readings), and what is said of a log is compared with it. `pairs` and `fours` are PSRS
with a wrong encoder, which merges cells that lead to different places by twos and fours.

Success, set before these logs were looked at: exact simulators (PSRS, QBE) are called *different* on at most 5 % of
logs; simulators whose true error is twice the margin or more are called *equivalent* on at most 5 %. Of the trusted
horizon (margin as above) there is no such limit, since it is a heuristic: the table says on how many logs the mean
curve was within the margin, plus the interval's half width, of the truth at every reading up to that horizon, and how
long it is.
"""


def cases():
    simulators = ("psrs", "qbe", "states_only", "pairs", "fours", "model")
    return {
        f"{simulator}, {episodes} episodes": (simulator, episodes)
        for episodes in (100, 300)
        for simulator in simulators
    }


def simulator_of(name, log):
    if name in ("pairs", "fours"):
        size = 2 if name == "pairs" else 4
        return us.psrs(log, us.encoders.Function(lambda observations: observations // size))
    return getattr(us, name)(log)


def measure(case, number):
    name, episodes = case
    log, make = log_of("slip", episodes, number), make_learner("Q-learning")
    options = {"probes": grid_probes("slip"), "every": EVERY, "max_steps": MAX_STEPS, **QUIET}
    found = us.halves(simulator_of(name, log), make, seed=number, **options)
    real = us.experiment(us.real(grid("slip")), make, runs=REAL_RUNS, seed=number, **options)
    exact = us.halves(us.psrs(log), make, seed=number, **options) if name != "psrs" else None
    true = truth("slip", "Q-learning", EVERY, MAX_STEPS)[PROBE][0]
    if found.runs.horizon() < EVERY:
        return None
    interval = found.interval(PROBE)
    margin = 0.1 * float(np.ptp(true))
    off = np.abs(interval.mean - true[: len(interval.steps)])
    trusted = found.trust(PROBE, margin)
    n = int(np.sum(interval.steps <= trusted.steps))
    return {
        "against real": us.fidelity(found, real, PROBE, margin=margin).verdict,
        "against psrs": None if exact is None else us.fidelity(found, exact, PROBE, margin=margin).verdict,
        "curve": interval.mean.tolist(),
        "trusted": trusted.steps,
        "reason": trusted.reason,
        "horizon": int(interval.steps[-1]),
        "right": bool((off[:n] <= margin + (interval.high - interval.mean)[:n]).all()),
    }


def table(results):
    true = truth("slip", "Q-learning", EVERY, MAX_STEPS)[PROBE][0]
    margin = 0.1 * np.ptp(true)
    head = (
        "| simulator | episodes | true error, margins | against | different, % | equivalent, % | undecided, % | logs |"
    )
    lines = [head, "|---|--:|--:|---|--:|--:|--:|--:|"]
    below = [
        "| simulator | episodes | trusted to step, median | all runs reach, median | right up to there, % |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, found in results.items():
        kept = [log for log in found if log is not None]
        error = true_error([log["curve"] for log in kept], true) / margin
        where = " | ".join(name.replace(" episodes", "").split(", "))
        for against in ("against real", "against psrs"):
            verdicts = [log[against] for log in kept if log[against] is not None]
            if verdicts:
                shares = [
                    percent(np.mean([verdict == word for verdict in verdicts]))
                    for word in ("different", "equivalent", "undecided")
                ]
                lines.append(f"| {where} | {error:.1f} | {against[8:]} | {' | '.join(shares)} | {len(verdicts)} |")
        trusted, horizon = (np.median([log[key] for log in kept]) for key in ("trusted", "horizon"))
        below.append(
            f"| {where} | {trusted:,.0f} | {horizon:,.0f} | {percent(np.mean([log['right'] for log in kept]))} |"
        )
    return "\n".join([*lines, "", *below])


def true_error(curves, true):
    """Root of the mean square difference of the mean over logs and the truth, at readings that most logs have."""
    longest = max(map(len, curves))
    padded = np.array([curve + [np.nan] * (longest - len(curve)) for curve in curves])
    most = np.isfinite(padded).mean(axis=0) > 0.5
    return float(np.sqrt(np.mean((np.nanmean(padded[:, most], axis=0) - true[:longest][most]) ** 2)))
