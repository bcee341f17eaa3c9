import numpy as np
import pytest

from understudy.envs import ContinuousGrid, Grid, NoisyGrid, record
from understudy.logs import Log, concatenate
from understudy.trust.logging_policy import Episodes
from understudy.trust.shapes import _transitions, _visits, difference, labels_of_observations, labels_of_states


def real(log, episodes):
    lengths = np.diff(log.starts)[episodes]
    return Episodes(log.starts[:-1][episodes], log.rows_of(episodes), np.append(0, np.cumsum(lengths)))


def p_value(log, one, other, seed=0, permutations=99):
    rng = np.random.default_rng(seed)
    labels = {"observations": labels_of_observations(log, rng)}
    return difference(log, real(log, one), real(log, other), labels, rng, permutations)


def test_two_sets_of_one_law_differ_as_often_as_the_level_says():
    # 200 logs at level .1: 20 on average, and more than 37 once in ten thousand (binomial).
    fired = 0
    for seed in range(200):
        log = record(Grid(3, slip=0.2), episodes=60, seed=seed)
        fired += p_value(log, np.arange(20), np.arange(20, 60), seed).p_value <= 0.1
    assert 5 <= fired <= 37


@pytest.mark.parametrize(("slip", "limit"), [(0.7, None), (0.2, 6)])
def test_sets_of_different_laws_are_found(slip, limit):
    def recorded(slip, limit, seed):
        env = Grid(3, slip=slip, max_episode_steps=limit)
        return record(env, lambda _: [0.1, 0.4, 0.3, 0.1, 0.1], episodes=60, seed=seed)

    fired = 0
    for seed in range(10):
        log = concatenate([recorded(0.2, None, seed), recorded(slip, limit, 50 + seed)])
        fired += p_value(log, np.arange(60), np.arange(60, 120), seed).p_value <= 0.05
    assert fired >= 9


def test_returns_alone_are_found():
    def log(reward, seed):
        rng = np.random.default_rng(seed)
        columns = {"observation": np.zeros(100, int), "action": np.zeros(100, int), "ends": "every-row"}
        return Log.from_columns(**columns, reward=reward(rng), propensity=np.ones((100, 1)))

    both = concatenate([log(lambda rng: rng.normal(size=100), 0), log(lambda rng: 3 * rng.normal(size=100), 1)])
    found = p_value(both, np.arange(100), np.arange(100, 200))
    assert found.shape == "returns of episodes"
    assert found.p_value == 0.01


def test_where_nothing_varies_nothing_differs():
    log = Log.from_columns(observation=[0] * 40, action=[0] * 40, reward=[1] * 40, ends="every-row")
    assert p_value(log, np.arange(20), np.arange(20, 40)).p_value == 1


@pytest.fixture
def small():
    """Episodes 0 -> 1 -> 2 -> end, and 0 -> 2 -> end."""
    return Log.from_columns(
        observation=[0, 1, 2, 0, 2], action=[0] * 5, reward=[0.0] * 5, next_observation=[1, 2, 9, 2, 9],
        terminated=[False, False, True, False, True],
    )  # fmt: skip


def test_visits_and_transitions_by_hand(small):
    labels = labels_of_states(small, small.observation, small.next_observation)
    end = labels.n
    one, other = real(small, np.array([0])), real(small, np.array([1]))
    visited = [_visits(one, other, labels, k).argmax(axis=1).tolist() for k in (1, 2, 3, 9)]
    assert visited == [[1, 2], [2, end], [end, end], [end, end]]
    # From 0, one of two episodes goes to 1 and the other to 2: each is half a visit off.
    led = _transitions(one, other, labels, 1)
    pairs = [tuple(column) for column in led.T.tolist() if any(column)]
    assert sorted(pairs) == [(-0.5, 0.5), (0.5, -0.5)]
    assert np.abs(_transitions(one, other, labels, 2)).sum() == 2  # 0 -> 2 and 0 -> end


def test_an_episode_that_was_cut_off_has_no_label_later(small):
    labels = labels_of_states(small, small.observation, small.next_observation)
    cut = Episodes(np.array([0, 3]), np.array([0]), np.array([0, 1, 1]))
    assert _visits(cut, real(small, np.array([1])), labels, 2).sum(axis=1).tolist() == [0, 0, 1]


def test_labels_are_few_and_functions_of_the_observation():
    for log, n in ((record(NoisyGrid(4), episodes=20), 32), (record(ContinuousGrid(), episodes=20), 32)):
        labels = labels_of_observations(log, np.random.default_rng(0))
        assert labels.n == n
        assert labels.here.max() < n
        assert (labels.following[log.terminated] == n).all()
        going_on = np.flatnonzero(log.episode[1:] == log.episode[:-1])
        assert (labels.following[going_on] == labels.here[going_on + 1]).all()


def test_states_beyond_the_most_frequent_share_a_label():
    log = record(NoisyGrid(4), episodes=50)
    labels = labels_of_states(log, log.observation, log.next_observation)
    assert labels.n == 65
    assert (labels.here == 64).any()
    assert len(np.unique(log.observation[labels.here == 0])) == 1
