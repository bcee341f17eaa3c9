"""Rates: each test raises a false alarm in at most one log in 10,000, so that 100 clean logs raise none."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import understudy as us
from understudy.logs import Log
from understudy.logs.findings import RATES
from understudy.logs.recurring import recurring
from understudy.logs.statistics.duplicates import (
    _by_action,
    _by_place,
    _episode_keys,
    _few_tail,
    duplicate_episodes,
    duplicate_rows,
)


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


POLICY = np.array([[0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25], [0.7, 0.1, 0.1, 0.1]])


def decisions(seed, order="drawn", chosen=False, n=4000, contexts=100):
    """Columns of a clean log of decisions, skewed in what it observes, of which three of four earn nothing."""
    rng = np.random.default_rng(seed)
    skewed = 1 / np.arange(1, contexts + 1)
    user = rng.choice(contexts, n, p=skewed / skewed.sum())
    if order == "visits":  # of two decisions, one right after the other
        user = np.repeat(user, 2)[:n]
    elif order == "seasons":  # each brings other users
        user = (user + 10 * (np.arange(n) // 400)) % contexts
    policy = POLICY[user % 3]
    action = (rng.random(n)[:, None] > policy.cumsum(axis=1)[:, :3]).sum(axis=1)
    reward = np.where((user * 7 + action * 3) % 5 == 0, user % 9 + 1.0, 0.0)  # the same whenever this user is met
    columns = {"observation": user, "action": action, "reward": reward, "time": 60.0 * np.arange(n)}
    columns["propensity"] = policy[np.arange(n), action] if chosen else policy
    if order == "by action":
        at = np.lexsort((rng.random(n), action))
    elif order == "by action each day":
        at = np.lexsort((rng.random(n), action, np.arange(n) // 400))
        columns["time"] = 86400.0 * (np.arange(n) // 400)
    else:
        return columns
    return {name: column[at] for name, column in columns.items() if order != "by action" or name != "time"}


def asked_of_rows(columns):
    return asked(duplicate_rows, Log.from_columns(**columns, ends="every-row"))


ORDERS = ("drawn", "visits", "seasons", "by action", "by action each day")


@pytest.mark.parametrize("chosen", [False, True])
def test_decisions_that_are_like_their_neighbors_by_chance_raise_no_alarm(chosen):
    """Of 30 logs in each order none is alarmed about, by the rate 1 of 10,000, and no more than four have p < .05, as
    one in twenty exceeds once in sixty. Neither way to tell chance would do alone: visits bring equal rows next to each
    other, and so does a file that is sorted by action."""
    alone = {order: np.zeros(2, int) for order in ORDERS}
    for order in ORDERS:
        p_values = []
        for seed in range(30):
            log = Log.from_columns(**decisions(seed, order, chosen), ends="every-row")
            answer = asked(duplicate_rows, log)
            assert not answer.findings
            p_values.append(answer.tested.p_value)
            tails = _by_action(log, log.observation).tail, _by_place(_episode_keys(log)).tail
            alone[order] += np.array(tails) < RATES["each test"]
        assert sum(p < 0.05 for p in p_values) <= 4
    assert alone["visits"].tolist() == [0, 30]
    assert alone["by action"].tolist() == [30, 0]
    assert alone["drawn"].tolist() == alone["seasons"].tolist() == [0, 0]


def excess_in(finding):
    """Return how many more than by chance it says there are."""
    found = re.search(r"about ([0-9,]+) more than chance explains", finding.sentence)
    assert found is not None
    return int(found[1].replace(",", ""))


def with_rows_twice(columns, share, seed=0):
    """Columns in which so many of the rows stand twice, one right after the other."""
    n = len(columns["action"])
    twice = np.random.default_rng(seed).choice(n, round(share * n), replace=False)
    return {name: column[np.sort(np.append(np.arange(n), twice))] for name, column in columns.items()}


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("chosen", [False, True])
@pytest.mark.parametrize("order", ["drawn", "visits", "seasons"])
def test_decisions_that_were_written_twice_are_found_and_counted(order, chosen, timed):
    """One of ten: a doubt in all of 20 logs. How many is told exactly with times; without, 4 standard errors are 130 of
    400 at most, and .05 of it are more than those of the mean of 20."""
    told = []
    for seed in range(20):
        columns = decisions(seed, order, chosen)
        if not timed:
            del columns["time"]
        (finding,) = asked_of_rows(with_rows_twice(columns, 0.1, seed)).findings
        assert finding.severity == "doubt"
        assert ("at the same time" in finding.sentence) == timed
        told.append(excess_in(finding))
    if timed:
        assert told == 20 * [400]
    else:
        assert max(abs(number - 400) for number in told) <= 130
        assert abs(np.mean(told) - 400) <= 0.08 * 400


def test_a_few_decisions_that_were_written_twice_are_a_warning():
    columns = decisions(0, n=20_000, contexts=400)
    (finding,) = asked_of_rows(with_rows_twice(columns, 0.01)).findings
    assert finding.severity == "warning"
    assert 200 <= finding.count < 300
    assert "keep what is equal by chance" in finding.sentence


def test_decisions_are_not_asked_for_copies_where_nothing_tells_chance():
    columns = with_rows_twice(decisions(0), 1.0)
    without = asked_of_rows(columns | {"propensity": None}).tested
    assert (without.p_value, without.comparisons) == (None, 0)
    assert "propensities are needed" in without.reason
    certain = columns | {"action": np.zeros(8000, int), "propensity": np.tile([1.0, 0.0], (8000, 1))}
    assert "actions were certain" in asked_of_rows(certain).tested.reason
    wrong = columns | {"propensity": np.tile([0.97, 0.01, 0.01, 0.01], (8000, 1))}
    tests = {test.rule: test for test in us.check(Log.from_columns(**wrong, ends="every-row")).tests}
    assert tests["propensity-frequency"].fires
    assert tests["duplicate-rows"].p_value is None


@pytest.mark.parametrize(
    ("share", "shuffled", "severity"), [(0.02, False, "warning"), (0.2, False, "doubt"), (0.2, True, "doubt")]
)
def test_episodes_that_are_equal_by_chance_are_not_counted_as_copies(share, shuffled, severity):
    """Copies next to their originals are counted nearly as they are; of others, no more are named than there are."""
    columns = decisions(0, n=10_000)
    del columns["time"]
    more = np.random.default_rng(1).integers(400, size=10_000)
    columns["observation"] = np.column_stack([columns["observation"], more])
    clean = Log.from_columns(**columns, ends="every-row")
    by_chance = len(clean) - len(np.unique(_episode_keys(clean)))
    assert by_chance > 1500
    assert not asked(duplicate_episodes, clean).findings
    log = Log.from_columns(**with_rows_twice(columns, share), ends="every-row")
    log = log.select(np.random.default_rng(2).permutation(len(log))) if shuffled else log
    (finding,) = asked(duplicate_episodes, log).findings
    assert (finding.count, finding.severity) == (by_chance + round(share * 10_000), severity)
    assert 0.4 * share <= excess_in(finding) / 10_000 <= share + 0.0003
    assert shuffled or excess_in(finding) / 10_000 >= share - 0.0003
    assert "keep what is equal by chance" in finding.sentence


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
