"""The tests by which states are told apart, merged and split."""

import numpy as np
import pytest
import torch

import understudy as us
from understudy.encoders.features import Features
from understudy.encoders.forecast import RowLoader, trained_forecast
from understudy.encoders.state_search import StateSearch
from understudy.encoders.training import split_rows


@pytest.fixture(scope="module")
def search():
    """A log of three strips; the reward of action 1 comes with probability .2, .2 and .8."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    n = 20_000
    x, action = rng.random((n + 1, 1)), rng.integers(2, size=n)
    strip = (3 * x[:-1, 0]).astype(int)
    reward = (rng.random(n) < np.array([0.2, 0.2, 0.8])[strip]) * (action == 1)
    log = us.Log.from_columns(
        observation=x[:-1], next_observation=x[1:], action=action, reward=reward, terminated=np.zeros(n, bool)
    )
    loader = RowLoader(log, Features.of(log.observation), torch.device("cpu"))
    rows, held = split_rows(log, 0.3, "episodes", 0)
    options = {
        "seed": 0, "steps": 300, "batch_size": 256, "width": 32, "learning_rate": 3e-3, "patience": 10, "radius": 0.02,
    }  # fmt: skip
    net, _ = trained_forecast(loader, rows, held, options, lambda done: None)
    return StateSearch(loader, net, held, options), strip


def test_rows_from_which_the_same_follows_are_alike_and_others_are_not(search):
    searching, strip = search
    first, second, third = (searching.held[strip[searching.held] == place] for place in range(3))
    assert searching._alike(first, second)
    assert not searching._alike(first, third)


def test_alike_is_seldom_denied_by_chance(search):
    """At a level of .001, ten denials in 200 would come about once in 10^12."""
    searching, strip = search
    rows = searching.held[strip[searching.held] == 0]
    rng = np.random.default_rng(1)
    denied = 0
    for _ in range(200):
        halves = np.split(rng.permutation(rows)[:200], 2)
        denied += not searching._alike(*halves)
    assert denied < 10


def test_rows_without_an_action_in_common_are_not_taken_to_be_alike(search):
    searching, _ = search
    action = searching.log.action[searching.held]
    assert not searching._alike(searching.held[action == 0], searching.held[action == 1])


def test_a_group_within_which_observations_predict_outcomes_is_insufficient(search):
    searching, strip = search
    merged = np.minimum(strip[searching.held], 1)  # the strip of .8 with one of .2
    assert searching._insufficient(searching.held, merged, range(2)).tolist() == [1]


def test_its_states_are_those_of_the_strips(search):
    searching, strip = search
    centers, states = searching.states()
    place = states[searching._nearest(searching.held, centers)]
    assert states.max() == 1
    assert np.mean(place == place[np.argmax(strip[searching.held] == 2)]) == pytest.approx(1 / 3, abs=0.03)
