import numpy as np
import pytest

from understudy.envs.grid_tables import DOWN, LEFT, RIGHT, STAY, UP, cumulated, grid_tables, neighbors, rewards
from understudy.envs.solve import probabilities
from understudy.errors import SettingError


def plain(size=5, slip=0.0):
    return grid_tables(size, slip, following=np.zeros((1, 5), dtype=np.int64), opening=np.ones(1))


def test_each_action_leads_where_its_name_says():
    middle = neighbors(5)[12]
    assert (middle[STAY], middle[UP], middle[RIGHT], middle[DOWN], middle[LEFT]) == (12, 17, 13, 7, 11)


@pytest.mark.parametrize(
    ("cell", "blocked"), [(0, (DOWN, LEFT)), (4, (DOWN, RIGHT)), (20, (UP, LEFT)), (24, (UP, RIGHT)), (10, (LEFT,))]
)
def test_out_of_bounds_stays(cell, blocked):
    stays = np.flatnonzero(neighbors(5)[cell] == cell)
    assert set(stays) == {STAY, *blocked}


def test_only_the_goal_rewards():
    assert rewards(np.arange(25), 5).tolist() == [-0.1] * 24 + [1.0]


def test_a_grid_without_slip_has_one_outcome():
    tables = plain()
    assert tables.outcome.shape == (25, 5, 1)
    assert np.array_equal(tables.next_state[:24, :, 0], neighbors(5)[:24])


def test_slip_replaces_the_action_by_any_of_the_five():
    law = probabilities(plain(slip=0.25).outcome)[7]
    assert np.allclose(law, 0.75 * np.eye(5) + 0.05)


def test_nothing_is_taken_from_the_goal():
    tables = plain(slip=0.25)
    assert (tables.next_state[24] == 24).all()
    assert tables.terminated[24].all()
    assert not tables.reward[24].any()


def test_exactly_the_steps_into_the_goal_terminate():
    tables = plain()
    into = np.argwhere(tables.terminated[:24, :, 0])
    assert into.tolist() == [[19, UP], [23, RIGHT]]
    assert (tables.reward[:24][tables.terminated[:24]] == 1.0).all()


def test_an_impossible_last_outcome_is_never_picked():
    awkward = cumulated(np.array([1 / 3, 1 / 3, 1 / 3, 0.0]))
    assert awkward[2] == awkward[3] == 1.0


@pytest.mark.parametrize(
    ("size", "slip", "word"), [(1, 0.0, "size"), (5, -0.1, "slip"), (5, 1.1, "slip"), (5, np.nan, "slip")]
)
def test_an_impossible_size_or_slip_is_refused(size, slip, word):
    with pytest.raises(SettingError, match=word):
        plain(size, slip)
