from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from understudy.envs import Grid, NoisyGrid, record
from understudy.logs import Log, concatenate
from understudy.trust.logging_policy import LoggingPolicy, Lookup, nearest

CHANCES = np.array([0.1, 0.4, 0.3, 0.1, 0.1])


def skewed(observation):
    """A logger that prefers up and right."""
    return CHANCES


@pytest.fixture(scope="module")
def log():
    return record(Grid(4, slip=0.2), skewed, episodes=400, seed=0)


def policy_of(log, states=None):
    states = (log.observation, log.next_observation) if states is None else states
    return LoggingPolicy(log, *states)


def test_simulated_episodes_are_chains_of_rows_of_their_half_each_served_once(log):
    half = np.random.default_rng(0).permutation(400)[:200]
    found = policy_of(log).simulated(half, 60, 200, seed=1)
    assert found.again == 0
    assert len(np.unique(found.rows)) == len(found.rows) == found.starts[-1]
    assert np.isin(found.rows, log.rows_of(half)).all()
    for episode in range(60):
        rows = found.rows[found.starts[episode] : found.starts[episode + 1]]
        assert log.observation[rows[0]] == log.observation[found.opening[episode]]
        assert (log.next_observation[rows[:-1]] == log.observation[rows[1:]]).all()
        assert log.terminated[rows[-1]]
        assert not log.terminated[rows[:-1]].any()


def test_rows_of_a_queue_are_served_in_the_order_of_the_episodes(log):
    half = np.random.default_rng(0).permutation(400)[:200]
    found = policy_of(log).simulated(half, 40, 200, seed=1)
    place = np.full(len(log), -1)
    place[log.rows_of(half)] = np.arange(len(log.rows_of(half)))
    key = log.observation[found.rows] * 5 + log.action[found.rows]
    assert all((np.diff(place[found.rows[key == one]]) > 0).all() for one in np.unique(key))


def test_actions_follow_the_stored_propensities(log):
    # Rejects once in a thousand; the wrong variant has stored uniform ones.
    def p_value(log):
        rows = policy_of(log).simulated(np.arange(400), 150, 200, seed=2).rows
        return chisquare(np.bincount(log.action[rows], minlength=5), CHANCES * len(rows)).pvalue

    assert p_value(log) > 1e-3
    assert p_value(replace(log, propensity=np.full((len(log), 5), 0.2))) < 1e-3


def test_episodes_have_the_lengths_of_real_ones_and_not_with_states_that_are_wrong(log):
    # The share of episodes of fewer than ten steps: binomial, rejects once in a thousand.
    share = (np.diff(record(Grid(4, slip=0.2), skewed, episodes=20_000, seed=9).starts) < 10).mean()

    def p_value(states):
        lengths = policy_of(log, states).simulated(np.arange(400), 200, 200, seed=3).lengths
        return binomtest(int((lengths < 10).sum()), len(lengths), share).pvalue

    assert p_value(None) > 1e-3
    assert p_value((log.observation * 0, log.next_observation * 0)) < 1e-3


def test_a_logger_that_changes_is_followed_in_time():
    """In the first half of the log it only stays or goes up and right, in the second down and left as well."""
    early = record(Grid(3), lambda _: [0, 0.5, 0.5, 0, 0], episodes=100, seed=0)
    late = record(Grid(3), lambda _: [0.2] * 5, episodes=100, seed=1)
    log = concatenate([early, late])
    found = policy_of(log).simulated(np.arange(200), 200, 60, seed=0)
    away = np.isin(log.action[found.rows], [3, 4])
    opened_early = found.opening[found.number] < len(early)
    # A step is judged by the row nearest to it in time, which is late in the last episodes before the change only.
    assert away[opened_early].mean() < 0.02 < 0.3 < away[~opened_early].mean()


def test_the_policy_depends_on_the_observation_within_a_state():
    """Two observations of one state, with opposite loggers: actions follow the observation that is there."""
    env = NoisyGrid(1, size=3)
    log = record(env, lambda code: [0.0, 0.9, 0.1, 0, 0] if code < 9 else [0, 0.1, 0.9, 0, 0], episodes=300, seed=0)
    found = policy_of(log, (env.latent(log.observation), env.latent(log.next_observation)))
    rows = found.simulated(np.arange(300), 100, 60, seed=0).rows
    seen, acted = log.next_observation[rows[:-1]], log.action[rows[1:]]
    going_on = ~log.terminated[rows[:-1]]
    shares = [(acted[going_on & ((seen < 9) == first)] == 1).mean() for first in (True, False)]
    assert shares[0] > 0.8
    assert shares[1] < 0.2


def test_logged_episodes_are_cut_off_where_a_queue_has_no_row():
    log = Log.from_columns(
        observation=[0, 1, 2, 0, 1], action=[0, 0, 0, 0, 1], reward=[0.0] * 5, next_observation=[1, 2, 3, 1, 3],
        terminated=[False, False, True, False, True], propensity=[[0.5, 0.5]] * 5,
    )  # fmt: skip
    policy = policy_of(log)
    supply = policy.supply(np.array([1]))
    assert policy.logged(np.array([0]), supply, 9).rows.tolist() == [0]
    assert policy.logged(np.array([1, 0]), policy.supply(np.array([0, 1])), 2).rows.tolist() == [3, 4, 0, 1]
    assert policy.reach(supply, np.array([0])) == 1
    # An episode that draws an action without rows is cut off in the same way.
    lengths = {policy.simulated(np.array([1]), 1, 9, seed).lengths[0] for seed in range(20)}
    assert lengths == {0, 1, 2}


def test_a_supply_that_would_not_suffice_halves_the_number_of_episodes(log):
    policy = policy_of(log)
    few, others = np.arange(40), np.arange(100, 400)
    assert policy.affordable(policy.supply(np.arange(100, 400)), np.arange(100), 100) == 100
    assert policy.affordable(policy.supply(few), others, 160) <= 40


def test_rows_are_served_again_where_a_queue_is_empty(log):
    assert policy_of(log).simulated(np.arange(10), 10, 200, seed=0).again > 0


def test_the_time_limit_of_the_log_holds_and_truncated_rows_go_on():
    log = record(Grid(3, slip=0.2), episodes=300, seed=0, max_episode_steps=5)
    found = policy_of(log).simulated(np.arange(300), 100, 200, seed=0)
    assert found.lengths.max() == 5
    last = found.starts[1:] - 1
    assert log.truncated[np.setdiff1d(found.rows, found.rows[last])].any()


@pytest.mark.parametrize(("time", "row"), [(-5, 3), (3, 3), (5, 3), (7, 8), (8, 8), (30, 20)])
def test_the_nearest_row_in_time(time, row):
    lookup = Lookup(np.array([0, 0, 3, 3]), np.array([3, 8, 20]))
    assert nearest(lookup, 1, time) == row
    assert nearest(lookup, 0, time) == nearest(lookup, 2, time) == nearest(lookup, -1, time) == -1
