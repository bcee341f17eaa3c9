"""A walk through tables of two states, by hand."""

import numpy as np
import pytest

from understudy.contracts.finite_tables import Tables
from understudy.contracts.streams import streams_of
from understudy.simulators.kernels import layout, real
from understudy.simulators.kernels.layout import EMPTY

STAY, GO = np.array([1.0, 0.0]), np.array([0.0, 1.0])


@pytest.fixture
def walk():
    """Action 0 stays; action 1 goes from state 0 to state 1, and from there to the end. State 1 emits 5 or 6."""
    tables = Tables(
        start=np.array([1.0, 1.0]),
        outcome=np.ones((2, 2, 1)),
        next_state=np.array([[[0], [1]], [[1], [0]]], np.int32),
        reward=np.array([[[0.0], [1.0]], [[2.0], [3.0]]]),
        terminated=np.array([[[False], [False]], [[False], [True]]]),
        emission=np.array([[1.0, 1.0], [0.5, 1.0]]),
        observation=np.array([[4, 4], [5, 6]], np.int32),
    )
    cursor = np.zeros(layout.N_CURSOR, np.int64)
    cursor[layout.EPISODE_OVER] = 1
    state_of, code_of = np.arange(7, dtype=np.int32) * 10, np.arange(7, dtype=np.int32) * 100
    return real.TableWalk(tables, state_of, code_of, np.zeros(layout.N_RULES, np.int64), streams_of(0), cursor)


def test_an_episode_begins_in_a_start_state_and_shows_its_observation(walk, form):
    assert form(real.begin)(walk) == 4
    cursor = walk.cursor
    assert (cursor[layout.LATENT], cursor[layout.STATE], cursor[layout.CODE]) == (0, 40, 400)
    assert (cursor[layout.EPISODES_OPENED], cursor[layout.EPISODE_OVER]) == (1, 0)


def test_steps_follow_the_tables(walk, form):
    form(real.begin)(walk)
    first = form(real.step)(walk, GO)
    assert first.emission in (5, 6)
    assert first == (EMPTY, first.emission, 1, 1.0, False, False)
    assert walk.cursor[layout.LATENT] == 1
    second = form(real.step)(walk, STAY)
    assert (second.action, second.reward, second.terminated) == (0, 2.0, False)
    third = form(real.step)(walk, GO)
    assert (third.emission, third.reward, third.terminated) == (4, 3.0, True)
    assert (walk.cursor[layout.EPISODE_OVER], walk.cursor[layout.STEPS_SERVED]) == (1, 3)


def test_a_state_emits_each_of_its_observations(walk, form):
    seen = [form(real.enter)(walk, 1) for _ in range(200)]
    # a fair coin: 5 standard errors are 35
    assert abs(seen.count(5) - 100) < 35
    assert seen.count(5) + seen.count(6) == 200
    assert walk.cursor[layout.CODE] == 100 * seen[-1]


def test_the_time_limit_truncates(walk, form):
    walk.rules[layout.TIME_LIMIT] = 2
    form(real.begin)(walk)
    assert [form(real.step)(walk, STAY).truncated for _ in range(2)] == [False, True]
    assert walk.cursor[layout.EPISODE_OVER] == 1
