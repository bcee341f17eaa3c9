"""Rates: each test raises a false alarm in at most one log in 10,000, so that 100 clean logs raise none."""

from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.logs import Log
from understudy.logs.recurring import recurring
from understudy.logs.statistics.duplicates import duplicate_episodes, duplicate_rows


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


def test_one_episode_is_not_asked_for_copies():
    log = Log.from_columns(observation=[0, 1], action=[0, 0], reward=[0, 0], ends="unfinished")
    assert asked(duplicate_episodes, log).tested.p_value is None
    assert asked(duplicate_rows, log).tested.p_value == 1.0
