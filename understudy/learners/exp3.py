"""Exp3, a bandit learner for rewards that an adversary may choose."""

import math
from typing import Any, NamedTuple

import numpy as np

from understudy.contracts import Encoder, Step
from understudy.contracts.compiling import kernel
from understudy.contracts.kernels import register_kernels
from understudy.learners.arms import ArmTable, reward_limits
from understudy.learners.clocks import Clocked
from understudy.learners.schedules import Schedule, WrittenSchedule, schedule_value


class Exp3Weights(NamedTuple):
    """The state of Exp3, as kernels take it."""

    log_weight: np.ndarray  # (n_observations, A) float64: logarithms of the weights, the largest of a row being 0
    epsilon: np.ndarray  # (4,) float64: a schedule
    limits: np.ndarray  # (2,) float64: rewards between these are scaled to [0, 1]
    learned: np.ndarray  # (1,) int64: the number of steps learned


@kernel
def write_exp3(weights, code, policy):
    """Write the policy at an observation: by the weights, and with probability epsilon any action."""
    log_weight = weights.log_weight[code if len(weights.log_weight) > 1 else 0]
    epsilon, total = schedule_value(weights.epsilon, weights.learned[0]), 0.0
    for action in range(len(policy)):
        policy[action] = math.exp(log_weight[action])
        total += policy[action]
    for action in range(len(policy)):
        policy[action] = (1.0 - epsilon) * (policy[action] / total) + epsilon / len(policy)


@kernel
def raise_weight(weights, row, action, reward, probability):
    """Raise the weight of an action by its reward over the probability that it was taken with."""
    log_weight = weights.log_weight[row]
    n_actions, epsilon = len(log_weight), schedule_value(weights.epsilon, weights.learned[0])
    low, high = weights.limits[0], weights.limits[1]
    scaled = min(1.0, max(0.0, (reward - low) / (high - low)))  # a log with other rewards is refused beforehand
    if probability > 0.0:  # an action that could not be taken, and was shown from a log, tells nothing here
        log_weight[action] += epsilon / n_actions * scaled / probability
    largest = log_weight[0]
    for other in range(1, n_actions):
        largest = max(largest, log_weight[other])
    for other in range(n_actions):
        log_weight[other] -= largest
    weights.learned[0] += 1


@kernel
def update_exp3(weights, code, action, reward, next_code, terminated, truncated):
    """Raise the weight of an action by its reward over the probability that it has."""
    row = code if len(weights.log_weight) > 1 else 0
    log_weight = weights.log_weight[row]
    n_actions, epsilon, total = len(log_weight), schedule_value(weights.epsilon, weights.learned[0]), 0.0
    for other in range(n_actions):
        total += math.exp(log_weight[other])
    probability = (1.0 - epsilon) * (math.exp(log_weight[action]) / total) + epsilon / n_actions
    raise_weight(weights, row, action, reward, probability)


register_kernels(Exp3Weights, act=write_exp3, learn=update_exp3)


class Exp3(Clocked, ArmTable):
    """Exp3 (Auer et al. 2002): weights that grow with the rewards earned, for rewards that need not come from one law.

    `epsilon` is the share of exploring steps (gamma in the paper), a number or a schedule; a step multiplies the weight
    of its action by exp(epsilon / n_actions * reward / probability). Rewards lie in `reward_range`. With
    `n_observations` there are weights for each observation, else one set for all.

    >>> Exp3(4, epsilon=0.2).policy(0)
    array([0.25, 0.25, 0.25, 0.25])
    """

    def __init__(
        self,
        n_actions: int,
        *,
        n_observations: int | None = None,
        epsilon: Schedule = 0.1,
        reward_range: tuple[float, float] = (0.0, 1.0),
        encoder: Encoder | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(n_actions, n_observations, encoder)  # nothing is drawn: the seed is taken as others take it
        self.epsilon, self.reward_range = epsilon, reward_limits(reward_range)
        self._epsilon = WrittenSchedule("epsilon", epsilon, 1.0)
        self._weights = Exp3Weights(
            log_weight=np.zeros(self.shape),
            epsilon=self._epsilon.array,
            limits=np.array(self.reward_range),
            learned=np.zeros(1, dtype=np.int64),
        )

    @property
    def _count(self) -> np.ndarray:
        return self._weights.learned

    @property
    def settings(self) -> dict[str, Any]:
        """Every argument that decides what the learner does."""
        return self.table_settings | {"epsilon": self.epsilon, "reward_range": self.reward_range}

    @property
    def learned_state(self) -> dict[str, Any]:
        """The weights and the number of steps so far; with `settings` they decide what it does."""
        return {"log_weight": self._weights.log_weight, "learned": self._weights.learned}

    def arrays(self) -> Exp3Weights | None:
        """Return the arrays that the compiled loop works on; None where the schedule is a Python function."""
        return self._weights if self._epsilon.compilable else None

    def policy(self, observation: Any) -> np.ndarray:
        self._epsilon.write(int(self._weights.learned[0]))
        policy = np.empty(self.n_actions)
        write_exp3(self._weights, self.row(observation), policy)
        return policy

    def learn(self, step: Step) -> None:
        self._epsilon.write(int(self._weights.learned[0]))
        reward, row = self.checked_reward(step.reward), self.row(step.observation)
        update_exp3(self._weights, row, step.action, reward, 0, step.terminated, step.truncated)

    def learn_late(self, step: Step, policy: np.ndarray) -> None:
        """Take in a step that was taken by an earlier policy: weights are raised by the probability it had then."""
        self._epsilon.write(int(self._weights.learned[0]))
        reward, row = self.checked_reward(step.reward), self.row(step.observation)
        raise_weight(self._weights, row, step.action, reward, float(policy[step.action]))

    def __repr__(self) -> str:
        return f"Exp3({', '.join(f'{name}={value}' for name, value in self.settings.items())})"
