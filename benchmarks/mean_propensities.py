"""What mean propensities gain on logs of several loggers, and how far they are off.

python -m benchmarks.mean_propensities

PROTOCOL was written, with the numbers of runs and the margin, before the results were looked at.
"""

import numpy as np

import understudy as us

RUNS, EPISODES, LONGEST, HORIZON, EVERY = 60, 2000, 100, 600, 50
MARGIN = 0.03
ENV = us.envs.Grid(slip=0.2)
PROBES = {"start value": us.probes.start_value(ENV)}

PROTOCOL = f"""
Q-learning (epsilon .9) on the 5x5 grid with slip .2; each of {RUNS} runs has a log of its own, of {EPISODES} episodes
of at most {LONGEST} steps. Loggers: *two soft* ones, each with an action for every cell, drawn at random, that it takes
with probability .6, and the others with .1, one of them in each episode; *fifty deterministic* ones, which always take
theirs, so that with its own propensities no row can be accepted; *drifting*, from one of the two soft ones to the other
over the log. Shown are the mean length of runs, and the error of the mean curve of the start value against {4 * RUNS}
real runs, with the noise taken off: the upper end of its 95% interval, up to the step that every run reached,
{HORIZON} at most. (A first look was at logs of 200 episodes, on which most runs were too short to be compared.)
"""


def loggers(kind, rng):
    """The policy of each episode, (EPISODES, cells, actions)."""
    one, other = 0.1 + 0.5 * np.eye(5)[rng.integers(5, size=(2, 25))]
    if kind == "two soft":
        return np.stack([one, other])[rng.integers(2, size=EPISODES)]
    if kind == "fifty deterministic":
        return np.eye(5)[rng.integers(5, size=(50, 25))][rng.integers(50, size=EPISODES)]
    share = np.linspace(0, 1, EPISODES)[:, None, None]
    return (1 - share) * one + share * other


def recorded(kind, seed):
    """A log in which each episode has a logger of its own."""
    parts = [
        ENV.rollout(policy, 1, seed=seed * EPISODES + number, max_episode_steps=LONGEST) | {"number": number}
        for number, policy in enumerate(loggers(kind, np.random.default_rng(seed)))
    ]
    names = [name for name in parts[0] if name not in ("number", "episode", "step")]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in names}
    episode = np.repeat(np.arange(EPISODES), [len(part["action"]) for part in parts])
    return us.Log.from_columns(**columns, episode=episode)


SIMULATORS = {
    "psrs": lambda log: us.psrs(log),
    "psrs, row order": lambda log: us.psrs(log, order="rows"),
    "psrs, state mean": lambda log: us.psrs(log, propensity="state mean", order="rows"),
    "psrs, state mean, reserve": lambda log: us.psrs(log, propensity="state mean", order="rows", reserve=True),
    "qbe": lambda log: us.qbe(log),
}


def make(seed):
    return us.learners.QLearning(25, 5, epsilon=0.9, alpha=0.5, gamma=0.95, seed=seed)


class OwnLogs:
    """A factory of simulators with a log each, recorded once for all simulators."""

    def __init__(self, kind):
        self.kind, self.logs, self.simulator = kind, {}, None

    def __call__(self, seed):
        if seed not in self.logs:
            self.logs[seed] = recorded(self.kind, len(self.logs))
        return self.simulator(self.logs[seed])


def main():
    print(PROTOCOL)
    options = {"probes": PROBES, "every": EVERY, "backend": "serial", "progress": False}
    real = us.experiment(us.real(ENV, max_episode_steps=LONGEST), make, runs=4 * RUNS, max_steps=HORIZON, **options)
    for kind in ("two soft", "fifty deterministic", "drifting"):
        on_own_logs = OwnLogs(kind)
        for name, on_own_logs.simulator in SIMULATORS.items():
            runs = us.experiment(on_own_logs, make, runs=RUNS, seed=7, **options)
            told = f"{kind:20} {name:26} {runs.lengths.mean():8,.0f} steps"
            if (horizon := min(HORIZON, runs.lengths.min()) // EVERY * EVERY) > EVERY:
                found = us.fidelity(runs, real, horizon=int(horizon), margin=MARGIN)
                told += f", error below {np.sqrt(max(found.interval[1], 0)):.3f} up to step {horizon}: {found.verdict}"
            print(told, flush=True)


if __name__ == "__main__":
    main()
