"""Watkins's Q(lambda): a learner for which it matters that an episode was cut, and that can be told or not."""

from typing import Any, NamedTuple

import numpy as np

import understudy as us
from understudy.contracts.compiling import kernel
from understudy.contracts.kernels import register_kernels
from understudy.contracts.streams import LEARNER, stream_key
from understudy.learners.codes import Codes
from understudy.learners.tabular import greedy_action


class TracedValues(NamedTuple):
    """The values of Q(lambda), the trace of the episode under way, and its settings."""

    q: np.ndarray  # (codes, A) float64
    trace: np.ndarray  # (codes, A) float64: how much each value is moved by the next error
    settings: np.ndarray  # (4,) float64: epsilon, alpha, gamma, lambda
    hears: np.ndarray  # (1,) bool: it listens to cuts
    learned: np.ndarray  # (1,) int64: the number of steps learned
    key: np.ndarray  # (1,) uint64: the key of the learner's stream


@kernel
def write_policy(arrays, code, policy):
    """Write the epsilon-greedy policy."""
    epsilon = arrays.settings[0]
    choice = greedy_action(arrays.q[code], arrays.key[0], arrays.learned[0])
    for action in range(len(policy)):
        policy[action] = epsilon / len(policy) + (1.0 - epsilon if action == choice else 0.0)


@kernel
def largest(values):
    """Return the largest of some values."""
    found = values[0]
    for value in values:
        found = max(found, value)
    return found


@kernel
def forget_trace(arrays):
    """Begin a new trace."""
    for code in range(len(arrays.trace)):
        for action in range(len(arrays.trace[code])):
            arrays.trace[code, action] = 0.0


@kernel
def learn_with_trace(arrays, code, action, reward, next_code, terminated, truncated):
    """Move all values in the trace toward the target of this step. An action that is not greedy begins a new trace."""
    q, trace = arrays.q, arrays.trace
    alpha, gamma, decay = arrays.settings[1], arrays.settings[2], arrays.settings[3]
    if q[code, action] < largest(q[code]):
        forget_trace(arrays)
    target = reward
    if not terminated:
        target += gamma * largest(q[next_code])
    error = target - q[code, action]
    trace[code, action] = 1.0
    for row in range(len(q)):
        for column in range(len(q[row])):
            q[row, column] += alpha * error * trace[row, column]
            trace[row, column] *= gamma * decay
    arrays.learned[0] += 1
    if terminated or truncated:
        forget_trace(arrays)


@kernel
def hear_cut(arrays):
    """Begin a new trace, as after a truncated step; a learner that does not listen goes on with the old one."""
    if arrays.hears[0]:
        forget_trace(arrays)


register_kernels(TracedValues, act=write_policy, learn=learn_with_trace, hear_cut=hear_cut)


class TracedQLearning:
    """Watkins's Q(lambda), epsilon-greedy: Q-learning where `decay`, lambda, is 0. `hears=False`: not told of cuts."""

    def __init__(self, n_codes: int, n_actions: int, *, encoder: Any = None, epsilon: float, alpha: float,
                 gamma: float, decay: float, hears: bool, seed: int) -> None:  # fmt: skip
        self.codes, self.n_actions = Codes(n_codes, encoder), n_actions
        self._arrays = TracedValues(
            q=np.zeros((n_codes, n_actions)),
            trace=np.zeros((n_codes, n_actions)),
            settings=np.array([epsilon, alpha, gamma, decay]),
            hears=np.array([hears]),
            learned=np.zeros(1, np.int64),
            key=np.array([stream_key(seed, LEARNER)], np.uint64),
        )

    @property
    def q(self) -> np.ndarray:
        """The values learned so far, (codes, actions)."""
        return self._arrays.q

    def arrays(self) -> TracedValues:
        return self._arrays

    def policy(self, observation: Any) -> np.ndarray:
        policy = np.empty(self.n_actions)
        write_policy(self._arrays, self.codes(observation), policy)
        return policy

    def learn(self, step: us.Step) -> None:
        next_code = 0 if step.terminated else self.codes(step.next_observation)
        code = self.codes(step.observation)
        learn_with_trace(
            self._arrays, code, step.action, float(step.reward), next_code, step.terminated, step.truncated
        )

    def hear_cut(self) -> None:
        hear_cut(self._arrays)
