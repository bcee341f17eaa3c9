"""The policy of a network, as compiled code computes it at a place in the log, in float64.

A loop that computes policies where it needs them has nothing to look ahead for: an epoch is one compiled call, during
which other threads work.
"""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from understudy.contracts import Log
from understudy.contracts.compiling import kernel
from understudy.contracts.kernels import register_kernels
from understudy.learners.linear_bandits import READABLE


class PolicyOnLog(NamedTuple):
    """A network with ReLU between its layers, and the columns of a log in which it finds observations."""

    weight: np.ndarray  # (P,) float64: layer by layer, the weights of each input, (in, out), and the biases, (out,)
    sizes: np.ndarray  # (layers + 1,) int64: inputs, hidden units of each layer, actions
    work: np.ndarray  # (2, widest) float64: the inputs and the outputs of a layer
    one_hot: np.ndarray  # (1,) bool: an observation is a whole number, the input that is 1
    next_observation: np.ndarray  # (N, F)
    observation: np.ndarray  # (N, F)
    starts: np.ndarray  # (E + 1,) int64: the first row of each episode


def policy_on_log(sizes: tuple[int, ...], one_hot: bool, log: Log) -> PolicyOnLog | None:
    """Return the arrays of a network without weights; None where Numba does not know the log's numbers."""
    observation, following = (column.reshape(len(log), -1) for column in (log.observation, log.next_observation))
    if any(column.dtype.str.lstrip("<|=") not in READABLE for column in (observation, following)):
        return None
    n_weights = sum((n_in + 1) * n_out for n_in, n_out in pairwise(sizes))
    return PolicyOnLog(
        weight=np.zeros(n_weights),
        sizes=np.array(sizes, np.int64),
        work=np.zeros((2, max(sizes))),
        one_hot=np.array([one_hot]),
        next_observation=following,
        observation=observation,
        starts=log.starts,
    )


def write_weights(weight: np.ndarray, layers: list[Any]) -> None:
    """Write the weights of one network's layers, each (1, out, in + 1) with the biases in the last column."""
    np.concatenate([np.asarray(layer[0]).T.ravel() for layer in layers], out=weight)


@kernel
def number_at(arrays, code, feature):
    """Return a feature of the observation at a position: row r's next one has code r, episode e's opening N + e."""
    n = len(arrays.next_observation)
    if code < n:
        return np.float64(arrays.next_observation[code, feature])
    return np.float64(arrays.observation[arrays.starts[code - n], feature])


@kernel
def is_input(arrays, code):
    """True if the network has an answer at an observation: its numbers are finite, or it is one of the inputs."""
    if arrays.one_hot[0]:
        return 0 <= number_at(arrays, code, 0) < arrays.sizes[0]
    for feature in range(arrays.observation.shape[1]):  # noqa: SIM110 (compiled)
        if not math.isfinite(number_at(arrays, code, feature)):
            return False
    return True


@kernel
def add_inputs(weight, n_in, x, y):
    """Add the weights of each input times the input to the outputs `y`.

    Input by input, and not output by output as sums: so the loop over outputs is vectorized.
    """
    n_out = len(y)
    for i in range(n_in):
        if x[i] != 0.0:  # about half of the hidden units are 0
            row, factor = weight[i * n_out : (i + 1) * n_out], x[i]
            for j in range(n_out):
                y[j] += factor * row[j]


@kernel
def write_network_policy(arrays, code, policy):
    """Write the policy at an observation, the softmax of the network's outputs there."""
    start, last = np.int64(0), len(arrays.sizes) - 2
    for layer in range(last + 1):
        n_in, n_out = arrays.sizes[layer], arrays.sizes[layer + 1]
        x, y = arrays.work[layer % 2], arrays.work[(layer + 1) % 2][:n_out]
        weight, bias = arrays.weight[start : start + n_in * n_out], arrays.weight[start + n_in * n_out :]
        for j in range(n_out):
            y[j] = bias[j]
        if layer == 0 and arrays.one_hot[0]:
            row = weight[np.int64(number_at(arrays, code, 0)) * n_out :]
            for j in range(n_out):
                y[j] += row[j]
        else:
            if layer == 0:
                for i in range(n_in):
                    x[i] = number_at(arrays, code, i)
            add_inputs(weight, n_in, x, y)
        if layer < last:
            for j in range(n_out):
                y[j] = max(y[j], 0.0)
        start += (n_in + 1) * n_out
    write_softmax(arrays.work[(last + 1) % 2], policy)


@kernel
def write_softmax(scores, policy):
    """Write probabilities that are proportional to the exponentials of scores."""
    largest, total = scores[0], 0.0
    for action in range(len(policy)):
        largest = max(largest, scores[action])
    for action in range(len(policy)):
        policy[action] = math.exp(scores[action] - largest)
        total += policy[action]
    for action in range(len(policy)):
        policy[action] /= total


@kernel
def learns_elsewhere(arrays, code, action, reward, next_code, terminated, truncated):
    """Do nothing: whoever asks for policies keeps the steps, and hands them over when an update is due."""


register_kernels(PolicyOnLog, act=write_network_policy, learn=learns_elsewhere, has_policy=is_input)
