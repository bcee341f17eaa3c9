"""Splits of observations, learned from a log: what they are, what they refuse, and what they hand to a simulator."""

import json
from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.encoders.exogenous_split import column_numbers, exogenous_split
from understudy.errors import ContractError, LogError, SettingError
from understudy.logs import Log


@pytest.fixture(scope="module")
def split(walk_and_weather):
    return exogenous_split(walk_and_weather(0))


@pytest.fixture(scope="module")
def counted():
    env = us.envs.CounterGrid(6, size=3)
    return env, us.record(env, episodes=150, seed=1)


def test_columns_are_split_and_the_result_says_by_what(split):
    assert split.ok
    assert (split.endogenous, split.exogenous, split.base) == ((0,), (1,), None)
    assert str(split).startswith("endogenous: observation_0; exogenous: observation_1\n")
    assert "played forward" in str(split)
    assert "tell which action was taken? yes" in str(split)
    assert "observation_0" in split._repr_html_()


def test_it_is_plain_values_in_json_and_a_line_for_each_test_in_a_frame(split, walk_and_weather):
    priced = exogenous_split(walk_and_weather(1, reward=lambda z, w, z1, w1: z1 + w1))
    for one in (split, priced, exogenous_split(walk_and_weather(2, wind=0.3))):
        assert json.loads(json.dumps(one.to_json()))["names"] == ["observation_0", "observation_1"]
        assert one.to_frame().num_rows == len(one.tests)
    assert len(priced.to_json()["effects"]) == 2


def test_parts_are_taken_apart_and_joined_again(split):
    one, other = np.array([[1.0, 0.5], [2.0, 0.7]]), np.array([[3.0, -0.5], [4.0, -0.7]])
    inner, outer = split.parts(one)
    assert (inner.tolist(), outer.tolist()) == ([[1.0], [2.0]], [[0.5], [0.7]])
    assert split.joined(one, other).tolist() == [[1.0, -0.5], [2.0, -0.7]]
    assert split.joined(one, one).tolist() == one.tolist()
    assert one.tolist() == [[1.0, 0.5], [2.0, 0.7]]
    with pytest.raises(ContractError, match="2 columns"):
        split.parts(np.zeros((3, 5)))


def test_columns_of_small_integers_and_truth_values_are_split_too(counted):
    env, log = counted
    names = ("action", "reward", "terminated", "truncated", "episode", "propensity")
    for dtype in (np.int64, np.uint8):
        here, there = (
            np.column_stack(env.split(codes)).astype(dtype) for codes in (log.observation, log.next_observation)
        )
        kept = {name: getattr(log, name) for name in names}
        split = exogenous_split(Log.from_columns(observation=here, next_observation=there, **kept))
        assert (split.endogenous, split.exogenous, split.playing.how) == ((0,), (1,), "queues")
        assert split.joined(here, here).dtype == dtype


def test_codes_are_read_as_two_numbers(counted):
    env, log = counted
    split = exogenous_split(log)
    assert (split.base, split.endogenous, split.exogenous) == (9, (0,), (1,))
    codes = np.arange(env.n_observations)
    cell, counter = env.split(codes)
    inner, outer = split.parts(codes)
    assert np.array_equal(inner[:, 0], cell)
    assert np.array_equal(outer[:, 0], counter)
    merged = split.joined(codes, codes[::-1])
    assert np.array_equal(merged, env.merge(cell, counter[::-1]))
    assert merged.dtype == codes.dtype


def test_the_counter_may_be_the_lower_number(counted):
    env, log = counted
    cell, counter = env.split(log.observation)
    later = env.split(log.next_observation)
    turned = replace(log, observation=counter + 6 * cell, next_observation=later[1] + 6 * later[0])
    split = exogenous_split(turned)
    assert (split.base, split.endogenous, split.exogenous) == (6, (1,), (0,))


def test_codes_without_two_parts_are_refused():
    split = exogenous_split(us.record(us.envs.Grid(4, slip=0.2), episodes=60, seed=0))
    assert not split.ok
    assert "neither moves by itself" in str(split)
    with pytest.raises(LogError, match="neither moves by itself"):
        us.exo_psrs(us.record(us.envs.Grid(4, slip=0.2), episodes=60, seed=0), split)


def test_a_refused_split_is_a_sentence_with_its_evidence(walk_and_weather):
    split = exogenous_split(walk_and_weather(2, wind=0.3))
    assert str(split) == f"no split: {split.refusal}"
    assert "moves the endogenous one" in split.refusal
    assert "\n" not in split.refusal
    assert split.playing is None


def test_columns_are_named_by_name_or_number(walk_and_weather):
    log = walk_and_weather(3)
    for given in (["observation_1"], [1], "observation_1"):
        assert exogenous_split(log, exogenous=given).exogenous == (1,)
    for wrong in (["rain"], [5], [True], [], ["observation_0", 1]):
        with pytest.raises(SettingError, match="exogenous="):
            column_numbers(wrong, ("observation_0", "observation_1"))


def test_what_it_is_fitted_on_makes_no_difference(walk_and_weather):
    """Half of the episodes, the other half, and all of them: the same split, so runs may be on any of them."""
    log = walk_and_weather(4, episodes=300, reward=lambda z, w, z1, w1: (z1 == 4) + 0.5 * w1)
    logs = [log, log.select(np.arange(0, 300, 2)), log.select(np.arange(1, 300, 2))]
    splits = [exogenous_split(one) for one in logs]
    assert len({(split.endogenous, split.exogenous, split.reward_form, split.playing.how) for split in splits}) == 1
    shares = np.array([split.reward_shares(log.observation)[1] for split in splits])
    assert np.abs(shares - shares[:, :1] - (shares[0] - shares[0, 0])).max() < 1e-9


def test_a_seed_draws_the_episodes_of_a_long_log(walk_and_weather):
    log = walk_and_weather(5, episodes=700, steps=100)
    assert len(log) > 60_000
    one, again, other = (exogenous_split(log, seed=seed) for seed in (1, 1, 2))
    assert one.tests == again.tests
    assert one.tests != other.tests
    assert one.exogenous == other.exogenous == (1,)


def test_logs_that_cannot_be_split_are_refused(walk_and_weather, counted):
    log, codes = walk_and_weather(6), counted[1]
    with pytest.raises(ContractError, match="not a log"):
        exogenous_split("log.csv")
    with pytest.raises(LogError, match="too few"):
        exogenous_split(log.select([0, 1]))
    with pytest.raises(SettingError, match="level"):
        exogenous_split(log, level=0)
    with pytest.raises(SettingError, match="codes"):
        exogenous_split(codes, exogenous=["counter"])
    names = ("observation", "action", "reward", "terminated", "truncated", "episode", "propensity")
    with pytest.raises(LogError, match="next_observation="):
        exogenous_split(Log.from_columns(**{name: getattr(codes, name) for name in names}))
    one = replace(log, observation=log.observation[:, :1], next_observation=log.next_observation[:, :1])
    with pytest.raises(LogError, match="columns"):
        exogenous_split(one)


def test_codes_whose_counter_moves_the_place_are_refused_for_that():
    """In odd hours every step of two is to the left."""
    rng = np.random.default_rng(0)
    rows = []
    for episode in range(150):
        place, hour = int(rng.integers(5)), int(rng.integers(4))
        for step in range(30):
            action = int(rng.integers(3))
            move = -1 if hour % 2 and rng.random() < 0.5 else action - 1
            following, later = (place + move) % 5, (hour + 1) % 4
            rows.append((place + 5 * hour, action, following + 5 * later, step == 29, episode))
            place, hour = following, later
    observation, action, after, last, episode = (np.array(column) for column in zip(*rows, strict=True))
    log = Log.from_columns(
        observation=observation, action=action, reward=np.zeros(len(rows)), next_observation=after, truncated=last,
        terminated=np.zeros(len(rows), bool), episode=episode, propensity=np.full((len(rows), 3), 1 / 3),
    )  # fmt: skip
    split = exogenous_split(log)
    assert "(observation // 5) moves the endogenous one (observation % 5)" in split.refusal
