"""Values and likeness come from one half of the episodes, and are judged on the other.

Tests over many logs have a z value of at most 4 (an error rate below 1e-4), with seeds that were not chosen.
"""

import numpy as np
import pytest

from tests.likeness.problems import square, twins
from understudy.likeness import held_out, observations, transitions
from understudy.likeness.auditing import states_in
from understudy.likeness.differences import N_GROUPS
from understudy.likeness.held_out import Half, HeldOut, States, halves_of, held_out_halves
from understudy.likeness.values import places_of_log
from understudy.logs import Log

N_LOGS = 30


def test_no_episode_is_on_both_sides_and_the_sides_change_places():
    log = twins(50, 0)
    one, other = halves_of(log, 3)
    assert not np.intersect1d(log.episode[one.fitted], log.episode[one.judged]).size
    assert np.array_equal(one.fitted, other.judged)
    assert np.array_equal(one.judged, other.fitted)
    assert len(one.fitted) + len(one.judged) == len(log)
    groups = one.place % N_GROUPS
    assert len(np.unique(groups)) == N_GROUPS
    for episode in np.unique(log.episode[one.judged]):
        assert len(np.unique(groups[log.episode[one.judged] == episode])) == 1


def test_stretches_of_rows_stand_for_few_episodes():
    n = 4000
    log = Log.from_columns(observation=np.arange(n) % 7, action=np.zeros(n, int), reward=np.ones(n), ends="unfinished")
    one, _ = halves_of(log, 0)
    assert abs(len(one.fitted) - n / 2) < 100
    assert (np.diff(one.fitted) > 1).sum() < 40


def true_difference(log, half, lists, n=6):
    """The mean, over judged rows, of the squared difference of true rewards of like rows; 0 <= reward < n by state."""
    first, members = lists
    state, action = log.observation[half.judged], log.action[half.judged]
    rows = np.zeros((2 * n, 2))
    np.add.at(rows, (state, action), 1)
    total, weight = 0.0, 0.0
    for s in range(2 * n):
        like = members[first[s] : first[s + 1]]
        squared = (like % n - s % n) ** 2.0
        for a in range(2):
            if rows[like, a].sum() > 0 and rows[s, a] > 0:
                total += rows[s, a] * np.average(squared, weights=rows[like, a])
                weight += rows[s, a]
    return total / weight


def difference(log, half, likeness, radius):
    """The estimate for rewards alone, and the truth: values are rewards where the future does not count."""
    states = States(log.observation, log.next_observation, 12)
    found = HeldOut(log, states, places_of_log(log, *states, seed=0), half, discount=0.0, seed=0)
    estimate = found.differences(likeness, radius)["value"].mean * found.value_range**2
    lists = likeness.neighbors(found._fitted, *found._fitted_states, radius)
    return estimate - true_difference(log, half, lists)


def test_differences_are_unbiased_on_the_other_half_and_flattered_on_the_same():
    """A likeness of twelve states that is told apart by noisy rewards: pairs are kept that happen to agree."""
    apart, same = [], []
    for seed in range(N_LOGS):
        log = twins(60, seed, noise=4.0)
        half = halves_of(log, seed)[0]
        apart.append(difference(log, half, transitions(discount=0.5), 1.5))
        flattered = Half(half.judged, half.judged, half.place)
        same.append(difference(log, flattered, transitions(discount=0.5), 1.5))
    z = [np.mean(found) / (np.std(found) / N_LOGS**0.5) for found in (apart, same)]
    assert abs(z[0]) < 4
    assert z[1] < -4


def test_the_noise_of_a_state_and_action_is_that_of_its_rows():
    log = twins(400, 0, noise=2.0)
    states = States(log.observation, log.next_observation, 12)
    found = held_out_halves(log, states, 0.0, 0)[0]
    assert found.noise().mean * found.value_range**2 == pytest.approx(4.0, rel=0.1)


def test_where_observations_never_repeat_few_whole_episodes_are_judged(monkeypatch):
    monkeypatch.setattr(held_out, "MOST_ROWS", 300)
    log = square(60, 0)
    rng = np.random.default_rng(0)
    shaken = log.columns | {name: log.columns[name] + 0.01 * rng.random((len(log), 2)) for name in ("observation",)}
    log = Log.from_columns(**shaken, n_actions=4)
    half = held_out_halves(log, states_in(log, None), 0.9, 0)[0]
    assert not half.repeats
    rows = len(half.outcomes["reward"])
    assert 300 <= rows < 300 + np.diff(log.starts).max()
    assert np.isfinite(half.differences(observations(), 0.5)["leads"].mean)


def test_values_that_change_from_row_to_row_without_order_are_not_judged():
    rng = np.random.default_rng(0)
    x = rng.random((2000, 2))
    for reward, told in ((rng.standard_normal(2000), False), (5 * x[:, 0], True)):
        log = Log.from_columns(observation=x, action=np.zeros(2000, int), reward=reward, ends="every-row")
        half = held_out_halves(log, states_in(log, None), 0.9, 0)[0]
        assert np.isfinite(half.differences(observations(), 0.5)["value"].mean) == told


def test_without_a_range_nothing_can_be_told_of_values():
    log = Log.from_columns(
        observation=np.tile([0, 1], 100), action=np.zeros(200, int), reward=np.ones(200), ends="every-row"
    )
    half = held_out_halves(log, States(log.observation, log.next_observation, 2), 0.9, 0)[0]
    assert half.value_range == 0
    assert np.isnan(half.noise().mean)
