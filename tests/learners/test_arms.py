"""The table of a bandit learner: which row an observation has, and which rewards it takes."""

import numpy as np
import pytest

from understudy.contracts.learning import BoundsRewards
from understudy.contracts.offering import offers
from understudy.encoders import Boxes, Identity
from understudy.errors import SettingError
from understudy.learners.arms import ArmTable, reward_limits
from understudy.logs import Log


def test_without_a_number_of_observations_all_share_a_row():
    table = ArmTable(3, None, None)
    assert table.shape == (1, 3)
    assert table.codes is None
    assert (table.row("anything"), table.rows(["a", "b"]).tolist()) == (0, [0, 0])


def test_with_one_each_has_a_row_and_an_encoder_tells_which():
    table = ArmTable(3, 5, None)
    assert (table.shape, table.row(4), table.rows([4, 0]).tolist()) == ((5, 3), 4, [4, 0])
    with pytest.raises(SettingError, match="outside the learner's table of 5"):
        table.row(5)
    boxes = ArmTable(3, 2, Boxes(edges=[[0.5]]))
    assert [boxes.row(np.array([x])) for x in (0.1, 0.9)] == [0, 1]


def test_an_encoder_tells_the_number_of_its_states_or_it_is_asked_for():
    log = Log.from_columns(observation=[[0, 5], [1, 5], [0, 5]], action=[0, 1, 2], reward=[0, 1, 0], ends="every-row")
    table = ArmTable(3, None, Identity().fit(log))
    assert (table.shape, table.rows(log.observation).tolist()) == ((2, 3), [0, 1, 0])
    with pytest.raises(SettingError, match=r"n_states.*fit it to the log first, or give n_observations="):
        ArmTable(3, None, Identity())


@pytest.mark.parametrize(("n_actions", "n_observations"), [(0, None), (2.5, None), (3, 0), (2, 2**28)])
def test_sizes_that_cannot_be(n_actions, n_observations):
    with pytest.raises(SettingError):
        ArmTable(n_actions, n_observations, None)


def test_a_reward_outside_of_the_range_is_refused():
    table = ArmTable(2, None, None)
    assert table.checked_reward(1e9) == 1e9
    table.reward_range = (0.0, 1.0)
    assert offers(table, BoundsRewards)
    assert table.checked_reward(0.25) == 0.25
    for reward in (-0.1, 2, np.nan):
        with pytest.raises(SettingError, match=r"takes rewards from 0 to 1; give it reward_range="):
            table.checked_reward(reward)


@pytest.mark.parametrize("reward_range", [(1, 0), (2, 2), 3, (1, 2, 3), (0, np.inf), ("a", "b")])
def test_a_range_is_a_smaller_and_a_larger_number(reward_range):
    with pytest.raises(SettingError, match="reward_range"):
        reward_limits(reward_range)
