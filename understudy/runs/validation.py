"""Episodes of a learner's policy in a true environment, many at once; no learner learns from them."""

from copy import deepcopy
from typing import Any

import numpy as np

from understudy.contracts import BatchLearner, owned
from understudy.contracts.environments import HasParallelEpisodes
from understudy.contracts.offering import offers
from understudy.contracts.streams import spawn
from understudy.logs.policies import as_policies, as_policy

VALIDATION = 2000
"""Sets the numbers drawn here apart from everyone else's."""


def validation_episodes(
    env: Any, learner: Any, n: int, gamma: float, limit: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The discounted returns and the lengths of n episodes, none longer than the limit."""
    n_actions = int(env.action_space.n)
    drawn_from = spawn(seed, VALIDATION)
    world = env.many(n, drawn_from) if offers(env, HasParallelEpisodes) else Copies(env, n, drawn_from)
    rng = np.random.default_rng(spawn(seed, VALIDATION, 1))
    returns, lengths, playing = np.zeros(n), np.zeros(n, np.int64), np.ones(n, bool)
    observations, discount = world.reset(), 1.0
    for _ in range(limit):
        actions = drawn(policies_of(learner, observations[playing], n_actions), rng)
        observations, rewards, over = world.step(playing, actions)
        returns[playing] += discount * rewards
        lengths[playing] += 1
        discount *= gamma
        playing[playing] = ~over
        if not playing.any():
            break
    return returns, lengths


class Copies:
    """Copies of a Gymnasium environment, each with a seed of its own."""

    def __init__(self, env: Any, n: int, seed: int) -> None:
        self.envs = [deepcopy(env) for _ in range(n)]
        self.seeds = [spawn(seed, place) % 2**31 for place in range(n)]

    def reset(self) -> np.ndarray:
        """The first observation of each."""
        self.observations = np.stack([env.reset(seed=seed)[0] for env, seed in zip(self.envs, self.seeds, strict=True)])
        return self.observations

    def step(self, playing: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Step those that play: all observations, and of those that play the rewards and whether it is over."""
        rewards, over = np.empty(len(actions)), np.empty(len(actions), bool)
        for place, (which, action) in enumerate(zip(np.flatnonzero(playing), actions.tolist(), strict=True)):
            following, rewards[place], terminated, truncated, _ = self.envs[which].step(action)
            self.observations[which], over[place] = following, terminated or truncated
        return self.observations, rewards, over


def policies_of(learner: Any, observations: np.ndarray, n_actions: int) -> np.ndarray:
    """A learner's policies at some observations, at once where it can."""
    if offers(learner, BatchLearner):
        return as_policies(learner.policies(observations.copy()), n_actions, observations)
    return np.stack([as_policy(learner.policy(owned(seen)), n_actions, seen) for seen in observations])


def drawn(policies: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An action from each policy."""
    reached = np.cumsum(policies, axis=1)
    return (reached <= rng.random((len(policies), 1)) * reached[:, -1:]).sum(axis=1).clip(max=policies.shape[1] - 1)
