import numpy as np
import pytest

from understudy.encoders import Identity
from understudy.envs import CounterGrid
from understudy.errors import LogError
from understudy.logs import Log


def test_a_picture_is_written(merged, tmp_path):
    figure = merged.plot(tmp_path / "states.png")
    assert (tmp_path / "states.png").read_bytes().startswith(b"\x89PNG")
    axes = figure.axes[0]
    assert {text.get_text() for text in axes.texts} == {str(state) for state in merged.state}
    assert axes.get_title(loc="left").startswith("7 states, 1 suspicious")
    with pytest.raises(LogError, match="give a path that ends in"):
        merged.plot(tmp_path / "states.nonsense")


def test_other_observations_are_bars(tmp_path):
    env = CounterGrid(2, size=3)
    log = Log.from_columns(**env.rollout(np.full((env.n_observations, 5), 0.2), 50, seed=0))
    audit = Identity().audit(log)
    assert len(audit.plot().axes[0].patches) == audit.n_states
    assert len(audit.points) == 0


def test_rare_states_are_drawn_as_well_as_common_ones(merged):
    counts = np.bincount(merged.point_state)
    assert counts[counts > 0].min() > 200
    assert len(merged.points) == len(merged.point_state) <= len(merged.rows) * 20_000
