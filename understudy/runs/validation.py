"""Episodes with a learner's policy in a true environment, many at once; the learner does not learn from them."""

from copy import deepcopy
from typing import Any

import numpy as np

from understudy.contracts import BatchLearner, owned
from understudy.contracts.environments import HasParallelEpisodes
from understudy.contracts.offering import offers
from understudy.contracts.streams import spawn
from understudy.logs.policies import as_policies, as_policy

VALIDATION = 2000
"""A tag of the random streams that are used here, so that no other part uses the same ones."""


def validation_episodes(
    env: Any, learner: Any, n: int, gamma: float, limit: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the discounted returns and the lengths of n episodes, none longer than the limit."""
    n_actions = int(env.action_space.n)
    env_seed = spawn(seed, VALIDATION)
    parallel = env.many(n, env_seed) if offers(env, HasParallelEpisodes) else EnvCopies(env, n, env_seed)
    rng = np.random.default_rng(spawn(seed, VALIDATION, 1))
    returns, lengths, running = np.zeros(n), np.zeros(n, np.int64), np.ones(n, bool)
    observations, discount = parallel.reset(), 1.0
    for _ in range(limit):
        actions = drawn_actions(policies_of(learner, observations[running], n_actions), rng)
        observations, rewards, over = parallel.step(running, actions)
        returns[running] += discount * rewards
        lengths[running] += 1
        discount *= gamma
        running[running] = ~over
        if not running.any():
            break
    return returns, lengths


class EnvCopies:
    """Copies of a Gymnasium environment, each with a seed of its own: the `ParallelEpisodes` of any environment."""

    def __init__(self, env: Any, n: int, seed: int) -> None:
        self.envs = [deepcopy(env) for _ in range(n)]
        self.seeds = [spawn(seed, number) % 2**31 for number in range(n)]

    def reset(self) -> np.ndarray:
        """Begin all episodes, and return their first observations."""
        self.observations = np.stack([env.reset(seed=seed)[0] for env, seed in zip(self.envs, self.seeds, strict=True)])
        return self.observations

    def step(self, running: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Step the running episodes. Return all observations, and the rewards and ends of the running ones."""
        rewards, over = np.empty(len(actions)), np.empty(len(actions), bool)
        for position, (number, action) in enumerate(zip(np.flatnonzero(running), actions.tolist(), strict=True)):
            following, rewards[position], terminated, truncated, _ = self.envs[number].step(action)
            self.observations[number], over[position] = following, terminated or truncated
        return self.observations, rewards, over


def policies_of(learner: Any, observations: np.ndarray, n_actions: int) -> np.ndarray:
    """Return a learner's policies at some observations, in one batch where it offers that."""
    if offers(learner, BatchLearner):
        return as_policies(learner.policies(observations.copy()), n_actions, observations)
    return np.stack([as_policy(learner.policy(owned(one)), n_actions, one) for one in observations])


def drawn_actions(policies: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an action drawn from each policy."""
    cumulated = np.cumsum(policies, axis=1)
    return (cumulated <= rng.random((len(policies), 1)) * cumulated[:, -1:]).sum(axis=1).clip(max=policies.shape[1] - 1)
