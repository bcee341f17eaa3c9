from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from understudy.encoders import Function, Identity
from understudy.envs import ContinuousGrid, CounterGrid
from understudy.logs import Log, read
from understudy.reporting.state_pictures import MOST_BARS, OTHER_COLOR, SUSPICIOUS_COLOR, states


@pytest.fixture(scope="module")
def merged():
    """The audit of an oracle that takes one cell of nine for another."""
    grid = ContinuousGrid(size=3)
    log = Log.from_columns(**grid.rollout_cells(np.full((9, 5), 0.2), steps=12_000, seed=1))
    return Function(lambda x: np.where(grid.latent(x) == 5, 1, grid.latent(x))).audit(log)


@pytest.fixture(scope="module")
def integers():
    """The audit of 18 observations that are their own states."""
    env = CounterGrid(2, size=3)
    return Identity().audit(Log.from_columns(**env.rollout(np.full((env.n_observations, 5), 0.2), 50, seed=0)))


def test_two_dimensional_observations_are_points_and_suspicious_ones_crosses(merged):
    ax = states(merged)
    calm, crosses = ax.collections
    suspicious = np.isin(merged.sample_state, merged.state[merged.suspicious])
    assert np.array_equal(calm.get_offsets(), merged.sample_observation[~suspicious])
    assert np.array_equal(crosses.get_offsets(), merged.sample_observation[suspicious])
    assert len(np.unique(calm.get_facecolors(), axis=0)) == 6
    assert ax.get_title(loc="left").startswith("7 states, 1 suspicious (crosses)")


def test_each_state_is_named_among_its_points(merged):
    texts = {int(text.get_text()): text for text in states(merged).texts}
    assert set(texts) == set(merged.state.tolist())
    for state, text in texts.items():
        own = merged.sample_observation[merged.sample_state == state]
        assert np.abs(own - text.get_position()).max(axis=1).min() < 0.1
        assert (text.get_color() == SUSPICIOUS_COLOR) == (state == 1)


def test_observations_without_a_state_are_not_drawn(merged):
    some = np.where(np.arange(len(merged.sample_state)) < 10, -1, merged.sample_state)
    drawn = states(replace(merged, sample_state=some)).collections
    assert sum(len(points.get_offsets()) for points in drawn) == len(some) - 10


def test_other_observations_are_bars_of_rows_the_largest_first(integers):
    ax = states(integers)
    assert [bar.get_height() for bar in ax.patches] == sorted(integers.rows, reverse=True)
    assert {to_hex(bar.get_facecolor()) for bar in ax.patches} == {OTHER_COLOR}
    assert ax.get_title(loc="left") == f"{integers.n_states} states, none suspicious"
    orange = states(replace(integers, suspicious=integers.rows == integers.rows.max()))
    assert to_hex(orange.patches[0].get_facecolor()) == SUSPICIOUS_COLOR
    assert to_hex(orange.patches[-1].get_facecolor()) == OTHER_COLOR


def test_of_very_many_states_the_largest_are_drawn(integers):
    n = MOST_BARS + 50
    many = replace(
        integers, state=np.arange(n), rows=np.arange(1, n + 1), suspicious=np.zeros(n, bool), merges=np.ones(n, bool)
    )
    ax = states(many)
    assert [bar.get_height() for bar in ax.patches] == list(range(n, 50, -1))
    assert ax.get_xlabel() == "the 200 largest states"


def test_it_draws_into_axes_that_are_given(merged):
    left, right = Figure().subplots(1, 2)
    assert states(merged, ax=right) is right
    assert right.collections
    assert not left.collections
    assert right.spines["top"].get_visible()  # the style of given axes stays
    assert not states(merged).spines["top"].get_visible()


def test_states_of_several_observations_are_named_by_one_of_them():
    visits = {"page": ["home", "cart", "home", "search"] * 30, "action": [0, 1] * 60, "reward": [0.0] * 120}
    log = read(visits, observation="page", ends="every-row")
    audit = Function(lambda x: (np.asarray(x) > 0).astype(int)).audit(log)
    ax = states(audit)
    named = [text.get_text() for text in ax.get_yticklabels()]
    assert any(name.startswith("page=") for name in named)
    assert [bar.get_width() for bar in ax.patches] == sorted(audit.rows, reverse=True)
    assert ax.get_xlabel() == "rows"
