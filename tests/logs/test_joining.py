import numpy as np
import pytest

from understudy.errors import LogError, SettingError
from understudy.logs import Log, concatenate


def small(**changes):
    columns = {"observation": [0, 1, 2, 5, 6], "action": [0, 1, 0, 1, 1], "reward": [0, 0, 1, 0, 0]}
    return Log.from_columns(**{**columns, **changes})


def test_concatenate_keeps_episodes_of_different_logs_apart(walk):
    one, two = (Log.from_columns(**walk(seed=seed)) for seed in (1, 2))
    both = concatenate([one, two])
    assert both.n_episodes == one.n_episodes + two.n_episodes
    assert len(np.unique(both.episode)) == both.n_episodes
    assert both.max_episode_steps == 20
    both.require_no_errors()


def test_concatenate_does_not_hide_a_scattered_episode():
    log = small(episode=[0, 1, 0, 1, 1], terminated=[0] * 5, next_observation=[1] * 5)
    with pytest.raises(LogError, match="goes on after another began, in row 2"):
        concatenate([log, log]).require_no_errors()


def test_concatenate_has_a_time_limit_only_if_all_keep_to_it():
    short = small(truncated=[0, 0, 0, 0, 1], next_observation=[1] * 5)
    long = small(terminated=[0, 0, 0, 0, 1])
    assert concatenate([short, long]).max_episode_steps == 5
    other = small(truncated=[0, 0, 1, 0, 0], next_observation=[1] * 5)
    assert concatenate([short, other]).max_episode_steps is None


@pytest.mark.parametrize(
    "other",
    [{"n_actions": 3}, {"actions": ["a", "b"]}, {"observation": np.zeros(5)}, {"propensity": np.full(5, 0.5)}],
)
def test_concatenate_refuses_unlike_logs(other):
    with pytest.raises(LogError, match="make them alike"):
        concatenate([small(), small(**other)])


def test_concatenate_needs_a_log():
    with pytest.raises(SettingError, match="no log"):
        concatenate([])


def test_concatenate_remembers_what_was_derived_in_any_log():
    ends = {"terminated": [0, 0, 1, 0, 1]}
    derived, given = small(**ends), small(**ends, next_observation=[1, 2, 2, 6, 6], step=[0, 1, 2, 0, 1])
    assert concatenate([given, derived]).derived == concatenate([derived, given]).derived == ("next_observation",)
    assert concatenate([derived, derived]).derived == ("step", "next_observation")
    assert concatenate([given, given]).derived == ()
