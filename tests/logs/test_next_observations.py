import numpy as np
import pytest

from understudy.errors import LogError
from understudy.logs import Log, next_observations
from understudy.logs.next_observations import add_next_observations


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
        note.startswith("dropped: 1 last row did not terminate and has no next observation, so it was dropped; log")
        for note in log.notes
    )


def test_what_dropped_rows_earned_is_said():
    log = small(terminated=[0, 0, 1, 0, 0], reward=[0, 0, 0, 0, 2.5])
    assert any(
        "so it was dropped; its reward, 2.5, counts in what the log earned; log next_observation" in note
        for note in log.notes
    )


def test_episodes_of_a_single_row_that_is_dropped_are_counted():
    log = small(episode=[0, 0, 0, 1, 2], terminated=[0, 0, 1, 0, 0])
    assert any("; 2 episodes of a single row are gone; log" in note for note in log.notes)
    assert log.source_row.tolist() == [0, 1, 2]


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


@pytest.mark.parametrize("length", [2, 40])
@pytest.mark.parametrize("block", [3, 1000])
def test_rows_dropped_in_place_are_those_dropped_from_a_copy(monkeypatch, block, length):
    monkeypatch.setattr(next_observations, "BLOCK", block)
    rng = np.random.default_rng(0)
    starts = np.arange(0, 401, length)
    columns = {
        "observation": rng.integers(9, size=(400, 2)), "action": rng.integers(3, size=400), "reward": np.ones(400),
        "terminated": np.zeros(400, bool), "truncated": np.zeros(400, bool), "episode": np.arange(400) // length,
    }  # fmt: skip
    columns["terminated"][starts[1::3] - 1] = True
    given = {name: column.copy() for name, column in columns.items()}
    columns["action"].setflags(write=False)
    copied, notes, rewards = add_next_observations(columns, starts)
    assert all(np.array_equal(columns[name], given[name]) for name in given)
    moved, same_notes, same_rewards = add_next_observations(columns, starts, owned=True)
    assert notes == same_notes
    assert np.array_equal(rewards, same_rewards, equal_nan=True)
    assert np.array_equal(np.isnan(rewards), given["terminated"][starts[1:] - 1])
    assert 0 < len(moved["action"]) < 400
    assert all(np.array_equal(moved[name], copied[name]) for name in copied)
    assert np.array_equal(columns["action"], given["action"])  # which cannot be written to
    assert (moved["observation"].base is columns["observation"]) == (length == 40)  # or else memory is given back


def test_where_a_limit_cuts_episodes_off_ends_are_as_frequent_as_they_are():
    """Episodes end with a probability of .1 a step, and are cut off after 3. If rows at the limit were kept where they
    terminated and dropped where they did not, more than 13% of rows would be ends."""
    rng = np.random.default_rng(0)
    lengths = rng.geometric(0.1, 5000)
    episode = np.repeat(np.arange(5000), np.minimum(lengths, 3))
    last = np.append(episode[1:] != episode[:-1], True)
    terminated = last & np.repeat(lengths <= 3, np.minimum(lengths, 3))
    n = len(episode)
    columns = {"observation": np.zeros(n, int), "action": np.zeros(n, int), "reward": np.ones(n), "episode": episode}
    log = Log.from_columns(**columns, terminated=terminated, truncated=last & ~terminated)
    assert log.terminated.mean() == pytest.approx(0.1, abs=4 * 0.3 / np.sqrt(len(log)))
    assert log.max_episode_steps == 3
    assert log.n_episodes == 5000
    n_cut, n_ended = np.count_nonzero(lengths > 3), np.count_nonzero(lengths == 3)
    said = (
        f"dropped: {n_cut:,} last rows did not terminate and have no next observation, so they were dropped; so were "
    )
    assert any(note.startswith(f"{said}{n_ended:,} that terminated in step 3, the limit") for note in log.notes)
    assert terminated[~(last & ~terminated)].mean() > 0.13  # what it would be
