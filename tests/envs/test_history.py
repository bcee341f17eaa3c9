import numpy as np
import pytest

from understudy.envs import HistoryGrid
from understudy.errors import SettingError


def test_the_history_is_the_last_chosen_actions():
    env = HistoryGrid(length=2, slip=0.5)
    columns = env.rollout(np.full((900, 5), 0.2), 30, seed=1)
    digits = [columns["observation"] // 25 // 6**age % 6 for age in range(2)]
    for age, digit in enumerate(digits, start=1):
        early = columns["step"] < age
        assert not digit[early].any()
        later = np.flatnonzero(~early)
        assert np.array_equal(digit[later], columns["action"][later - age] + 1)


def test_it_has_a_code_for_every_history():
    assert [HistoryGrid(length).n_observations for length in range(4)] == [25, 150, 900, 5400]
    with pytest.raises(SettingError, match="length"):
        HistoryGrid(-1)


def test_a_terminal_observation_remembers_too():
    env = HistoryGrid(length=1, size=2)
    env.reset(seed=0)
    env.step(1)
    assert env.step(2)[:3] == (3 + 4 * 3, 1.0, True)
