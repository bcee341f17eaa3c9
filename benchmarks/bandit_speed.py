"""What is claimed of the speed of bandits: LinUCB, and replay of a log against coba's rejection sampling.

coba is measured where the environment of the benchmarks has it (`.venv/bin/pip install coba==8.1.0`). Nothing else
needs it. Seconds are of the CPU, and rates are the best of several runs.
"""

import importlib.util
import time

import numpy as np

import understudy as us
from benchmarks.plain import PlainLinUCB, plain_replay

N_FEATURES, N_ACTIONS, TARGET = 20, 10, 200_000
EPSILON, TIMES = 0.1, 20


def contexts(n_rows):
    """A uniform log of a linear bandit."""
    env, rng = us.envs.LinearBandit(N_FEATURES, N_ACTIONS, seed=0), np.random.default_rng(1)
    x, action = rng.uniform(-1, 1, (n_rows, N_FEATURES)), rng.integers(N_ACTIONS, size=n_rows)
    reward = env.expected_rewards(x)[np.arange(n_rows), action] + 0.1 * rng.normal(size=n_rows)
    propensity = np.full((n_rows, N_ACTIONS), 1 / N_ACTIONS)
    return us.Log.from_columns(observation=x, action=action, reward=reward, propensity=propensity, ends="every-row")


def rows_a_second(log, run, repeats):
    """Rows of the log a CPU second, the best of some runs over all of them; `run` is a function of a seed."""
    times = []
    for seed in range(repeats):
        begun = time.process_time()
        run(seed)
        times.append(time.process_time() - begun)
    return len(log) / min(times)


def every_row_rate(log, repeats):
    """The rate of LinUCB where every row is served: one decision and one update each."""
    simulator = us.states_only(log, us.encoders.Function(lambda observations: np.zeros(len(observations), int)))
    us.simulate(simulator, make_linucb(0), 0, max_steps=10)  # compiles it
    return rows_a_second(log, lambda seed: us.simulate(simulator, make_linucb(seed), seed), repeats)


def make_linucb(seed):
    return us.learners.LinUCB(N_FEATURES, N_ACTIONS, intercept=False, seed=seed)


def replay_rate(log, make, repeats):
    """The rate of replay, which offers every row and serves one in ten; making the simulator is counted."""
    us.simulate(us.replay(log), make(0), 0, max_steps=10)
    return rows_a_second(log, lambda seed: us.simulate(us.replay(log), make(seed), seed), repeats)


def plain_every_row_rate(log, repeats=3):
    """The rate of the plain LinUCB with one decision and one update for each row."""

    def run(seed):
        learner = PlainLinUCB(N_FEATURES, N_ACTIONS, 1.0)
        for x, action, reward in zip(log.observation, log.action, log.reward, strict=True):
            learner.choose(x)
            learner.learn(x, action, reward)

    return rows_a_second(log, run, repeats)


def plain_replay_rate(log, repeats=3):
    """The rate of a replay by hand with the plain LinUCB."""
    return rows_a_second(log, lambda seed: plain_replay(log, PlainLinUCB(N_FEATURES, N_ACTIONS, 1.0)), repeats)


def coba_rate(log, repeats=3):
    """The rate of coba's rejection sampling with its epsilon-greedy of mean rewards, unbiased (cpct=0)."""
    from coba.evaluators import RejectionCB
    from coba.learners import BanditEpsilonLearner
    from coba.primitives import LoggedInteraction

    actions = list(range(N_ACTIONS))
    columns = (log.observation.tolist(), log.action.tolist(), log.reward.tolist())

    rows = [LoggedInteraction(*row, 1 / N_ACTIONS, actions=actions) for row in zip(*columns, strict=True)]

    class Logged:
        def read(self):
            return iter(rows)

    environment, rejection = Logged(), RejectionCB(cpct=0, seed=1)
    return rows_a_second(
        log, lambda seed: list(rejection.evaluate(environment, BanditEpsilonLearner(EPSILON))), repeats
    )


def measure(quick):
    """Each measurement as (name, value, unit, target, whether larger is better)."""
    log, unit = contexts(50_000 if quick else 200_000), "k rows/CPU s"
    part = log.select(np.arange(20_000))
    every, plain = every_row_rate(log, 5), plain_every_row_rate(part)
    yield "LinUCB, 20 features, 10 actions", every / 1e3, unit, TARGET / 1e3, True
    yield "  the same in NumPy", plain / 1e3, unit, None, True
    yield "  ratio", every / plain, "times", None, True
    replayed, plain = replay_rate(log, make_linucb, 5), plain_replay_rate(part)
    yield "replay with LinUCB, 20 features, 10 actions", replayed / 1e3, unit, TARGET / 1e3, True
    yield "  the same in NumPy", plain / 1e3, unit, None, True
    yield "  ratio", replayed / plain, "times", None, True
    ours = replay_rate(log, lambda seed: us.learners.EpsilonGreedy(N_ACTIONS, epsilon=EPSILON, seed=seed), 5)
    yield "replay with epsilon-greedy", ours / 1e3, unit, None, True
    if importlib.util.find_spec("coba"):
        theirs = coba_rate(log)
        yield "  coba's rejection sampling with its own", theirs / 1e3, unit, None, True
        yield "  ratio", ours / theirs, "times", TIMES, True
