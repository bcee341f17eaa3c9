"""A learned split beside the true one: the same rows; and rewards that are read from the log."""

from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.encoders.exogenous_playing import Playing
from understudy.errors import LogError, SettingError
from understudy.simulators.splitting import CodedParts, require_pairs

ENV = us.envs.CounterGrid(6, size=3, slip=0.2)
ORACLES = {"split": ENV.split, "merge": ENV.merge, "reward": ENV.reward}
EVENLY = np.full(5, 0.2)


@pytest.fixture(scope="module")
def log():
    return us.record(ENV, episodes=200, seed=0)


@pytest.fixture(scope="module")
def split(log):
    return us.exogenous_split(log)


def test_the_counter_grid_without_its_oracle_serves_the_same_steps(log, split, play):
    learned, known = us.exo_psrs(log, split), us.exo_psrs(log, **ORACLES)
    for seed in range(5):
        one, other = (play(simulator, lambda t, x: EVENLY, seed) for simulator in (learned, known))
        assert one.steps == other.steps
        assert len(one.steps) > 1000
    assert us.exo_psrs(log, split=split).settings == learned.settings


def test_compiled_and_interpreted_runs_are_the_same(log, split):
    simulator = us.exo_psrs(log, split)
    runs = [
        us.simulate(simulator, us.learners.QLearning(54, 5, seed=1), 1, compiled=compiled) for compiled in (True, False)
    ]
    assert np.array_equal(runs[0].rows, runs[1].rows)
    assert np.array_equal(runs[0].emissions, runs[1].emissions)
    assert np.array_equal(runs[0].returns, runs[1].returns)


def paid_log(pay, seed=0):
    """The log with rewards of cells and counters, after the step."""
    log = us.record(ENV, episodes=200, seed=seed)
    return replace(log, reward=pay(*ENV.split(log.next_observation)).astype(float))


@pytest.mark.parametrize(
    ("form", "pay"),
    [
        ("own", lambda cell, counter: 1.0 * (cell == 8)),
        ("additive", lambda cell, counter: (cell == 8) + np.array([0.0, 5, 1, 2, 4, 3])[counter]),
        ("table", lambda cell, counter: cell * np.array([0.0, 5, 1, 2, 4, 3])[counter]),
    ],
)
def test_rewards_are_those_of_where_a_step_arrives(form, pay, play):
    log = paid_log(pay)
    split = us.exogenous_split(log)
    assert split.reward_form == form
    trace = play(us.exo_psrs(log, split), lambda t, x: EVENLY, 0)
    assert len(trace.steps) > 300
    for step in trace.steps:
        cell, counter = ENV.split(np.array([step.next_observation]))
        assert step.reward == pytest.approx(pay(cell, counter)[0], abs=1e-8)


def test_a_reward_that_is_not_known_ends_the_run(play):
    """A table with one arrival that was never logged."""
    log = paid_log(lambda cell, counter: cell * (counter + 1.0))
    split = us.exogenous_split(log)
    assert split.reward_form == "table"
    gone = log.next_observation == log.next_observation[40]
    episodes = np.flatnonzero(np.add.reduceat(gone, log.starts[:-1]) == 0)
    assert 20 < len(episodes) < log.n_episodes
    few = log.select(episodes)
    simulator = us.exo_psrs(few, split)
    stops = [play(simulator, lambda t, x: np.eye(5)[t % 5], seed).stop for seed in range(20)]
    unknown = [stop for stop in stops if stop.cause == "reward unknown"]
    assert unknown
    assert "its reward is not known" in unknown[0].reason


def test_parts_of_a_log_are_codes_and_examples(log, split):
    parts = CodedParts(log, split)
    z, c = parts.of(log.observation)
    assert np.array_equal(parts.merge(z, c), log.observation)
    assert [len(examples) for examples in parts.examples] == [9, 6]
    cell, counter = ENV.split(log.observation)
    assert len(set(zip(z, cell, strict=True))) == len(set(z))
    assert len(set(zip(c, counter, strict=True))) == len(set(c))


def test_a_split_of_another_log_serves_this_one(split, play):
    other = us.record(ENV, episodes=100, seed=9)
    one, known = us.exo_psrs(other, split), us.exo_psrs(other, **ORACLES)
    assert play(one, lambda t, x: EVENLY, 0).steps == play(known, lambda t, x: EVENLY, 0).steps


def test_a_counter_may_be_played_forward_too(log, split, play):
    onward = replace(split, playing=Playing("onward", False, True, "said"))
    trace = play(us.exo_psrs(log, onward), lambda t, x: EVENLY, 0)
    assert len(trace.steps) > 100
    for step in trace.steps:
        assert 0 <= step.next_observation < ENV.n_observations


def test_what_is_missing_or_refused_is_told(log, split):
    with pytest.raises(SettingError, match=r"us\.exogenous_split\(log\)"):
        us.exo_psrs(log)
    with pytest.raises(SettingError, match="merge="):
        us.exo_psrs(log, split=ENV.split)
    with pytest.raises(SettingError, match="leave merge="):
        us.exo_psrs(log, split, merge=ENV.merge)
    with pytest.raises(LogError, match="for a reason"):
        us.exo_psrs(log, replace(split, refusal="for a reason"))
    with pytest.raises(SettingError, match="too many"):
        require_pairs(10**5, 10**5)
