import numpy as np
import pytest

from understudy.envs import NoisyGrid
from understudy.errors import SettingError


def test_a_state_shows_its_cell_and_any_bits():
    env = NoisyGrid(bits=4)
    tables = env.tables()
    assert tables.observation.shape == (25, 16)
    assert tables.observation[3].tolist() == [3 + 25 * noise for noise in range(16)]
    assert (env.latent(tables.observation) == np.arange(25)[:, None]).all()


def test_bits_count_what_they_double():
    assert [NoisyGrid(bits).n_observations for bits in range(5)] == [25, 50, 100, 200, 400]
    with pytest.raises(SettingError, match="bits"):
        NoisyGrid(-1)
