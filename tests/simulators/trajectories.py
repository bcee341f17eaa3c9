"""Runs of every kind of source under every kind of learner, as plain lists: `python trajectories.py` prints them.

Run once compiled and once with NUMBA_DISABLE_JIT=1, the two must be equal row for row.
"""

import json

import numpy as np

from understudy.contracts import EpisodeCut, Exhausted
from understudy.encoders import Function
from understudy.envs import CounterGrid, NoisyGrid
from understudy.learners import (
    UCB1,
    EpsilonGreedy,
    Exp3,
    ExpectedSarsa,
    Exponential,
    FixedPolicy,
    Harmonic,
    Linear,
    LinearThompson,
    LinUCB,
    MonteCarlo,
    QLearning,
    Thompson,
)
from understudy.likeness import observations
from understudy.logs import Log
from understudy.simulators import exo_psrs, model, psrs, qbe, real, replay

STEPS = 150


def uneven(n_observations):
    """A policy that differs between observations."""
    weight = 1.0 + (7 * np.arange(n_observations)[:, None] + 3 * np.arange(5)) % 5
    return weight / weight.sum(axis=1, keepdims=True)


def decisions():
    """One-step decisions, some by a logger that could not take every action."""
    rng = np.random.default_rng(6)
    propensity = uneven(36)[observation := rng.integers(0, 36, 600)]
    propensity[::7] = np.eye(5)[3]
    action = (propensity.cumsum(axis=1) <= rng.random((600, 1))).sum(axis=1).clip(max=4)
    return Log.from_columns(
        observation=observation, action=action, reward=rng.random(600), propensity=propensity, ends="every-row"
    )


def simulators():
    """Each with the number of its observations."""
    noisy, counter = NoisyGrid(1, size=3, slip=0.2), CounterGrid(4, size=3)
    cells = Function(noisy.latent)
    log, clocked = (Log.from_columns(**env.rollout(uneven(env.n_observations), 25, seed=5)) for env in (noisy, counter))
    oracles = {"split": counter.split, "merge": counter.merge, "reward": counter.reward}
    return {
        "psrs": psrs(log, cells),
        "psrs with a reserve": psrs(log, cells, reserve=True),
        "psrs by rows, restarted": psrs(log, cells, order="rows", openings="replacement", max_episode_steps=4),
        "qbe": qbe(log, cells, stop="plain"),
        "qbe predictable": qbe(log, cells),
        "qbe with a ladder": qbe(
            log,
            cells,
            then=("like", "untried", "reuse", "cut"),
            likeness=observations(scale=1),
            radius=1.5,
            max_episode_steps=9,
            audit=False,
        ),
        "psrs with a ladder": psrs(
            log,
            cells,
            then=("like", "cut"),
            likeness=observations(scale=1),
            radius=1.5,
            max_episode_steps=9,
            audit=False,
        ),
        "model": model(log, cells, max_episode_steps=20),
        "exo_psrs": exo_psrs(clocked, **oracles),
        "real tables": real(noisy, max_episode_steps=20),
        "replay": replay(decisions(), bound="quantile"),
    }


def learners():
    """Factories; 36 observations are enough for both worlds."""
    return {
        "QLearning": lambda: QLearning(36, 5, epsilon=Linear(0.9, 0.2, steps=50), alpha=0.5, gamma=0.95, seed=3),
        "ExpectedSarsa": lambda: ExpectedSarsa(
            36, 5, epsilon=Exponential(0.9, 0.99), alpha=Harmonic(0.5, pace=50), gamma=0.95, seed=4
        ),
        "MonteCarlo": lambda: MonteCarlo(FixedPolicy(uneven(36)), gamma=0.9),
    }


def bandits():
    """Factories of learners that bootstrap nothing; rewards of both worlds are -.1 or 1."""
    return {
        "EpsilonGreedy": lambda: EpsilonGreedy(5, n_observations=36, epsilon=Linear(0.9, 0.2, steps=50), seed=3),
        "UCB1": lambda: UCB1(5, n_observations=36, seed=3),
        "Thompson": lambda: Thompson(5, reward_range=(-0.1, 1.0), prior=(0.5, 0.5), seed=3),
        "Gaussian Thompson": lambda: Thompson(5, reward="gaussian", n_observations=36, seed=3),
        "Exp3": lambda: Exp3(5, epsilon=0.3, reward_range=(-0.1, 1.0)),
        "LinUCB": lambda: LinUCB(1, 5, seed=3),
        "LinearThompson": lambda: LinearThompson(1, 5, exploration=0.3, seed=3),
    }


def known_by(learner):
    """What a learner knows, as a list of numbers."""
    if isinstance(learner, MonteCarlo):
        return learner.sums.total.tolist()
    return np.concatenate([np.ravel(part) for part in learner.learned_state.values()]).astype(float).tolist()


def run(simulator, learner, seed):
    """Everything a learner was told, and what it knows in the end."""
    rehearsal, told, over = simulator.start(seed), [], True
    try:
        while len(told) < STEPS:
            if over:
                observation = rehearsal.begin()
                told.append([float(rehearsal.opening), float(observation)])
            step = rehearsal.step(learner.policy(observation))
            if step is None or isinstance(step, EpisodeCut):  # the row was passed over, or the episode was cut
                over = True
                continue
            learner.learn(step)
            told.append([float(number) for number in step])
            observation, over = step.next_observation, step.terminated or step.truncated
    except Exhausted:
        pass
    return {
        "told": told,
        "known": known_by(learner),
        "stop": str(rehearsal.stop()),
        "counts": dict(rehearsal.stop().counts),
    }


def trajectories():
    kinds = simulators()
    pairs = [(simulator, *maker) for simulator in kinds for maker in learners().items()]
    pairs += [(simulator, *maker) for simulator in ("psrs", "real tables") for maker in bandits().items()]
    return {f"{name} under {learner}": run(kinds[name], make(), seed=7) for name, learner, make in pairs}


if __name__ == "__main__":
    print(json.dumps(trajectories()))
