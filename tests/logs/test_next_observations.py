import pytest

from understudy.errors import LogError
from understudy.logs import Log


def small(**changes):
    columns = {"observation": [0, 1, 2, 5, 6], "action": [0, 1, 0, 1, 1], "reward": [0, 0, 1, 0, 0]}
    return Log.from_columns(**{**columns, **changes})


def rows_of(log):
    return list(zip(log.observation, log.next_observation, log.terminated, log.truncated, log.episode, strict=True))


def test_missing_next_observations_come_from_the_next_row():
    log = small(terminated=[0, 0, 1, 0, 1])
    assert log.next_observation.tolist() == [1, 2, 2, 6, 6]
    assert any("2 terminated rows have none" in note for note in log.notes)


def test_a_last_row_without_next_observation_is_dropped_and_said():
    log = small(terminated=[0, 0, 1, 0, 0])
    assert log.observation.tolist() == [0, 1, 2, 5]
    assert log.unfinished.tolist() == [False, True]
    assert any(
        note.startswith("dropped: 1 last row had no next observation, did not terminate and was dropped")
        for note in log.notes
    )


def test_the_row_before_a_dropped_truncated_one_is_truncated():
    log = small(terminated=[0, 0, 1, 0, 0], truncated=[0, 0, 0, 0, 1])
    assert rows_of(log)[-1] == (5, 6, False, True, 1)


def test_an_episode_of_one_dropped_row_vanishes():
    log = small(terminated=[0, 0, 1, 0, 0], truncated=[0, 0, 0, 1, 1], episode=[0, 0, 0, 1, 2])
    assert log.episode.tolist() == [0, 0, 0]
    assert log.truncated.tolist() == [False] * 3


def test_given_next_observations_drop_nothing():
    assert len(small(next_observation=[1, 2, 3, 6, 7], terminated=[0, 0, 1, 0, 0])) == 5


def test_an_end_inside_an_episode_is_not_hidden_by_dropping_its_last_row():
    log = Log.from_columns(
        observation=[0, 1, 2, 3, 0, 1], action=[0] * 6, reward=[0.0] * 6,
        terminated=[0, 1, 0, 0, 1, 0], episode=[0, 0, 0, 1, 1, 1],
    )  # fmt: skip
    assert len(log) == 6
    with pytest.raises(LogError, match="terminated"):
        log.require_no_errors()
