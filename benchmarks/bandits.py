"""Is what bandit learners do on a log what they do in truth? `python -m benchmarks.bandits [--page]`.

PROTOCOL was written, with the numbers of runs and the margin, before the results were looked at. With --page it is
written into docs/bandits.md together with the table, between the comments that name it.
"""

import argparse
import re
import time
from pathlib import Path

import numpy as np

import understudy as us

PAGE = Path(__file__).parents[1] / "docs" / "bandits.md"
N_FEATURES, N_ACTIONS, ROWS = 5, 4, 10_000
STEPS, EVERY = 800, 50
RUNS, RUNS_OF = 400, {"Exp3": 1600, "IncrementalModel": 100}  # Exp3 learns little in 800 decisions; the model is slow
EPSILON = 0.4  # of the loggers: the smallest propensity is .1, so that one row in ten is accepted
REFIT = 500  # rows after which the logger that learns fits its model anew
MARGIN = 0.1  # of the range of the real mean curve

PROTOCOL = f"""
The problem is `LinearBandit({N_FEATURES}, {N_ACTIONS})`; each run has a log of its own, of {ROWS:,} rows, with the
propensity of the chosen action. Three loggers: *uniform*; *epsilon-greedy*, which takes what a guess of the weights
says, and with probability {EPSILON:g} any action; *drifting*, the same by ridge regression on what it has logged,
fitted anew every {REFIT} rows, so that its propensities move with what it earned: replayed with `order="log"`.
Learners with a table have a row for each combination of signs of the features, 32 in all. What is compared with real
runs is the mean reward of the decisions since the last reading, every {EVERY} decisions up to {STEPS}: {RUNS} runs on
logs and {RUNS} real ones; {RUNS_OF["Exp3"]:,} of Exp3, whose curve rises least, and {RUNS_OF["IncrementalModel"]} of a
model with `partial_fit` (recursive least squares in NumPy), which is slow. The margin is a tenth of the range of the
real curve. A cell has `us.fidelity`'s verdict, and below which share of that range the error lies with 95% confidence.
It is a success if all cells say "equivalent", except the control: LinUCB by `psrs` with one state for all contexts,
where a reward belongs to another row's context, has to be "different".
"""


class LeastSquares:
    """Recursive least squares in scikit-learn's form: a model with partial_fit, as users bring them."""

    def __init__(self):
        self.inverse, self.weights = np.eye(N_FEATURES), np.zeros(N_FEATURES)

    def partial_fit(self, X, y):
        for x, value in zip(X, y, strict=True):
            product = self.inverse @ x
            scale = 1 + product @ x
            self.weights += product * ((value - self.weights @ x) / scale)
            self.inverse -= np.outer(product, product) / scale
        return self

    def predict(self, X):
        return X @ self.weights


def signs(observations):
    return (np.atleast_2d(observations) > 0) @ (1 << np.arange(N_FEATURES))


def learners():
    """The learners that are compared, by name."""
    table = {"n_observations": 2**N_FEATURES, "encoder": us.encoders.Function(signs)}
    reward_range = (-4.0, 4.0)  # the largest mean is below sqrt(5) in size, and the noise has a deviation of .1
    made = {
        "EpsilonGreedy": lambda seed: us.learners.EpsilonGreedy(N_ACTIONS, epsilon=0.1, **table, seed=seed),
        "UCB1": lambda seed: us.learners.UCB1(N_ACTIONS, exploration=0.5, **table, seed=seed),
        "Thompson, gaussian": lambda seed: us.learners.Thompson(
            N_ACTIONS, reward="gaussian", noise=0.5, **table, seed=seed
        ),
        "Exp3": lambda seed: us.learners.Exp3(N_ACTIONS, epsilon=0.5, reward_range=reward_range, **table, seed=seed),
        "LinUCB": lambda seed: us.learners.LinUCB(N_FEATURES, N_ACTIONS, exploration=0.5, seed=seed),
        "LinearThompson": lambda seed: us.learners.LinearThompson(N_FEATURES, N_ACTIONS, exploration=0.3, seed=seed),
    }
    made["IncrementalModel"] = lambda seed: us.learners.IncrementalModel(
        lambda seed: LeastSquares(), N_ACTIONS, seed=seed
    )
    return made


def greedy_with_epsilon(x, weights, rng):
    """Actions of an epsilon-greedy logger with linear models, and their propensities."""
    greedy = (x @ weights.T).argmax(axis=1)
    action = np.where(rng.random(len(x)) < EPSILON, rng.integers(N_ACTIONS, size=len(x)), greedy)
    return action, EPSILON / N_ACTIONS + (1 - EPSILON) * (action == greedy)


def logged(env, logger, seed):
    """A log of the linear bandit by one of the loggers."""
    rng = np.random.default_rng([7, seed])
    x, noise = rng.uniform(-1, 1, (ROWS, N_FEATURES)), env.noise * rng.standard_normal(ROWS)
    expected, each = env.expected_rewards(x), np.arange(ROWS)
    if logger == "uniform":
        action, propensity = rng.integers(N_ACTIONS, size=ROWS), np.full(ROWS, 1 / N_ACTIONS)
    elif logger == "epsilon-greedy":
        guess = env.weights_at(0) + 0.5 * np.random.default_rng(8).standard_normal((N_ACTIONS, N_FEATURES))
        action, propensity = greedy_with_epsilon(x, guess, rng)
    else:
        action, propensity = np.empty(ROWS, int), np.empty(ROWS)
        squares, sums = np.tile(np.eye(N_FEATURES), (N_ACTIONS, 1, 1)), np.zeros((N_ACTIONS, N_FEATURES))
        for first in range(0, ROWS, REFIT):
            part = slice(first, first + REFIT)
            weights = np.linalg.solve(squares, sums[..., None])[..., 0]
            action[part], propensity[part] = greedy_with_epsilon(x[part], weights, rng)
            earned = expected[each[part], action[part]] + noise[part]
            for arm in range(N_ACTIONS):
                taken = action[part] == arm
                squares[arm] += x[part][taken].T @ x[part][taken]
                sums[arm] += x[part][taken].T @ earned[taken]
    return us.Log.from_columns(
        observation=x,
        action=action,
        reward=expected[each, action] + noise,
        propensity=propensity,
        n_actions=N_ACTIONS,
        ends="every-row",
    )


def simulators(env):
    """The ways to simulate: name -> function of a seed."""
    one_state = us.encoders.Function(lambda observations: np.zeros(len(observations), int))
    return {
        "uniform": lambda seed: us.replay(logged(env, "uniform", seed)),
        "epsilon-greedy": lambda seed: us.replay(logged(env, "epsilon-greedy", seed)),
        "drifting": lambda seed: us.replay(logged(env, "drifting", seed), order="log"),
        "one state, psrs": lambda seed: us.psrs(logged(env, "uniform", seed), one_state),
    }


def measured(seed, only, logger, more):
    """Yield (learner, simulator, fidelity, range of the real curve); `more` multiplies the numbers of runs."""
    env = us.envs.LinearBandit(N_FEATURES, N_ACTIONS, seed=0)
    options = {"max_steps": STEPS, "every": EVERY, "backend": "serial", "keep_rows": False, "progress": False}
    options["probes"] = {"reward": us.probes.episode_returns}
    for name, make in learners().items():
        if only not in name:
            continue
        runs = RUNS_OF.get(name, RUNS) * more
        real = us.experiment(us.real(env), make, runs=runs, seed=seed + 1, **options)
        size = float(np.ptp(real.curve("reward")[1].mean(axis=0)))
        for way, simulator in simulators(env).items():
            if logger not in way or (way == "one state, psrs" and name != "LinUCB"):
                continue
            begun = time.perf_counter()
            found = us.fidelity(
                us.experiment(simulator, make, runs=runs, seed=seed, **options), real, margin=MARGIN * size
            )
            print(f"{name:>18} {way:>16} {time.perf_counter() - begun:4.0f} s  {found}", flush=True)
            yield name, way, found, size


def table(results):
    """The verdicts as a Markdown table, a line for each learner."""
    names = list(dict.fromkeys(name for name, *_ in results))
    cells = {(name, way): (found, size) for name, way, found, size in results}
    ways = ["uniform", "epsilon-greedy", "drifting"]
    lines = ["| learner | range of the real curve | " + " | ".join(ways) + " |", "|---|---:|---|---|---|"]
    for name in names:
        size = cells[name, "uniform"][1]
        lines.append(f"| {name} | {size:.3f} | " + " | ".join(cell(*cells[name, way]) for way in ways) + " |")
    control = cells.get(("LinUCB", "one state, psrs"))
    if control:
        lines.append(f"| LinUCB, one state for all: the control | {control[1]:.3f} | {cell(*control)} | | |")
    return "\n".join(lines)


def cell(found, size):
    if found.interval is None:
        return found.note
    low, high = (np.sqrt(max(0.0, end)) / size for end in found.interval)
    return f"{found.verdict}, " + (f"{low:.0%} to {high:.0%}" if found.verdict == "different" else f"below {high:.1%}")


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bandits", description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="another one than 0 is for trying things out")
    parser.add_argument("--only", default="", help="learners whose name contains this")
    parser.add_argument("--logger", default="", help="loggers whose name contains this")
    parser.add_argument("--more", type=int, default=1, help="times as many runs as the protocol has")
    parser.add_argument("--page", action="store_true", help="write protocol and table into docs/bandits.md")
    options = parser.parse_args()
    results = list(measured(options.seed, options.only, options.logger, options.more))
    if options.logger:
        return
    text = table(results)
    print(text)
    if options.page:
        marked = re.compile(r"(<!-- fidelity -->\n).*?(<!-- /fidelity -->)", re.DOTALL)
        page = PAGE.read_text()
        PAGE.write_text(marked.sub(lambda found: f"{found[1]}{PROTOCOL.strip()}\n\n{text}\n{found[2]}", page))


if __name__ == "__main__":
    main()
