"""Which columns the action influences, and which move by themselves."""

from dataclasses import replace

import numpy as np
import pytest

from understudy.encoders.exogenous_sample import SplitSample
from understudy.encoders.exogenous_search import clearly_told, searched
from understudy.errors import LogError
from understudy.logs import Log

NAMES = ("place", "weather")


def sample_of(log, *more):
    """The log as a sample, with further columns, each a pair of values before and after the step."""
    before = np.column_stack([log.observation, *(pair[0] for pair in more)])
    after = np.column_stack([log.next_observation, *(pair[1] for pair in more)])
    names = (*NAMES, *(f"more {number}" for number in range(len(more))))
    return SplitSample(log, before, after, names)


def test_the_place_is_endogenous_and_the_weather_is_not(walk_and_weather):
    parts = searched(sample_of(walk_and_weather(0)), 0.05)
    assert (parts.endogenous, parts.exogenous, parts.refusal) == ((0,), (1,), None)
    assert [test.finds for test in parts.tests] == [True, False, False, False]


def test_a_logger_that_looks_at_the_weather_makes_no_difference(walk_and_weather):
    for seed in range(5):
        parts = searched(sample_of(walk_and_weather(seed, looks=True)), 0.05)
        assert (parts.endogenous, parts.exogenous) == ((0,), (1,)), seed


def test_an_action_that_ends_episodes_is_not_told_by_what_goes_on():
    """A counter in episodes that end sooner after one action: rows that go on for 8 steps are of the other one."""
    rng = np.random.default_rng(0)
    rows, counter = [], 0
    for episode in range(300):
        place, over = 0, False
        while not over:
            action = int(rng.integers(2))
            place = place + 1 if action else max(0, place - 1)
            over = place == 4
            rows.append(([max(0, place), counter % 7], action, over, episode))
            counter += 1
    observation = np.array([row[0] for row in rows], float)
    place = np.roll(observation[:, 0], 1)
    place[np.flatnonzero(np.diff([row[3] for row in rows], prepend=-1))] = 0
    before = np.column_stack([place, observation[:, 1]])
    after = np.column_stack([observation[:, 0], (observation[:, 1] + 1) % 7])
    log = Log.from_columns(
        observation=before, next_observation=after, action=[row[1] for row in rows], reward=np.zeros(len(rows)),
        terminated=[row[2] for row in rows], episode=[row[3] for row in rows], propensity=np.full((len(rows), 2), 0.5),
    )  # fmt: skip
    parts = searched(SplitSample(log, before, after, NAMES), 0.05)
    assert (parts.endogenous, parts.exogenous, parts.refusal) == ((0,), (1,), None)


def test_what_follows_from_an_endogenous_column_is_endogenous(walk_and_weather):
    """A second place that follows the first one a step later: no action moves it at once."""
    log = walk_and_weather(1)
    first = np.zeros(len(log), bool)
    first[log.starts[:-1]] = True
    lagged = np.where(first, 0.0, np.roll(log.observation[:, 0], 1))
    parts = searched(sample_of(log, (lagged, log.observation[:, 0])), 0.05)
    assert (parts.endogenous, parts.exogenous) == ((0, 2), (1,))


def test_weather_that_the_place_warms_is_endogenous_too(walk_and_weather):
    parts = searched(sample_of(walk_and_weather(2, warming=0.1)), 0.05)
    assert "none is exogenous" in parts.refusal
    assert parts.endogenous == (0, 1)


def test_weather_that_moves_the_place_is_refused_with_the_evidence(walk_and_weather):
    parts = searched(sample_of(walk_and_weather(3, wind=0.2)), 0.05)
    assert "moves the endogenous one" in parts.refusal
    assert "p = " in parts.refusal
    assert parts.tests[-1].finds


def test_beside_a_column_that_moves_the_place_another_may_be_exogenous(walk_and_weather):
    """Weather in five values moves the place, and a counter moves by itself."""
    log = walk_and_weather(3, wind=0.5, episodes=400)
    counter = np.tile(np.arange(30) % 7, 400)
    rounded = [np.clip(np.round(x), -2, 2) for x in (log.observation[:, 1], log.next_observation[:, 1])]
    before, after = (
        np.column_stack([x[:, 0], weather, count])
        for x, weather, count in zip(
            (log.observation, log.next_observation), rounded, (counter, (counter + 1) % 7), strict=True
        )
    )
    parts = searched(SplitSample(log, before, after, ("place", "weather", "counter")), 0.05)
    assert (parts.endogenous, parts.exogenous, parts.refusal) == ((0, 1), (2,), None)


def test_columns_that_are_named_are_tested_and_not_searched(walk_and_weather):
    sample = sample_of(walk_and_weather(4))
    assert searched(sample, 0.05, exogenous=[1]).refusal is None
    assert "the action influences place" in searched(sample, 0.05, exogenous=[0]).refusal
    warmed = searched(sample_of(walk_and_weather(4, warming=0.1)), 0.05, exogenous=[1]).refusal
    assert "weather does not move by itself" in warmed or "the action influences weather" in warmed
    blown = searched(sample_of(walk_and_weather(3, wind=0.2)), 0.05, exogenous=[1])
    assert "moves the endogenous one" in blown.refusal


def test_an_endogenous_part_that_never_repeats_is_refused(walk_and_weather):
    log = walk_and_weather(5)
    blurred = np.random.default_rng(0).uniform(0, 0.01, len(log) + 1)
    before, after = log.observation.copy(), log.next_observation.copy()
    before[:, 0] += blurred[:-1]
    after[:, 0] += blurred[1:]
    assert "rarely repeats" in searched(SplitSample(log, before, after, NAMES), 0.05).refusal


def test_ends_that_are_too_rare_to_be_tested_are_refused(walk_and_weather):
    """What the weather has to do with one end cannot be told, however often the other rows repeat."""
    log = walk_and_weather(5)
    alone = replace(log, terminated=np.arange(len(log)) == len(log) - 1, truncated=log.truncated.copy())
    alone.truncated.setflags(write=True)
    alone.truncated[-1] = False
    rare, common = log.observation.copy(), log.next_observation.copy()
    rare[-1, 0] = 9.0
    assert "what ends an episode cannot be told" in searched(SplitSample(alone, rare, common, NAMES), 0.05).refusal
    assert searched(SplitSample(log, rare, common, NAMES), 0.05).refusal is None


def test_a_log_without_influence_is_refused(walk_and_weather):
    log = walk_and_weather(6)
    sample = SplitSample(log, log.observation[:, 1:], log.next_observation[:, 1:], ("weather",))
    assert "no column tells" in searched(sample, 0.05).refusal


def test_a_first_look_sees_what_is_clear(walk_and_weather):
    assert clearly_told(sample_of(walk_and_weather(7, episodes=60))).tolist() == [True, False]


def test_the_propensities_of_all_actions_are_needed(walk_and_weather):
    log = walk_and_weather(8, episodes=20)
    names = ("observation", "action", "reward", "next_observation", "terminated", "truncated", "episode")
    bare = Log.from_columns(**{name: getattr(log, name) for name in names})
    with pytest.raises(LogError, match="propensities"):
        searched(sample_of(bare), 0.05)


def test_at_most_the_level_of_clean_logs_is_refused(walk_and_weather):
    """At 20%, 60 logs have more than 26 refused once in 3,000; twice the level would give 24 on average."""
    found = [searched(sample_of(walk_and_weather(seed, episodes=60, looks=seed % 2 == 0)), 0.2) for seed in range(60)]
    assert sum(parts.refusal is not None for parts in found) <= 26
