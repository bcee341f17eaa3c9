"""What users may ask of simulators."""

import numpy as np
import pytest

import understudy as us
from understudy.simulators.options import LOG_LIMIT, time_limit

MAKERS = ["psrs", "qbe", "states_only", "actions_only", "any_row", "model"]


@pytest.mark.parametrize("limit", [0, -1, True, 2.5, "5", 2**63, 2**64, 10**400, np.uint64(2**63), float("nan")])
@pytest.mark.parametrize("name", MAKERS)
def test_a_time_limit_that_is_not_a_number_of_steps_is_refused_in_a_sentence(name, limit, walk_log):
    with pytest.raises(
        us.SettingError,
        match=r"^max_episode_steps is .*; give max_episode_steps=, a whole number from 1 to 9223372036854775807",
    ):
        getattr(us, name)(walk_log([0, 1, 2]), max_episode_steps=limit)


@pytest.mark.parametrize("limit", [1, 2.0, np.int8(1), 2**63 - 1, np.uint64(7)])
@pytest.mark.parametrize("name", MAKERS)
def test_any_other_is_taken(name, limit, walk_log, play):
    simulator = getattr(us, name)(walk_log([0, 1, 2]), max_episode_steps=limit)
    (first, *_) = play(simulator, lambda t, x: [1.0, 0.0], 0, max_steps=1).steps
    assert first.truncated == (limit == 1 and not first.terminated)


def test_a_logs_own_is_looked_at_too(walk_log):
    log = walk_log([0, 1, 2])
    object.__setattr__(log, "max_episode_steps", 2**63)
    with pytest.raises(us.SettingError, match="max_episode_steps is 9223372036854775808; give"):
        time_limit(log, LOG_LIMIT)


def test_an_environments_own_limit_may_be_any_number():
    import gymnasium

    env = gymnasium.wrappers.TimeLimit(us.envs.Grid(2), 2**70)
    assert us.real(env).start(0).begin() >= 0
    with pytest.raises(us.SettingError, match="max_episode_steps="):
        us.real(us.envs.Grid(2), max_episode_steps=2**63)
