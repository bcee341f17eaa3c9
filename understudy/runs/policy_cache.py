"""Policies that were evaluated ahead, as arrays for the compiled loop: valid between two updates of the learner."""

from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel
from understudy.contracts.kernels import register_kernels


class PolicyCache(NamedTuple):
    """Policies at observations, found by their codes, and the steps since some were last handed to the learner."""

    slot: np.ndarray  # (n_codes,) int64: the slot of a code's policy; slots are counted from the start of the run
    base: np.ndarray  # (1,) int64: the first slot since the last update; slots below it are out of date
    policy: np.ndarray  # (capacity, A) float64: the policy of slot base + i is in row i
    code: np.ndarray  # (longest,) int64: the code of the observation of each step
    action: np.ndarray  # int64
    reward: np.ndarray  # float64
    next_code: np.ndarray  # int64
    terminated: np.ndarray  # bool
    truncated: np.ndarray  # bool
    n_steps: np.ndarray  # (1,) int64: the number of steps
    cut_before: np.ndarray  # (1,) bool: True if an episode was cut before the first of these steps


@kernel
def is_known(cache, code):
    """True if the policy has been evaluated at an observation."""
    return cache.slot[code] >= cache.base[0]


@kernel
def write_policy(cache, code, policy):
    """Write the policy at an observation into the array `policy`."""
    row = cache.policy[cache.slot[code] - cache.base[0]]
    for action in range(len(policy)):
        policy[action] = row[action]


@kernel
def keep_step(cache, code, action, reward, next_code, terminated, truncated):
    """Keep a step, which is handed to the learner later."""
    position = cache.n_steps[0]
    cache.code[position] = code
    cache.action[position] = action
    cache.reward[position] = reward
    cache.next_code[position] = next_code
    cache.terminated[position] = terminated
    cache.truncated[position] = truncated
    cache.n_steps[0] = position + 1


@kernel
def end_episode(cache):
    """Let the last step be the end of its episode, as if it had been truncated."""
    if cache.n_steps[0] > 0:
        cache.truncated[cache.n_steps[0] - 1] = True
    else:
        cache.cut_before[0] = True


register_kernels(PolicyCache, act=write_policy, learn=keep_step, has_policy=is_known, hear_cut=end_episode)
