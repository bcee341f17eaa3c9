"""How long PSRS lasts with a reserve: `python -m benchmarks.reserve`. Prints a table, and says whether the rule holds.

PROTOCOL was written, with the numbers of logs and the margins, before the results were looked at.
"""

import sys
import time

import numpy as np

import understudy as us
from paper.discrete import FULL
from paper.grids import record, states
from paper.noisy_grid import SETTINGS, environment, learner

LOGS, CHANGING_LOGS = 200, 60
SHORTEST = 0.98
EPISODES, EVERY = 200, 50  # of the log of policies that change; steps after which such a policy changes

PROTOCOL = f"""
The paper's discrete settings: the grid with noise bits in its five cases, {FULL.episodes:,} episodes, its three
settings (the uniform policy, a near-optimal one, Q-learning), queues by observations and by states, {LOGS} logs with
one run on each by PSRS, QBE and PSRS with a reserve (all in the exact order; QBE with its predictable stop). In every
cell the mean length with a reserve is divided by the larger of the mean lengths of PSRS and QBE; the standard error is
that of pairs on the same log. Policies that change: the 5x5 grid, {EPISODES} episodes, {CHANGING_LOGS} logs, a policy
that takes one action with probability 1 - epsilon, else any, and another one after every {EVERY} steps, with epsilon .5
and .1. The reserve holds up if no ratio of the paper's settings is below {SHORTEST}, and both ratios of policies that
change are above 1.
"""


class Rotating:
    """A policy that prefers one action, and the next one after some steps."""

    def __init__(self, epsilon):
        self.policies = epsilon / 5 + (1 - epsilon) * np.eye(5)
        self.steps = 0

    def policy(self, observation):
        return self.policies[self.steps // EVERY % 5]

    def learn(self, step):
        self.steps += 1


def simulators(log, encoder=None):
    return us.psrs(log, encoder), us.qbe(log, encoder), us.psrs(log, encoder, reserve=True)


def lengths(log, make, seed, encoder=None):
    """Steps of one run by each of the simulators."""
    return [len(us.simulate(simulator, make(seed), seed, keep_rows=False)) for simulator in simulators(log, encoder)]


def ratio(found):
    """The mean length with a reserve over the larger of the other two, and its standard error; `found` is (logs, 3)."""
    means = found.mean(axis=0)
    better = int(means[:2].argmax())
    value = means[2] / means[better]
    return value, (found[:, 2] - value * found[:, better]).std(ddof=1) / np.sqrt(len(found)) / means[better]


def measure(logs=LOGS, changing_logs=CHANGING_LOGS):
    """Yield each cell: its name, the lengths, (logs, 3), and the smallest ratio that the rule allows."""
    for case in FULL.cases:
        env, cells = environment(case), {}
        for number in range(logs):
            log = record(env, FULL.episodes, seed=number)
            for setting in SETTINGS:
                make = learner(setting, env)
                for keyed, encoder in (("observations", None), ("states", states(env))):
                    cells.setdefault(f"{case}, {setting}, {keyed}", []).append(lengths(log, make, number, encoder))
        yield from ((name, np.array(found), SHORTEST) for name, found in cells.items())
    for epsilon in (0.5, 0.1):
        found = [
            lengths(us.record(us.envs.Grid(), episodes=EPISODES, seed=number), lambda _, e=epsilon: Rotating(e), number)
            for number in range(changing_logs)
        ]
        yield f"policy that changes, epsilon {epsilon}", np.array(found), 1.0


def main(quick):
    begun, holds = time.perf_counter(), True
    print(PROTOCOL)
    print(f"{'':44} {'PSRS':>9} {'QBE':>9} {'reserve':>9} {'ratio':>7} {'error':>6}")
    for name, found, least in measure(*((4, 4) if quick else ())):
        value, error = ratio(found)
        holds &= value > least
        means = " ".join(f"{mean:9,.0f}" for mean in found.mean(axis=0))
        print(f"{name:44} {means} {value:7.3f} {error:6.3f}", flush=True)
    print(f"{'holds up' if holds else 'does not hold up'} ({time.perf_counter() - begun:.0f} s)")


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
