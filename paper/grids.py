"""What the tabular items share: logs of the paper's grids, its learner and probes, and its authors' conventions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import understudy as us
from paper.workspace import Workspace

LOG_ROWS = 134_925
"""Rows of the paper's log of the counter grid."""

LEARNER: dict[str, Any] = {"epsilon": 0.9, "alpha": 0.5, "gamma": 0.95}
START, FIRST = "start value", "value of observation 0"


@dataclass(frozen=True)
class Conventions:
    """Choices in which the paper's published code differs from ours."""

    order: str  # in which the log is read
    cap: int | None  # steps after which an episode ends, as if terminal, with reward 0
    emission: str  # the law by which sim2 draws an observation of a state
    probe: str  # of Q-learning: every opening observation, or the one whose counter or bits are 0


OURS = Conventions("episodes", None, "uniform", START)
AUTHORS = Conventions("rows", 1000, "empirical", FIRST)


def conventions(workspace: Workspace) -> Conventions:
    """Return the authors' conventions if they were asked for, else ours."""
    return AUTHORS if workspace.authors else OURS


def record(env: Any, episodes: int, seed: int, cap: int | None = None) -> us.Log:
    """Return a log of a uniform policy; with a cap, episodes end as in the published code."""
    log = us.record(env, episodes=episodes, seed=seed, max_episode_steps=cap)
    return log if cap is None else capped(log)


def capped(log: us.Log) -> us.Log:
    """Return a log whose truncated episodes end as in the published code: terminal, and the last reward lost."""
    ended = {"reward": np.where(log.truncated, 0.0, log.reward), "terminated": log.terminated | log.truncated}
    return replace(log, **ended, truncated=np.zeros(len(log), bool), max_episode_steps=None)


def real(env: Any, cap: int | None = None) -> Any:
    """Return the true environment as a simulator.

    A cap truncates episodes, so that runs stay compiled; in the published code it terminates them.
    """
    return us.real(env, max_episode_steps=cap)


def states(env: Any) -> Any:
    """Return the encoder whose states are the true cells."""
    return us.encoders.Function(env.latent)


def soft_policy(env: Any, gamma: float, epsilon: float) -> np.ndarray:
    """Return a policy that is optimal with probability 1 - epsilon, else uniform; (observations, actions).

    Optimal actions of equal value share the probability.
    """
    value = env.optimal(gamma)
    best = np.isclose(value, value.max(axis=1, keepdims=True))
    return epsilon / env.n_actions + (1 - epsilon) * best / best.sum(axis=1, keepdims=True)


def q_learning(env: Any) -> Callable[[int], Any]:
    """Return the function seed -> learner of the paper's Q-learning."""
    return lambda seed: us.learners.QLearning(env.n_observations, env.n_actions, **LEARNER, seed=seed)


def probes(env: Any) -> dict[str, Any]:
    """Return probes of the learner's start value: over all opening observations, and of the published code's one."""
    return {START: us.probes.start_value(env), FIRST: us.probes.start_value(np.array([0]))}


def on_own_logs(
    simulator: Callable[[us.Log], Any], env: Any, episodes: int, cap: int | None = None
) -> Callable[[int], Any]:
    """Return a factory of simulators with a log each; for the same seed, two factories have the same log."""
    return lambda seed: simulator(record(env, episodes, seed, cap))


def on_few_logs(
    simulator: Callable[[us.Log], Any], env: Any, episodes: int, cap: int | None, logs: int
) -> Callable[[int], Any]:
    """Return a factory of so many simulators, each for many seeds: they tell the luck of one log from the rest."""
    return us.on_few_logs(on_own_logs(simulator, env, episodes, cap), logs)
