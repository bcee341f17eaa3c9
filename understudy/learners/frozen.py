"""A policy that stays as it is for a while, evaluated ahead: what the compiled loop works on meanwhile."""

from typing import NamedTuple

import numpy as np

from understudy.contracts.compiling import kernel


class Frozen(NamedTuple):
    """Policies at observations, given by their codes, and the steps that were taken by them."""

    slot: np.ndarray  # (n_codes,) int64: where the policy of a code is, counted from the first that ever was
    base: np.ndarray  # (1,) int64: slots below it are of policies that are no more
    policy: np.ndarray  # (capacity, A) float64, from the base on
    code: np.ndarray  # (longest,) int64: where each step began
    action: np.ndarray  # int64
    reward: np.ndarray  # float64
    next_code: np.ndarray  # int64
    terminated: np.ndarray  # bool
    truncated: np.ndarray  # bool
    noted: np.ndarray  # (1,) int64: how many steps


@kernel
def is_known(frozen, code):
    """Whether the policy has been evaluated there."""
    return frozen.slot[code] >= frozen.base[0]


@kernel
def recall(frozen, code, policy):
    """Write the policy at an observation."""
    row = frozen.policy[frozen.slot[code] - frozen.base[0]]
    for action in range(len(policy)):
        policy[action] = row[action]


@kernel
def note_down(frozen, code, action, reward, next_code, terminated, truncated):
    """Keep a step for later."""
    place = frozen.noted[0]
    frozen.code[place] = code
    frozen.action[place] = action
    frozen.reward[place] = reward
    frozen.next_code[place] = next_code
    frozen.terminated[place] = terminated
    frozen.truncated[place] = truncated
    frozen.noted[0] = place + 1


@kernel
def always(arrays, code):
    """A learner that works on arrays of its own knows its policy everywhere."""
    return True
