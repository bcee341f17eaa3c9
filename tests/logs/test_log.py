import numpy as np
import pytest

from understudy.errors import LogError, SettingError
from understudy.logs import Log


def small(**changes):
    columns = {"observation": [0, 1, 2, 5, 6], "action": [0, 1, 0, 1, 1], "reward": [0, 0, 1, 0, 0]}
    return Log.from_columns(**{**columns, **changes})


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


def test_labels_beside_propensities_are_said_to_be_sorted():
    log = small(action=list("baabb"), propensity=np.full((5, 2), 0.5))
    assert log.spec.actions == ("a", "b")
    assert any("in the order a, b" in note for note in log.notes)


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
    chosen.require_no_errors()


@pytest.mark.parametrize("episodes", [[], [60], [-1], [0.5], [[1]]])
def test_select_refuses_what_is_no_episode(clean, episodes):
    with pytest.raises(SettingError, match="episode"):
        Log.from_columns(**clean).select(episodes)


def test_a_log_without_errors_is_checked_once(clean, monkeypatch):
    log = Log.from_columns(**clean)
    log.require_no_errors()
    asked = []
    monkeypatch.setattr("understudy.logs.rules.ERRORS", [lambda log: asked.append(log) or []])
    log.require_no_errors()
    Log.from_columns(**clean).require_no_errors()
    assert len(asked) == 1  # of the second log only


def test_the_first_error_is_raised_every_time(clean):
    clean["reward"][7] = np.nan
    log = Log.from_columns(**clean)
    for _ in range(2):
        with pytest.raises(LogError, match="reward is NaN or infinite in row 7; fill them in"):
            log.require_no_errors()


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


@pytest.mark.parametrize(
    ("observation", "fingerprint"),
    [
        ([0, 1, 2, 5], "a94b67a11ff3bce50db60c23751dc7c5"),
        ([0.5, 1.0, 2.0, 0.0], "598db0c05fdc3d916606f9455cc54ad8"),
        ([True, False, True, True], "062363acbbace3245de6198d880f7a4a"),
        ([[1, 2], [3, 4], [5, 6], [7, 8]], "581bd9934c5f4aa9c4fe72954c3a68a7"),
    ],
)
def test_fingerprints_of_numbers_stay_as_they_were(observation, fingerprint):
    """Results folders name their log by its fingerprint, so that of a log of numbers must not change."""
    columns = {"action": [0, 1, 0, 1], "reward": [0.0, 0.5, 1.0, 0.0], "terminated": [False, True, False, True]}
    assert Log.from_columns(observation=observation, **columns).fingerprint == fingerprint


def test_a_log_shows_its_columns_in_a_notebook():
    log = Log.from_columns(observation=[0, 1], action=[0, 1], reward=[0, 1], terminated=[False, True])
    html = log._repr_html_()
    assert "Log of 2 rows, 1 episode, 2 actions" in html
    assert "(2,) int64" in html
