"""What is claimed of the speed of LinUCB: 20 features, 10 actions, a decision and an update at each step."""

import time

import numpy as np

import understudy as us
from benchmarks.plain import PlainLinUCB

N_FEATURES, N_ACTIONS, TARGET = 20, 10, 200_000


def contexts(n_rows):
    """A uniform log of a linear bandit."""
    env, rng = us.envs.LinearBandit(N_FEATURES, N_ACTIONS, seed=0), np.random.default_rng(1)
    x, action = rng.uniform(-1, 1, (n_rows, N_FEATURES)), rng.integers(N_ACTIONS, size=n_rows)
    reward = env.expected_rewards(x)[np.arange(n_rows), action] + 0.1 * rng.normal(size=n_rows)
    propensity = np.full((n_rows, N_ACTIONS), 1 / N_ACTIONS)
    return us.Log.from_columns(observation=x, action=action, reward=reward, propensity=propensity, ends="every-row")


def compiled_rate(log, repeats):
    """Steps a CPU second, the best of some runs in which every row is served: one decision and one update each."""
    simulator = us.states_only(log, us.encoders.Function(lambda observations: np.zeros(len(observations), int)))
    rates = []
    for seed in range(repeats + 1):
        learner, begun = us.learners.LinUCB(N_FEATURES, N_ACTIONS, intercept=False, seed=seed), time.process_time()
        run = us.simulate(simulator, learner, seed)
        rates.append(len(run) / (time.process_time() - begun))
    return max(rates[1:])


def plain_rate(log, n_rows=20_000, repeats=3):
    """The same of the plain implementation."""
    rates = []
    for _ in range(repeats):
        learner, begun = PlainLinUCB(N_FEATURES, N_ACTIONS, 1.0), time.process_time()
        for x, action, reward in zip(log.observation[:n_rows], log.action, log.reward, strict=False):
            learner.choose(x)
            learner.learn(x, action, reward)
        rates.append(n_rows / (time.process_time() - begun))
    return max(rates)


def measure(quick):
    log = contexts(50_000 if quick else 200_000)
    rate, plain = compiled_rate(log, 5), plain_rate(log)
    yield "LinUCB, 20 features, 10 actions", rate / 1e3, "k steps/CPU s", TARGET / 1e3, True
    yield "  the same in NumPy", plain / 1e3, "k steps/CPU s", None, True
    yield "  ratio", rate / plain, "times", None, True
