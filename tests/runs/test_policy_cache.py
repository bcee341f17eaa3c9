"""Policies evaluated ahead: found by code until the next update, with the steps taken meanwhile."""

import numpy as np
import pytest

from understudy.contracts.kernels import kernels_of
from understudy.runs.policy_cache import PolicyCache, end_episode, is_known, keep_step, write_policy


@pytest.fixture
def cache():
    """Four codes, of which 2 and 0 have policies, in slots 5 and 6 since the last update."""
    return PolicyCache(
        slot=np.array([6, 4, 5, 0]), base=np.array([5]), policy=np.array([[0.1, 0.9], [0.7, 0.3]]),
        code=np.empty(3, np.int64), action=np.empty(3, np.int64), reward=np.empty(3), next_code=np.empty(3, np.int64),
        terminated=np.empty(3, bool), truncated=np.empty(3, bool), n_steps=np.zeros(1, np.int64),
        cut_before=np.zeros(1, bool),
    )  # fmt: skip


def test_policies_are_known_since_the_last_update_only(cache):
    assert [bool(is_known(cache, code)) for code in range(4)] == [True, False, True, False]
    cache.base[0] = 7
    assert not any(is_known(cache, code) for code in range(4))


def test_a_policy_is_found_by_its_code(cache):
    policy = np.empty(2)
    for code, expected in ((0, [0.7, 0.3]), (2, [0.1, 0.9])):
        write_policy(cache, code, policy)
        assert policy.tolist() == expected


def test_steps_are_kept_in_order(cache):
    keep_step(cache, 2, 1, 0.5, 0, False, False)
    keep_step(cache, 0, 0, -1.0, 3, True, False)
    assert cache.n_steps[0] == 2
    columns = (cache.code, cache.action, cache.reward, cache.next_code, cache.terminated, cache.truncated)
    assert [column[:2].tolist() for column in columns] == [
        [2, 0],
        [1, 0],
        [0.5, -1.0],
        [0, 3],
        [False, True],
        [False] * 2,
    ]


def test_its_kernels_are_registered_as_ours(cache):
    assert kernels_of(cache).built_in


def test_a_cut_episode_ends_with_its_last_step_or_before_the_first(cache):
    end_episode(cache)
    assert cache.cut_before.tolist() == [True]
    keep_step(cache, 2, 1, 0.5, 0, False, False)
    end_episode(cache)
    assert cache.truncated[:1].tolist() == [True]
