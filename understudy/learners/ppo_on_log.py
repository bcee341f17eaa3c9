"""PPO's epochs in compiled code: the policy of a network at a place in the log, in float64, and the steps it leads to.

A loop that computes policies where it needs them has nothing to look ahead for: an epoch is one compiled call, during
which other threads work.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from understudy.contracts import Log
from understudy.contracts.compiling import kernel
from understudy.contracts.kernels import register_kernels
from understudy.learners.linear_bandits import READABLE
from understudy.learners.networks import Networks
from understudy.learners.ppo_epochs import Epoch


class PPOOnLog(NamedTuple):
    """A policy network with ReLU between its layers, the steps of an epoch, and the columns of a log."""

    weight: np.ndarray  # (P,) float64: layer by layer, the weights of each input, (in, out), and the biases, (out,)
    sizes: np.ndarray  # (layers + 1,) int64: inputs, hidden units of each layer, actions
    work: np.ndarray  # (2, widest) float64: the inputs and the outputs of a layer
    one_hot: np.ndarray  # (1,) bool: an observation is a whole number, the input that is 1

    observed: np.ndarray  # (longest, F) float64 or int64: the observation of each step of the epoch
    action: np.ndarray  # (longest,) int64
    reward: np.ndarray  # (longest,) float64
    following: np.ndarray  # (longest, F): the next observation of each step
    terminated: np.ndarray  # (longest,) bool
    truncated: np.ndarray  # (longest,) bool
    n_steps: np.ndarray  # (2,) int64: the number of steps collected, and of those that the learner has taken in
    cut_before: np.ndarray  # (1,) bool: True if the episode was cut after the last step that was taken in

    log_following: np.ndarray  # (N, F): the log's next observations
    log_observed: np.ndarray  # (N, F): and its observations
    starts: np.ndarray  # (E + 1,) int64: the first row of each episode


def ppo_on_log(sizes: tuple[int, ...], one_hot: bool, epoch: Epoch, log: Log) -> PPOOnLog | None:
    """Return the arrays of a network, its weights to be written; None where Numba does not know the log's numbers.

    Steps are written into the arrays of `epoch`.
    """
    observed, following = (column.reshape(len(log), -1) for column in (log.observation, log.next_observation))
    if any(column.dtype.str.lstrip("<|=") not in READABLE for column in (observed, following)):
        return None
    return PPOOnLog(
        weight=np.zeros(sum((n_in + 1) * n_out for n_in, n_out in pairwise(sizes))),
        sizes=np.array(sizes, np.int64),
        work=np.zeros((2, max(sizes))),
        one_hot=np.array([one_hot]),
        observed=epoch.observed.reshape(len(epoch.action), -1),
        action=epoch.action,
        reward=epoch.reward,
        following=epoch.following.reshape(len(epoch.action), -1),
        terminated=epoch.terminated,
        truncated=epoch.truncated,
        n_steps=epoch.n_steps,
        cut_before=epoch.cut_before,
        log_following=following,
        log_observed=observed,
        starts=log.starts,
    )


def acting_weights(networks: Networks) -> np.ndarray:
    """Return the weights of R networks as kernels read them, (R, P)."""
    layers = [layer.numpy().transpose(0, 2, 1) for layer in networks.layers()]  # each (R, in + 1, out), biases last
    return np.concatenate([layer.reshape(len(layer), -1) for layer in layers], axis=1, dtype=np.float64)


@kernel
def number_at(arrays, code, feature):
    """Return a feature of the observation at a position: row r's next one has code r, episode e's opening N + e."""
    n = len(arrays.log_following)
    if code < n:
        return np.float64(arrays.log_following[code, feature])
    return np.float64(arrays.log_observed[arrays.starts[code - n], feature])


@kernel
def is_input(arrays, code):
    """True if the network has an answer at an observation: its numbers are finite, or it is one of the inputs."""
    if arrays.one_hot[0]:
        return 0 <= number_at(arrays, code, 0) < arrays.sizes[0]
    for feature in range(arrays.observed.shape[1]):  # noqa: SIM110 (compiled)
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
def collect_step(arrays, code, action, reward, next_code, terminated, truncated):
    """Write a step into the epoch."""
    position = arrays.n_steps[0]
    for feature in range(arrays.observed.shape[1]):
        arrays.observed[position, feature] = number_at(arrays, code, feature)
        arrays.following[position, feature] = number_at(arrays, next_code, feature)
    arrays.action[position] = action
    arrays.reward[position] = reward
    arrays.terminated[position] = terminated
    arrays.truncated[position] = truncated
    arrays.n_steps[0] = position + 1


@kernel
def end_episode_here(arrays):
    """Let the last step be the end of its episode, as if it had been truncated."""
    if arrays.n_steps[0] > arrays.n_steps[1]:
        arrays.truncated[arrays.n_steps[0] - 1] = True
    else:
        arrays.cut_before[0] = True


register_kernels(PPOOnLog, act=write_network_policy, learn=collect_step, has_policy=is_input, hear_cut=end_episode_here)
