import numpy as np

from understudy.encoders.exogenous_sample import SplitSample, binned, grouped_states, paired, sampled
from understudy.logs import Log


def two_episodes():
    observation = np.array([[0.0, 5.0], [1.0, 6.0], [2.0, 5.0], [0.0, 7.0], [1.0, 5.0]])
    following = np.array([[1.0, 6.0], [2.0, 5.0], [3.0, 9.0], [1.0, 5.0], [2.0, 8.0]])
    log = Log.from_columns(
        observation=observation, next_observation=following, action=[0, 1, 0, 1, 0], reward=np.zeros(5),
        terminated=[False, False, True, False, True], propensity=np.full((5, 2), 0.5),
    )  # fmt: skip
    return SplitSample(log, observation, following, ("place", "clock"))


def test_codes_are_equal_where_columns_are():
    sample = two_episodes()
    assert sample.state([0]).tolist() == sample.state([0])[[0, 1, 2, 0, 1]].tolist()
    assert len(set(sample.state([0, 1]))) == 5
    before, after = sample.state([0]), sample.state([0], "after")
    assert after[:2].tolist() == before[1:3].tolist()
    assert len(set(before) | set(after)) == 4


def test_the_first_row_of_an_episode_has_no_previous_observation():
    code = two_episodes().code([1], "previous")
    assert code[0] == code[3]
    assert code[1] != code[0]
    assert code[1] == two_episodes().code([1])[0]


def test_rows_with_a_lag_are_those_whose_episode_goes_on():
    sample = two_episodes()
    assert [sample.rows_with(lag).tolist() for lag in (1, 2, 3, 4)] == [[0, 1, 2, 3, 4], [0, 1, 3], [0], []]


def test_a_long_log_is_sampled_by_whole_episodes(walk_and_weather):
    log = walk_and_weather(0, episodes=40, steps=10)
    sample = sampled(log, log.observation, log.next_observation, ("a", "b"), 1, most=95)
    assert len(sample.log) == len(sample.before) == 100
    assert np.array_equal(sample.log.observation, sample.before)
    again, other = (sampled(log, log.observation, log.next_observation, ("a", "b"), s, most=95) for s in (1, 2))
    assert np.array_equal(sample.before, again.before)
    assert not np.array_equal(sample.before, other.before)
    assert len(sampled(log, log.observation, log.next_observation, ("a", "b"), 1).log) == 400


def test_values_are_binned_by_value_or_by_quantile():
    assert binned(np.array([3, 1, 3])).tolist() == [1, 0, 1]
    parts = binned(np.arange(800.0), parts=8)
    assert np.bincount(parts).tolist() == [100] * 8


def test_pairs_of_codes_are_numbered_apart():
    one, other = np.array([0, 0, 7, 7]), np.array([1, 2, 1, 1])
    for scale in (1, 10**12):  # large codes are numbered anew
        found = paired(one * scale, other * scale)
        assert len(set(found)) == 3
        assert found[2] == found[3]


def test_many_states_are_put_into_groups():
    assert grouped_states(np.arange(10)).tolist() == list(range(10))
    assert len(set(grouped_states(np.arange(1000)))) == 64
