from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from understudy.encoders import Function, Identity
from understudy.encoders.state_audit import MOST_DRAWN
from understudy.envs import ContinuousGrid, CounterGrid
from understudy.logs import Log, read
from understudy.reporting.state_pictures import (
    MOST_LABELS,
    MOST_POINTS,
    OTHER_COLOR,
    SUSPICIOUS_COLOR,
    draw_on_page,
    picture,
    states,
)
from understudy.reporting.svg import drawn_alike, inline_svg


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
    n = MOST_DRAWN + 50
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


def in_boxes(n_states, n=40_000, rare=3):
    """The audit of a plane with so many states; state 0 has a few points."""
    rng = np.random.default_rng(0)
    state = np.where(np.arange(n) < rare, 0, 1 + np.arange(n) % (n_states - 1))
    some = Identity().audit(Log.from_columns(observation=[0, 1], action=[0, 0], reward=[0, 0], terminated=[True] * 2))
    return replace(
        some, state=np.arange(n_states), rows=np.bincount(state), suspicious=np.arange(n_states) % 3 == 0,
        p_value=np.full(n_states, 0.5), explained=np.zeros(n_states), merges=np.ones(n_states, bool), n_rows=n,
        sample_observation=rng.random((n, 2)), sample_state=state,
    )  # fmt: skip


def on_page(audit, width=900, height=640):
    with drawn_alike():
        ax = Figure(figsize=(width / 72, height / 72), dpi=72, layout="constrained").add_subplot()
        draw_on_page(ax, audit)
    return ax


@pytest.mark.parametrize(("n_states", "most"), [(25, 150_000), (400, 250_000), (2000, 250_000)])
def test_a_page_has_few_points_of_each_state_in_few_bytes(n_states, most):
    """A page has the picture twice: 300 kB for 25 states, 500 kB for any number of them."""
    audit = in_boxes(n_states)
    ax = on_page(audit)
    drawn = np.concatenate([line.get_xydata() for line in ax.lines])
    state = {tuple(point): at for point, at in zip(audit.sample_observation, audit.sample_state, strict=True)}
    counts = np.bincount([state[tuple(point)] for point in drawn])
    assert counts.sum() == len(drawn) == MOST_POINTS
    if n_states < MOST_POINTS:
        assert counts[0] == 3  # all of a rare state
        assert counts[1:].max() - counts[1:].min() <= 1
    assert {line.get_marker() for line in ax.lines} == {"o", "x"}
    assert len(inline_svg(ax.figure, "states")) < most


def test_what_is_drawn_is_there_as_data(merged, integers):
    found = picture(merged)
    points = np.column_stack([found["points"]["x"], found["points"]["y"]])
    drawn = np.concatenate([line.get_xydata() for line in on_page(merged).lines])
    assert (found["kind"], found["axes"]) == ("points", list(merged.axes))
    assert set(map(tuple, points)) == set(map(tuple, drawn))
    assert {one["state"] for one in found["states"]} == {int(text.get_text()) for text in on_page(merged).texts}
    assert [row[:2] for row in found["table"].rows] == [
        (str(state), merged.examples[state]) for state in range(9) if state in merged.examples
    ]
    bars = picture(integers)
    assert [one["rows"] for one in bars["states"]] == [bar.get_height() for bar in on_page(integers).patches]
    assert (bars["kind"], bars["points"]) == ("bars", None)
    many = picture(in_boxes(400))
    assert len(many["states"]) == len(many["table"].rows) == MOST_LABELS
    assert many["table"].notes == ("... and 340 more, of fewer rows",)


def test_names_of_bars_need_no_table_of_numbers():
    visits = {"page": ["home", "cart", "home", "search"] * 30, "action": [0, 1] * 60, "reward": [0.0] * 120}
    log = read(visits, observation="page", ends="every-row")
    home = log.observation[0]
    audit = Function(lambda x: np.where(np.asarray(x) == home, 0, 1)).audit(log)
    names = [label.get_text() for label in states(audit).get_yticklabels()]
    assert sorted(names) == ["page=cart", "page=home"]  # that of the state that merges nothing, too
    assert picture(audit)["table"] is None
    assert [one["example"] for one in picture(audit)["states"]] == names
