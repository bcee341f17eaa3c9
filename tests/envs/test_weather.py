import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from scipy.stats import kstest, spearmanr

from understudy.envs import Grid, WeatherGrid, record
from understudy.errors import SettingError


def log_of(episodes=150, **options):
    return record(WeatherGrid(3, **options), episodes=episodes, seed=0)


@pytest.mark.filterwarnings("ignore:.*infinity")
def test_it_is_a_gymnasium_environment():
    env = WeatherGrid(3, slip=0.2)
    check_env(env, skip_render_check=True)
    assert env.reset(seed=3)[0].tolist() == env.reset(seed=3)[0].tolist()


def test_weather_is_a_stationary_autoregression():
    """Each test errs once in ten thousand logs; weather without persistence is told apart."""
    log = log_of()
    before, after = log.observation[:, 2], log.next_observation[:, 2]
    opening = before[log.starts[:-1]]
    assert kstest(opening, "norm").pvalue > 1e-4
    assert kstest((after - 0.9 * before) / np.sqrt(0.19), "norm").pvalue > 1e-4
    assert kstest(after - before, "norm").pvalue < 1e-9
    ending = after[log.starts[1:-1] - 1]
    assert abs(spearmanr(opening[1:], ending).statistic) < 4 / np.sqrt(len(ending))


def test_it_may_go_on_through_resets():
    log = log_of(goes_on=True)
    opening, ending = log.observation[log.starts[1:-1], 2], log.next_observation[log.starts[1:-1] - 1, 2]
    assert kstest((opening - 0.9 * ending) / np.sqrt(0.19), "norm").pvalue > 1e-4


def test_the_agent_walks_as_in_the_grid_and_weather_pays():
    log, grid = log_of(effect=0.5), Grid(3)
    cells = WeatherGrid(3).cell(log.observation), WeatherGrid(3).cell(log.next_observation)
    tables = grid.tables()
    assert np.array_equal(tables.next_state[cells[0], log.action, 0], cells[1])
    paid = tables.reward[cells[0], log.action, 0] + 0.5 * log.next_observation[:, 2]
    assert np.allclose(log.reward, paid)
    assert np.array_equal(log.terminated, cells[1] == 8)


def test_wind_blows_to_the_left_in_good_weather_only():
    log = log_of(wind=0.5)
    right = log.action == 2
    for good in (True, False):
        rows = right & ((log.observation[:, 2] > 0) == good) & (log.observation[:, 0] == 1)
        moved = log.next_observation[rows, 0] - log.observation[rows, 0]
        assert set(moved) == ({-1.0, 1.0} if good else {1.0})


def test_a_limit_truncates_and_wrong_settings_are_refused():
    log = log_of(max_episode_steps=4)
    assert log.max_episode_steps == 4
    for wrong in ({"size": 1}, {"slip": 1.5}, {"persistence": -0.1}, {"wind": 2}):
        with pytest.raises(SettingError, match=next(iter(wrong))):
            WeatherGrid(**wrong)
