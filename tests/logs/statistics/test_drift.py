"""Rates: each test raises a false alarm in at most one log in 10,000, so that 100 clean logs raise none."""

import numpy as np
import pytest

from understudy.logs import Log
from understudy.logs.recurring import recurring
from understudy.logs.statistics.drift import reward_drift, units_of, visit_drift

RULES = (reward_drift, visit_drift)


def asked(rule, columns):
    log = Log.from_columns(**columns)
    return rule(log, recurring(log.observation))


@pytest.mark.parametrize("rule", RULES)
def test_clean_logs_raise_no_alarm(walk, rule):
    for seed in range(100):
        assert not asked(rule, walk(seed=seed)).findings


def test_rewards_that_depend_within_an_episode_are_no_drift(walk):
    for seed in range(50):
        columns = walk(seed=seed, episodes=200)
        kind = np.random.default_rng(seed).normal(size=200)
        assert not asked(reward_drift, columns | {"reward": columns["reward"] + 5 * kind[columns["episode"]]}).findings


def test_rewards_that_rise_are_found(walk):
    columns = walk(episodes=200)
    (finding,) = asked(reward_drift, columns | {"reward": columns["reward"] + columns["episode"] / 400}).findings
    assert finding.severity == "warning"
    assert finding.sentence.startswith("the mean reward of a row rises over 200 episodes")


def test_visits_that_change_are_found_and_the_observation_is_named(walk):
    columns = walk(episodes=400)
    late = (columns["episode"] >= 200) & (columns["observation"] < 6)  # half of the places move to one
    observation = np.where(late, 0, columns["observation"])
    (finding,) = asked(visit_drift, columns | {"observation": observation}).findings
    assert finding.sentence.startswith("the share of rows with observation=")


def test_numbers_that_do_not_recur_are_compared_by_their_means():
    rng = np.random.default_rng(0)
    n = 4000
    columns = {
        "observation": rng.normal(size=(n, 2)) + np.linspace([0.0, 0.0], [0.0, 1.0], n), "action": np.zeros(n, int),
        "reward": np.zeros(n), "ends": "every-row",
    }  # fmt: skip
    (finding,) = asked(visit_drift, columns).findings
    assert finding.sentence.startswith("the mean of observation_1 rises")
    assert asked(reward_drift, columns).tested.reason == "all of them are equal"


def test_dates_that_rise_are_no_drift_and_what_rises_beside_them_is():
    rng = np.random.default_rng(0)
    n = 2000
    days = np.datetime64("2026-03-01") + np.arange(n) // 40
    columns = {"action": np.zeros(n, int), "reward": np.zeros(n), "ends": "every-row"}
    page = rng.choice(["home", "cart"], n)
    assert not asked(visit_drift, columns | {"observation": {"day": days, "page": page}}).findings
    assert not asked(visit_drift, columns | {"observation": {"day": days}}).findings
    ages = rng.normal(size=n) + np.linspace(0, 1, n)
    (finding,) = asked(visit_drift, columns | {"observation": {"day": days, "age": ages}}).findings
    assert finding.sentence.startswith("the mean of age rises")


def test_units_are_episodes_or_blocks_of_rows_or_none(walk):
    many, few = (Log.from_columns(**walk(episodes=episodes)) for episodes in (60, 5))
    bounds, words = units_of(many)
    assert (bounds == many.starts).all()
    assert words == "60 episodes"
    assert units_of(few) is None
    rows = np.zeros(400, int)
    long = Log.from_columns(observation=rows, action=rows, reward=rows, ends="unfinished")
    assert len(units_of(long)[0]) == 31
