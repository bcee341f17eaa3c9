"""The steps of an epoch, kept by the compiled loop and handed to the learner later, as arrays.

Codes of observations are positions in the log: row r's next observation has code r, episode e's opening N + e.
"""

from typing import Any, NamedTuple

import numpy as np

from understudy.contracts import Log, Steps
from understudy.contracts.compiling import kernel
from understudy.contracts.kernels import act, has_policy, register_kernels


class ActingArrays(NamedTuple):
    """A policy that compiled code computes, and the steps since some were last handed to the learner."""

    policy: Any  # a NamedTuple of arrays, as `ActsOnLog.policy_on` returns it
    code: np.ndarray  # (longest,) int64: the code of the observation of each step
    action: np.ndarray  # int64
    reward: np.ndarray  # float64
    next_code: np.ndarray  # int64
    terminated: np.ndarray  # bool
    truncated: np.ndarray  # bool
    n_steps: np.ndarray  # (1,) int64: the number of steps
    cut_before: np.ndarray  # (1,) bool: True if an episode was cut before the first of these steps


def room_for_steps(longest: int) -> dict[str, np.ndarray]:
    """Return arrays for so many steps, by their names."""
    return {
        "code": np.empty(longest, np.int64),
        "action": np.empty(longest, np.int64),
        "reward": np.empty(longest),
        "next_code": np.empty(longest, np.int64),
        "terminated": np.empty(longest, bool),
        "truncated": np.empty(longest, bool),
        "n_steps": np.zeros(1, np.int64),
        "cut_before": np.zeros(1, bool),
    }


@kernel
def keep_step(kept, code, action, reward, next_code, terminated, truncated):
    """Keep a step, which is handed to the learner later."""
    position = kept.n_steps[0]
    kept.code[position] = code
    kept.action[position] = action
    kept.reward[position] = reward
    kept.next_code[position] = next_code
    kept.terminated[position] = terminated
    kept.truncated[position] = truncated
    kept.n_steps[0] = position + 1


@kernel
def end_episode(kept):
    """Let the last step be the end of its episode, as if it had been truncated."""
    if kept.n_steps[0] > 0:
        kept.truncated[kept.n_steps[0] - 1] = True
    else:
        kept.cut_before[0] = True


@kernel
def write_own_policy(arrays, code, policy):
    """Write the policy at an observation, as the learner's own kernel computes it."""
    act(arrays.policy, code, policy)


@kernel
def has_own_policy(arrays, code):
    """True if the learner's own kernel has a policy at an observation."""
    return has_policy(arrays.policy, code)


register_kernels(ActingArrays, act=write_own_policy, learn=keep_step, has_policy=has_own_policy, hear_cut=end_episode)


def take_cut(kept: Any) -> bool:
    """True if an episode was cut after the last steps were handed to the learner, and before the next one."""
    cut, kept.cut_before[0] = bool(kept.cut_before[0]), False
    return cut


def take_steps(kept: Any, log: Log) -> Steps:
    """Return the steps since the last call, as arrays that the learner may keep: ours are overwritten."""
    n = int(kept.n_steps[0])
    kept.n_steps[0] = 0
    rows = kept.next_code[:n]
    action, reward, terminated, truncated = (
        column[:n].copy() for column in (kept.action, kept.reward, kept.terminated, kept.truncated)
    )
    return Steps(observations_at(log, kept.code[:n]), action, reward, log.next_observation[rows], terminated, truncated)


def observations_at(log: Log, codes: np.ndarray) -> np.ndarray:
    """Return the observations with these codes."""
    opening = codes >= len(log)
    if not opening.any():
        return log.next_observation[codes]
    observations = log.next_observation[np.where(opening, 0, codes)]
    observations[opening] = log.observation[log.starts[codes[opening] - len(log)]]
    return observations
