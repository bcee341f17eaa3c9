"""Policies of a learner between two updates, evaluated ahead: what the compiled loop works on meanwhile."""

from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel
from understudy.contracts.kernels import register_kernels


class PolicyCache(NamedTuple):
    """Policies at observations, given by their codes, and the steps taken by them since the learner was told."""

    slot: np.ndarray  # (n_codes,) int64: where the policy of a code is, counted from the first that ever was
    base: np.ndarray  # (1,) int64: slots below it are of policies before the last update
    policy: np.ndarray  # (capacity, A) float64, from the base on
    code: np.ndarray  # (longest,) int64: where each step began
    action: np.ndarray  # int64
    reward: np.ndarray  # float64
    next_code: np.ndarray  # int64
    terminated: np.ndarray  # bool
    truncated: np.ndarray  # bool
    n_steps: np.ndarray  # (1,) int64: how many steps


@kernel
def is_known(cache, code):
    """True if the policy has been evaluated at an observation."""
    return cache.slot[code] >= cache.base[0]


@kernel
def write_policy(cache, code, policy):
    """Write the policy at an observation."""
    row = cache.policy[cache.slot[code] - cache.base[0]]
    for action in range(len(policy)):
        policy[action] = row[action]


@kernel
def keep_step(cache, code, action, reward, next_code, terminated, truncated):
    """Keep a step, to be handed to the learner later."""
    place = cache.n_steps[0]
    cache.code[place] = code
    cache.action[place] = action
    cache.reward[place] = reward
    cache.next_code[place] = next_code
    cache.terminated[place] = terminated
    cache.truncated[place] = truncated
    cache.n_steps[0] = place + 1


register_kernels(PolicyCache, act=write_policy, learn=keep_step, has_policy=is_known)
