"""How the exogenous part is played: from queues, or forward."""

import numpy as np
import pytest

from understudy.encoders.exogenous_playing import played
from understudy.encoders.exogenous_sample import SplitSample
from understudy.logs import Log

EPISODES, STEPS = 200, 20


def sample_of(paths, place=None, propensity=None):
    """A log whose second column has these values, (episodes, steps + 1), and whose first says nothing."""
    values = np.asarray(paths, float)
    place = np.zeros_like(values) if place is None else place
    n = EPISODES * STEPS
    before, after = (
        np.column_stack([place[:, cut].ravel(), values[:, cut].ravel()]) for cut in (slice(0, -1), slice(1, None))
    )
    log = Log.from_columns(
        observation=before, next_observation=after, action=np.zeros(n, int), reward=np.zeros(n),
        truncated=np.tile(np.arange(STEPS) == STEPS - 1, EPISODES), terminated=np.zeros(n, bool),
        episode=np.repeat(np.arange(EPISODES), STEPS), n_actions=2,
        propensity=np.full((n, 2), 0.5) if propensity is None else propensity,
    )  # fmt: skip
    return SplitSample(log, before, after, ("place", "value"))


def autoregression(rng, shape, first=None):
    values = np.empty(shape)
    values[:, 0] = rng.normal(size=shape[0]) if first is None else first
    for step in range(1, shape[1]):
        values[:, step] = 0.9 * values[:, step - 1] + np.sqrt(0.19) * rng.normal(size=shape[0])
    return values


def onward(rng, gap):
    """One autoregression over all episodes; an opening is `gap` steps after the last value."""
    n = EPISODES * (STEPS + gap) + 1
    series = autoregression(rng, (1, n))[0]
    return series[np.arange(EPISODES)[:, None] * (STEPS + gap) + np.arange(STEPS + 1)]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def counters(rng, period=8):
    return (rng.integers(period, size=EPISODES)[:, None] + np.arange(STEPS + 1)) % period


def test_values_that_repeat_have_queues(rng):
    assert played(sample_of(counters(rng)), [0], [1]).how == "queues"
    coins = rng.integers(2, size=(EPISODES, STEPS + 1))
    assert played(sample_of(coins), [0], [1]).how == "queues"


def test_values_with_a_memory_are_played_forward(rng):
    """Half a counter: whether it moves depends on whether it has just moved."""
    found = played(sample_of(counters(rng) // 2), [0], [1])
    assert found.how == "episodes"
    assert "earlier" in found.why


def test_an_autoregression_is_played_forward_the_longest_first(rng):
    found = played(sample_of(autoregression(rng, (EPISODES, STEPS + 1))), [0], [1])
    assert (found.how, found.longest_first) == ("episodes", True)


def test_it_goes_on_through_resets_with_a_step_or_without(rng):
    for gap, moves in ((1, True), (0, False)):
        found = played(sample_of(onward(rng, gap)), [0], [1])
        assert (found.how, found.moves_at_reset) == ("onward", moves), gap
    assert played(sample_of(onward(rng, 30)), [0], [1]).how == "episodes"  # the reset is no step of it


def test_where_openings_depend_on_it_it_does_not_go_on_without_them(rng):
    values = onward(rng, 1)
    place = np.repeat(values[:, :1] > 0, STEPS + 1, axis=1).astype(float)
    found = played(sample_of(values, place=place), [0], [1])
    assert (found.how, found.longest_first) == ("episodes", False)


def test_a_counter_may_go_on_too():
    series = np.arange(EPISODES * (STEPS + 1)).reshape(EPISODES, STEPS + 1) % 8
    assert played(sample_of(series), [0], [1]).how == "onward"


def test_where_the_logger_looked_at_it_or_openings_depend_on_it_lengths_may_tell_of_it(rng):
    values = autoregression(rng, (EPISODES, STEPS + 1))
    share = np.where(values[:, :-1].ravel() > 0, 0.8, 0.3)
    looked = sample_of(values, propensity=np.column_stack([share, 1 - share]))
    opened = sample_of(values, place=np.repeat(values[:, :1] > 0, STEPS + 1, axis=1).astype(float))
    for sample in (looked, opened):
        found = played(sample, [0], [1])
        assert (found.how, found.longest_first) == ("episodes", False)


def test_wrong_modes_are_rare():
    """Each of three decisions errs once in a thousand times: 2 of 20 wrong would be seen once in 600."""
    how = [
        played(sample_of(autoregression(np.random.default_rng(seed), (EPISODES, STEPS + 1))), [0], [1])
        for seed in range(20)
    ]
    assert sum((found.how, found.longest_first) != ("episodes", True) for found in how) <= 1
