"""How rewards are made up of the two parts, read from the log."""

import numpy as np
import pytest

from understudy.encoders.exogenous_rewards import ColumnEffect, reward_parts, shares
from understudy.encoders.exogenous_sample import SplitSample
from understudy.errors import LogError

NAMES = ("place", "weather")


def parts_of(log, repeats=False, rounded=False):
    before, after = log.observation, log.next_observation
    if rounded:
        before, after = (np.column_stack([x[:, 0], np.clip(np.round(x[:, 1]), -2, 2)]) for x in (before, after))
    return reward_parts(SplitSample(log, before, after, NAMES), [0], [1], 0.01, repeats=repeats)


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_rewards_of_the_endogenous_part_are_the_rows_own(walk_and_weather, noise):
    for seed in range(4):
        found = parts_of(walk_and_weather(seed, noise=noise))
        assert (found.form, found.effects, found.refusal) == ("own", (), None)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_what_the_weather_adds_is_found_before_and_after_the_step(walk_and_weather, noise):
    log = walk_and_weather(0, reward=lambda z, w, z1, w1: (z1 == 4) + 0.5 * w1 - 0.2 * w**2, noise=noise)
    found = parts_of(log)
    assert found.form == "additive"
    weather = np.linspace(-2, 2, 9)
    columns = np.column_stack([np.zeros(9), weather])
    leaving, arriving = shares(found.effects, columns, NAMES)
    tolerance = 1e-9 if not noise else 0.2  # some four standard errors at the ends
    assert np.ptp(leaving + 0.2 * weather**2) < tolerance
    assert np.ptp(arriving - 0.5 * weather) < tolerance


def test_strata_without_noise_decide_where_others_have_it(walk_and_weather):
    """A reward of chance at one place only: estimated effects must not leave a trace of the weather elsewhere."""
    chance = np.random.default_rng(0)

    def pay(z, w, z1, w1):
        return (z == 2) * chance.integers(2, size=len(z)) + 0.5 * w1

    found = parts_of(walk_and_weather(4, reward=pay))
    assert found.form == "additive"
    _, arriving = shares(found.effects, np.column_stack([np.zeros(9), np.linspace(-2, 2, 9)]), NAMES)
    assert np.ptp(arriving - 0.5 * np.linspace(-2, 2, 9)) < 1e-6


def test_values_that_are_few_have_an_effect_each(walk_and_weather):
    worth = {-2: 0.3, -1: -1.0, 0: 2.0, 1: 0.0, 2: 0.7}
    log = walk_and_weather(
        1, reward=lambda z, w, z1, w1: z1 + np.vectorize(worth.get)(np.clip(np.round(w1), -2, 2)).astype(float)
    )
    found = parts_of(log, rounded=True)
    assert found.form == "additive"
    _, arriving = shares(found.effects, np.column_stack([np.zeros(5), np.arange(-2, 3)]), NAMES)
    assert np.ptp(arriving - list(worth.values())) < 1e-9


def product(z, w, z1, w1):
    return z1 * np.clip(np.round(w1), -2, 2)


def test_a_product_is_a_table_where_values_repeat_and_refused_elsewhere(walk_and_weather):
    log = walk_and_weather(2, reward=product)
    assert parts_of(log, repeats=True, rounded=True).form == "table"
    for found in (parts_of(log, rounded=True), parts_of(log)):
        assert found.form is None
        assert "the reward depends on weather together with the endogenous part" in found.refusal


def test_a_table_of_rewards_that_vary_is_refused(walk_and_weather):
    found = parts_of(walk_and_weather(3, reward=product, noise=0.1), repeats=True, rounded=True)
    assert found.form is None


def test_a_value_that_was_never_seen_has_no_effect_to_use():
    effect = ColumnEffect(1, True, (0.0, 2.0), (0.5, -0.5))
    assert effect.of(np.array([2.0, 0.0]), "weather").tolist() == [-0.5, 0.5]
    with pytest.raises(LogError, match=r"weather is 1\.0"):
        effect.of(np.array([0.0, 1.0]), "weather")


def test_effects_are_plain_values_in_json():
    assert ColumnEffect(1, True, (0.0, 2.0), (0.5, -0.5)).to_json()["values"] == [0.0, 2.0]
    assert ColumnEffect(1, False, None, (1.0, 0.0, 0.0), 3.0, 2.0).to_json()["center"] == 3.0
