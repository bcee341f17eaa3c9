import numpy as np
import pytest

from understudy.errors import LogError
from understudy.logs import Log, concatenate


def small(**changes):
    columns = {"observation": [0, 1, 2, 5, 6], "action": [0, 1, 0, 1, 1], "reward": [0, 0, 1, 0, 0]}
    return Log.from_columns(**{**columns, **changes})


def rows_of(log):
    return list(zip(log.observation, log.next_observation, log.terminated, log.truncated, log.episode, strict=True))


def test_columns_have_their_dtypes(clean):
    log = Log.from_columns(**clean)
    assert [log.action.dtype, log.reward.dtype, log.episode.dtype] == [np.int32, np.float64, np.int64]
    assert [log.terminated.dtype, log.step.dtype, log.propensity.dtype] == [bool, np.int32, np.float64]


def test_columns_are_read_only_views(clean):
    log = Log.from_columns(**clean)
    assert np.shares_memory(log.observation, clean["observation"])
    assert clean["observation"].flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        log.observation[0] = 1


def test_spec_tells_what_a_learner_must_know():
    spec = small(terminated=[0, 0, 1, 0, 1], n_actions=4).spec
    assert (spec.n_actions, spec.actions, spec.observation_shape, spec.n_observations) == (4, None, (), 7)


@pytest.mark.parametrize("observation", [[0.0, 1, 2, 3, 4], [-1, 0, 1, 2, 3], np.zeros((5, 2), int)])
def test_only_single_integers_from_zero_up_are_counted(observation):
    assert small(observation=observation).spec.n_observations is None


def test_n_actions_comes_from_propensities():
    assert small(propensity=np.full((5, 3), 1 / 3)).spec.n_actions == 3


@pytest.mark.parametrize("also", [{"n_actions": 4}, {"actions": ["a", "b"]}])
def test_the_number_of_actions_must_be_one_number(also):
    with pytest.raises(LogError, match="propensity has a column for 3"):
        small(propensity=np.full((5, 3), 1 / 3), **also)


def test_labels_beside_propensities_are_said_to_be_sorted():
    log = small(action=list("baabb"), propensity=np.full((5, 2), 0.5))
    assert log.spec.actions == ("a", "b")
    assert any("in the order a, b" in note for note in log.notes)


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


def test_observation_and_next_observation_share_a_dtype():
    log = small(next_observation=[1.0, 2, 3, 6, 7])
    assert log.observation.dtype == log.next_observation.dtype == np.float64


def test_unlike_next_observations_are_refused():
    with pytest.raises(LogError, match=r"shape \(\) and a next_observation \(2,\)"):
        small(next_observation=np.zeros((5, 2)))


def test_missing_episodes_come_from_ends():
    log = small(next_observation=[1, 2, 3, 6, 7], terminated=[0, 0, 1, 0, 0], truncated=[0, 0, 0, 1, 0])
    assert log.episode.tolist() == [0, 0, 0, 1, 2]
    assert log.step.tolist() == [0, 1, 2, 0, 0]
    assert log.notes[0].startswith("no-episode: ")


def test_a_log_without_ends_is_one_unfinished_episode():
    log = small()
    assert log.n_episodes == 1
    assert log.unfinished.tolist() == [True]


def test_the_time_limit_is_what_all_truncated_episodes_agree_on():
    ends = {"terminated": [0, 0, 0, 1, 0], "truncated": [0, 0, 1, 0, 0]}
    assert small(**ends).max_episode_steps == 3  # though a row of it was dropped
    assert small(truncated=[0, 0, 1, 0, 1]).max_episode_steps is None
    assert small(truncated=[0, 1, 0, 0, 0], terminated=[0, 0, 0, 0, 1]).max_episode_steps is None
    assert small(terminated=[0, 0, 1, 0, 1]).max_episode_steps is None


def test_an_empty_log_is_refused():
    with pytest.raises(LogError, match="the log is empty"):
        Log.from_columns(observation=[], action=[], reward=[])


def test_one_row_is_a_log_if_it_has_a_next_observation():
    one = {"observation": [3], "action": [0], "reward": [1.0]}
    assert len(Log.from_columns(**one, next_observation=[4])) == 1
    assert len(Log.from_columns(**one, terminated=[True])) == 1
    with pytest.raises(LogError, match="no row has a next observation"):
        Log.from_columns(**one)


def test_repr_prints_shapes_and_no_values(clean):
    text = repr(Log.from_columns(**{**clean, "reward": np.full(len(clean["action"]), 123456.0)}))
    assert f"propensity        ({len(clean['action'])}, 3) float64" in text
    assert "123456" not in text


def test_fingerprint_is_of_the_content_however_it_was_made(clean):
    log = Log.from_columns(**clean)
    lists = Log.from_columns(**{name: np.asarray(column)[::1].copy() for name, column in clean.items()})
    strided = Log.from_columns(**{**clean, "reward": np.repeat(clean["reward"], 2)[::2]})
    derived = Log.from_columns(**{name: column for name, column in clean.items() if name != "step"})
    assert log.fingerprint == lists.fingerprint == strided.fingerprint == derived.fingerprint
    assert len(log.fingerprint) == 32


@pytest.mark.parametrize("name", ["observation", "action", "reward", "next_observation", "terminated", "propensity"])
def test_fingerprint_tells_any_change(clean, name):
    changed = clean[name].copy()
    changed.flat[0] = 1 - changed.flat[0]
    assert Log.from_columns(**clean).fingerprint != Log.from_columns(**{**clean, name: changed}).fingerprint


def test_fingerprint_tells_labels_and_the_number_of_actions():
    prints = {small(**also).fingerprint for also in ({}, {"n_actions": 3}, {"actions": ["a", "b"]})}
    assert len(prints) == 3


def test_select_takes_episodes_in_the_order_given(clean):
    log = Log.from_columns(**clean)
    chosen = log.select([5, 2])
    assert chosen.episode[chosen.starts[:-1]].tolist() == [5, 2]
    assert chosen.reward.tolist() == [*log.reward[log.episode == 5], *log.reward[log.episode == 2]]
    assert chosen.spec == log.spec


def test_select_takes_a_mask(clean):
    log = Log.from_columns(**clean)
    assert log.select(log.unfinished | True).fingerprint == log.fingerprint


def test_an_episode_selected_twice_is_two(clean):
    chosen = Log.from_columns(**clean).select([3, 3])
    assert chosen.n_episodes == 2
    chosen.sound()


@pytest.mark.parametrize("episodes", [[], [60], [-1], [0.5], [[1]]])
def test_select_refuses_what_is_no_episode(clean, episodes):
    with pytest.raises(LogError, match="episode"):
        Log.from_columns(**clean).select(episodes)


def test_a_sound_log_is_asked_once(clean, monkeypatch):
    log = Log.from_columns(**clean)
    log.sound()
    monkeypatch.setattr("understudy.logs.rules.ERRORS", None)
    log.sound()


def test_an_unsound_log_says_the_first_error_every_time(clean):
    clean["reward"][7] = np.nan
    log = Log.from_columns(**clean)
    for _ in range(2):
        with pytest.raises(LogError, match="reward is NaN or infinite in row 7; fill them in"):
            log.sound()


def test_concatenate_keeps_episodes_of_different_logs_apart(walk):
    one, two = (Log.from_columns(**walk(seed=seed)) for seed in (1, 2))
    both = concatenate([one, two])
    assert both.n_episodes == one.n_episodes + two.n_episodes
    assert len(np.unique(both.episode)) == both.n_episodes
    assert both.max_episode_steps == 20
    both.sound()


def test_concatenate_does_not_hide_a_scattered_episode():
    log = small(episode=[0, 1, 0, 1, 1], terminated=[0] * 5, next_observation=[1] * 5)
    with pytest.raises(LogError, match="goes on in row 2"):
        concatenate([log, log]).sound()


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
    with pytest.raises(LogError, match="no log"):
        concatenate([])


def test_an_end_inside_an_episode_is_not_hidden_by_dropping_its_last_row():
    log = Log.from_columns(
        observation=[0, 1, 2, 3, 0, 1], action=[0] * 6, reward=[0.0] * 6,
        terminated=[0, 1, 0, 0, 1, 0], episode=[0, 0, 0, 1, 1, 1],
    )  # fmt: skip
    assert len(log) == 6
    with pytest.raises(LogError, match="terminated"):
        log.sound()


@pytest.mark.parametrize("asked", [0, -1, True, 2.0, "2", [2], 2**40, 10**30])
def test_a_number_of_actions_that_cannot_be_is_refused_at_once(asked):
    with pytest.raises(LogError, match=r"must be a positive integer|is the most; number them from 0 up"):
        small(n_actions=asked)


def test_codes_that_leave_a_billion_gaps_are_refused_at_once():
    with pytest.raises(LogError, match="1,048,576 is the most; number them from 0 up without gaps"):
        small(action=[0, 1, 2 * 10**9, 1, 0])


def test_observations_of_two_dtypes_are_joined_without_loss():
    big = np.array([2**53 + 1] * 5)
    joined = small(observation=big, next_observation=big.astype(np.uint64))
    assert joined.observation.dtype == np.int64
    assert joined.observation[0] == 2**53 + 1
    with pytest.raises(LogError, match="observation is 9007199254740993 in row 0, which float64 would round"):
        small(observation=big, next_observation=[0.5] * 5)


def test_labels_decide_which_action_they_name():
    assert small(actions=["1", "0"]).action.tolist() == [1, 0, 1, 0]
    assert small(actions=["one", "two"]).action.tolist() == [0, 1, 0, 1]


def test_concatenate_remembers_what_was_derived_in_any_log():
    ends = {"terminated": [0, 0, 1, 0, 1]}
    derived, given = small(**ends), small(**ends, next_observation=[1, 2, 2, 6, 6], step=[0, 1, 2, 0, 1])
    assert concatenate([given, derived]).derived == concatenate([derived, given]).derived == ("next_observation",)
    assert concatenate([derived, derived]).derived == ("step", "next_observation")
    assert concatenate([given, given]).derived == ()
