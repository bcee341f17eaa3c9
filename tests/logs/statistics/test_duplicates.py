"""Rates: each test raises a false alarm in at most one log in 10,000, so that 100 clean logs raise none."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import understudy as us
from understudy.logs import Log
from understudy.logs.recurring import recurring
from understudy.logs.statistics.duplicates import _few_tail, duplicate_episodes, duplicate_rows


def asked(rule, log):
    return rule(log, recurring(log.observation))


def grid_log(seed=0, episodes=300, greedy=0.0, size=3):
    """A deterministic grid, on which short episodes are equal by chance, the more the greedier the logger."""
    policy = np.array([0.05, 0.4, 0.4, 0.1, 0.05]) * (1 - greedy) + greedy * np.array([0, 0.5, 0.5, 0, 0])
    return us.record(us.envs.Grid(size), lambda _: policy, episodes=episodes, seed=seed)


def with_copies(log, n, seed=0):
    rng = np.random.default_rng(seed)
    return log.select(rng.permutation(np.concatenate([np.arange(log.n_episodes), rng.permutation(log.n_episodes)[:n]])))


@pytest.mark.parametrize("greedy", [0.0, 1.0])
@pytest.mark.parametrize("known", [True, False])
def test_episodes_that_are_equal_by_chance_raise_no_alarm(greedy, known):
    for seed in range(30):
        log = grid_log(seed, greedy=greedy)
        log = log if known else replace(log, propensity=None)
        actions = {tuple(log.action[start:end]) for start, end in zip(log.starts[:-1], log.starts[1:], strict=True)}
        assert len(actions) < 290  # a rule against any equal pair would be wrong in every log
        assert not asked(duplicate_episodes, log).findings


def test_a_few_copies_of_unlikely_episodes_are_a_warning():
    (finding,) = asked(duplicate_episodes, with_copies(grid_log(size=5), 3)).findings
    assert finding.severity == "warning"
    assert finding.rule == "duplicate-episodes"


def test_many_copies_make_a_log_one_not_to_be_believed():
    log = with_copies(grid_log(size=5), 60)
    (finding,) = asked(duplicate_episodes, log).findings
    assert finding.severity == "doubt"
    assert finding.count >= 60
    starts = log.starts[:-1]
    assert set(finding.rows) <= set(starts.tolist())


def test_a_log_that_is_there_twice_is_found_without_propensities():
    log = replace(grid_log(size=5), propensity=None)
    assert not asked(duplicate_episodes, log).findings
    assert asked(duplicate_episodes, us.concatenate([log, log])).findings


def test_copies_of_one_step_episodes_are_found():
    rng = np.random.default_rng(0)
    n = 1000
    log = Log.from_columns(
        observation=rng.normal(size=(n, 2)), action=rng.integers(2, size=n), reward=rng.random(n).round(),
        propensity=np.full((n, 2), 0.5), ends="every-row",
    )  # fmt: skip
    assert not asked(duplicate_episodes, log).findings
    assert asked(duplicate_episodes, with_copies(log, 100)).findings


def test_rows_that_stand_twice_are_found_and_those_that_repeat_by_chance_are_not():
    rng = np.random.default_rng(0)
    for seed in range(50):
        stays = np.random.default_rng(seed).random(400) < 0.8  # long runs of equal rows
        place = np.cumsum(~stays)
        columns = {"observation": place, "action": np.zeros(400, int), "reward": np.zeros(400), "ends": "unfinished"}
        assert not asked(duplicate_rows, Log.from_columns(**columns)).findings
    action = rng.integers(3, size=200)
    twice = {"observation": np.cumsum(action), "action": action, "reward": rng.random(200).round()}
    log = Log.from_columns(**{name: np.repeat(column, 2) for name, column in twice.items()}, ends="unfinished")
    (finding,) = asked(duplicate_rows, log).findings
    assert finding.severity == "doubt"
    assert finding.rows[0] == 1


def with_one_observation(length, seed=0, episodes=400):
    """Clean episodes of so many steps, in which nearly every row is equal to the one before."""
    n = episodes * length
    action = (np.random.default_rng(seed).random(n) < 0.02).astype(int)
    columns = {
        "observation": np.zeros(n, int),
        "action": action,
        "reward": np.zeros(n),
        "terminated": np.arange(1, n + 1) % length == 0,
    }
    return Log.from_columns(**columns, propensity=np.tile([0.98, 0.02], (n, 1)))


@pytest.mark.parametrize("length", [2, 3, 4, 5, 10])
def test_runs_that_the_end_of_an_episode_cuts_raise_no_alarm(length):
    """The last row of an episode differs from the one before in its end only: that does not end a run by chance."""
    for seed in range(30):
        log = with_one_observation(length, seed)
        assert (log.action.reshape(-1, length) == 0).all(axis=1).mean() > 0.7  # each a run of `length` that is cut
        assert not asked(duplicate_rows, log).findings
        assert not asked(duplicate_rows, replace(log, terminated=log.truncated, truncated=log.terminated)).findings


def test_rows_that_stand_twice_are_found_in_short_episodes():
    log = with_one_observation(4)
    rng = np.random.default_rng(0)
    log = replace(log, reward=rng.random(len(log)))
    twice = np.repeat(np.arange(len(log)), 2)
    ends = np.append(False, log.terminated[twice][1:] & (twice[1:] == twice[:-1]))
    columns = {name: vars(log)[name][twice] for name in ("observation", "action", "reward", "propensity")}
    (finding,) = asked(duplicate_rows, Log.from_columns(**columns, terminated=ends)).findings
    assert finding.count == 3 * 400  # the copy of an episode's last row differs from it in its end
    assert finding.rows[:4] == (1, 3, 5, 9)


@pytest.mark.parametrize(
    ("n_hits", "n", "rate"), [(0, 20, 1.1e-5), (40, 100, 0.6), (60, 100, 1.0), (0, 0, 1.0), (9 * 10**5, 10**6, 1.0)]
)
def test_the_bound_on_few_hits(n_hits, n, rate):
    bound = _few_tail(n_hits, n)
    assert binom.cdf(n_hits, n, 0.5) <= bound <= rate


def test_the_bound_on_few_hits_holds_wherever_counting_stops():
    """Stopped where it is lowest, in 2,000 series of fair coins: more than 130 below .05 would be one in a thousand.

    The binomial tail, stopped there, is below .05 in far more.
    """
    hits = np.cumsum(np.random.default_rng(0).random((2000, 200)) < 0.5, axis=1)
    n = np.arange(1, 201)
    bound = {(h, k): _few_tail(h, k) for k in n.tolist() for h in range(k + 1)}
    lowest = np.array([min(bound[h, k] for h, k in zip(row, n.tolist(), strict=True)) for row in hits.tolist()])
    assert (lowest <= 0.05).sum() <= 130
    assert (binom.cdf(hits, n, 0.5).min(axis=1) <= 0.05).sum() > 300


def test_one_episode_is_not_asked_for_copies():
    log = Log.from_columns(observation=[0, 1], action=[0, 0], reward=[0, 0], ends="unfinished")
    assert asked(duplicate_episodes, log).tested.p_value is None
    assert asked(duplicate_rows, log).tested.p_value == 1.0


@pytest.mark.parametrize("ends", ["every-row", "terminated"])
def test_copies_are_found_among_decisions_with_text_in_their_observations(ends):
    rng = np.random.default_rng(0)
    n = 1000
    columns = {
        "country": np.array([f"c{at}" for at in range(20)])[rng.integers(20, size=n)],
        "minute": rng.integers(1440, size=n),
        "since": np.datetime64("2024-01-01") + rng.integers(365, size=n),
        "action": np.array(["a", "b"])[rng.integers(2, size=n)],
        "reward": rng.random(n).round(2),
        "p_a": np.full(n, 0.5),
        "p_b": np.full(n, 0.5),
    }

    def found(rows):
        table = {name: column[rows] for name, column in columns.items()} | {"visit": np.arange(len(rows))}
        episode = None if ends == "every-row" else "visit"
        names = ["country", "minute", "since"]
        return us.check(us.read(table, observation=names, propensity=["p_a", "p_b"], episode=episode, ends=ends))

    assert found(np.arange(n)).believable
    doubled = found(np.append(np.arange(n), rng.choice(n, 60, replace=False)))
    assert [finding.rule for finding in doubled.findings if finding.severity == "doubt"] == ["duplicate-episodes"]
