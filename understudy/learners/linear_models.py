"""Linear models of the reward of each action, as kernels work on them.

An action's model is ridge regression on the observation x: A = ridge I + sum x x', b = sum r x, theta = A^-1 b. A^-1
and theta alone are kept, by rank-one updates (Sherman and Morrison). Rounding does not add up in them: after a million
updates both are closer to the solution than what a Cholesky factor of A gives, since A is a sum of a million terms.
Observations are read from the log's own columns.
"""

import math
from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel
from understudy.contracts.kernels import register_kernels
from understudy.learners.draws import key_at, normal_at
from understudy.learners.schedules import schedule_value
from understudy.learners.tabular import greedy_action


class LinearArms(NamedTuple):
    """The state of a linear bandit learner, as kernels take it; D features, the intercept included."""

    theta: np.ndarray  # (A, D) float64: the weights of each action
    inverse: np.ndarray  # (A, D, D) float64: A^-1 of each action
    x: np.ndarray  # (D,) float64: the observation that is worked on; the last entry stays 1 with an intercept
    work: np.ndarray  # (D,) float64: A^-1 x
    exploration: np.ndarray  # (4,) float64: a schedule
    sampled: np.ndarray  # (1,) bool: the width is multiplied by a normal number (Thompson), not by 1 (UCB)
    learned: np.ndarray  # (1,) int64: the number of steps learned
    key: np.ndarray  # (2,) uint64: the keys of the learner's streams, of ties and of draws
    center: np.ndarray  # (features,) float64: is subtracted from an observation, which is then divided by `scale`
    scale: np.ndarray  # (features,) float64


class LinearArmsOnLog(NamedTuple):
    """A linear bandit learner, and the columns of a log in which it finds observations by their position."""

    arms: LinearArms
    next_observation: np.ndarray  # (N, features)
    observation: np.ndarray  # (N, features)
    starts: np.ndarray  # (E + 1,) int64: the first row of each episode


@kernel
def multiply(matrix, x, product):
    """Write a symmetric matrix times x into `product`.

    Four rows at a time, and not row by row as sums: so the loop over columns is vectorized, and 1.7 times as fast.
    """
    n = len(x)
    for j in range(n):
        product[j] = 0.0
    i = 0
    while i + 4 <= n:
        a, b, c, d = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        p, q, r, s = x[i], x[i + 1], x[i + 2], x[i + 3]
        for j in range(n):
            product[j] += (p * a[j] + q * b[j]) + (r * c[j] + s * d[j])
        i += 4
    while i < n:
        a, p = matrix[i], x[i]
        for j in range(n):
            product[j] += p * a[j]
        i += 1


@kernel
def dot(one, other):
    """Return the inner product of two vectors."""
    total = 0.0
    for i in range(len(one)):
        total += one[i] * other[i]
    return total


@kernel
def write_linear_choice(arms, policy):
    """Write the policy at arms.x: the action of the largest theta' x + exploration * width * z, width^2 = x' A^-1 x.

    z is 1 for LinUCB. For Thompson sampling it is a normal number of each action and step: theta' x has that law where
    theta is drawn from its posterior, and nothing else of theta matters to the step.
    """
    count, exploration = arms.learned[0], schedule_value(arms.exploration, arms.learned[0])
    for action in range(len(policy)):
        multiply(arms.inverse[action], arms.x, arms.work)
        width = exploration * math.sqrt(max(0.0, dot(arms.work, arms.x)))
        if arms.sampled[0]:
            width *= normal_at(key_at(arms.key[1], count * len(policy) + action), 0)
        policy[action] = dot(arms.theta[action], arms.x) + width
    choice = greedy_action(policy, arms.key[0], count)
    for action in range(len(policy)):
        policy[action] = 1.0 if action == choice else 0.0


@kernel
def write_linear_choices(arms, observations, policies):
    """Write the policy at each observation, (n, features) float64, into `policies`, (n, A)."""
    for row in range(len(observations)):
        for i in range(observations.shape[1]):
            arms.x[i] = (observations[row, i] - arms.center[i]) / arms.scale[i]
        write_linear_choice(arms, policies[row])


@kernel
def update_linear(arms, action, reward):
    """Take in the reward of an action at arms.x."""
    theta, inverse, x, work = arms.theta[action], arms.inverse[action], arms.x, arms.work
    multiply(inverse, x, work)
    scale = 1.0 / (1.0 + max(0.0, dot(work, x)))  # below 0 by rounding only, where features are huge
    gain = scale * (reward - dot(theta, x))
    for i in range(len(x)):
        theta[i] += gain * work[i]
        row = inverse[i]
        for j in range(len(x)):
            row[j] -= scale * (work[i] * work[j])  # in this order the matrix stays symmetric to the last digit
    arms.learned[0] += 1


@kernel
def read_observation(on_log, code):
    """Write the observation at a position of the log, scaled, into arms.x."""
    x, n = on_log.arms.x, len(on_log.next_observation)
    center, scale = on_log.arms.center, on_log.arms.scale
    for i in range(on_log.observation.shape[1]):
        if code < n:
            x[i] = (on_log.next_observation[code, i] - center[i]) / scale[i]
        else:
            x[i] = (on_log.observation[on_log.starts[code - n], i] - center[i]) / scale[i]


@kernel
def write_linear_choice_on_log(on_log, code, policy):
    """Write the policy at the observation at a position of the log."""
    read_observation(on_log, code)
    write_linear_choice(on_log.arms, policy)


@kernel
def update_linear_on_log(on_log, code, action, reward, next_code, terminated, truncated):
    """Take in a step from the observation at a position of the log."""
    read_observation(on_log, code)
    update_linear(on_log.arms, action, reward)


register_kernels(LinearArmsOnLog, act=write_linear_choice_on_log, learn=update_linear_on_log)
