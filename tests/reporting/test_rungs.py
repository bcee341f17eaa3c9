from itertools import pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from understudy.evaluation import rung_use
from understudy.reporting import figures
from understudy.reporting.drawing import looks_of
from understudy.reporting.rungs import (
    COLORS,
    LABELS,
    any_cut,
    draw_cut,
    draw_exact_words,
    draw_strip,
    strips_height,
    used,
)
from understudy.reporting.svg import inline_svg


@pytest.fixture
def axes():
    return Figure().add_subplot()


def gray(color):
    return float(np.dot(to_rgb(color), (0.299, 0.587, 0.114)))


def test_shades_differ_without_color():
    shades = sorted(map(gray, COLORS.values()))
    assert min(np.diff(shades)) > 0.15
    assert list(COLORS) == list(LABELS)


def test_a_strip_is_stacked_to_a_hundred_percent(runs_of, on_ladder, axes):
    draw_strip(axes, rung_use(on_ladder(runs_of([100] * 2), {40: 1, 80: 2}), bins=10))
    own, like, reuse = (patch.get_data() for patch in axes.patches)
    assert own.values.tolist() == [100] * 4 + [0] * 6
    assert like.baseline.tolist() == own.values.tolist()
    assert like.values.tolist() == [100] * 8 + [0] * 2
    assert reuse.values.tolist() == [100] * 10
    assert axes.get_ylim() == (0, 100)


def test_the_panel_of_episodes_cut_has_a_line_for_each_set(runs_of, on_ladder, axes):
    found = {
        "a": rung_use(on_ladder(runs_of([100]), {}, cuts=[95]), bins=10),
        "b": rung_use(on_ladder(runs_of([100]), {}, cuts=[]), bins=10),
    }
    draw_cut(axes, found, looks_of(found, None))
    one, other = (patch.get_data().values for patch in axes.patches)
    assert one.tolist() == pytest.approx([0] * 9 + [100 / 3])
    assert not other.any()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0", "33"]


def test_without_a_cut_episode_there_is_no_panel_for_them(runs_of, on_ladder):
    with_cut = {"a": rung_use(on_ladder(runs_of([100]), {50: 1}, cuts=[60]))}
    without = {"a": rung_use(on_ladder(runs_of([100]), {50: 1}))}
    assert any_cut(with_cut)
    assert not any_cut(without)
    assert strips_height(with_cut, 900) > strips_height(without, 900) > strips_height({}, 900) == 0


def test_rungs_that_served_no_step_are_not_in_the_legend(runs_of, on_ladder):
    assert used({"a": rung_use(on_ladder(runs_of([100]), {50: 2}))}) == ["own", "reuse"]


def test_words_of_one_exact_horizon_are_written_once(runs_of, on_ladder, axes):
    one, other = (rung_use(on_ladder(runs_of([100]), {step: 1})) for step in (30, 80))
    axes.set_xlim(0, 100)
    draw_exact_words(axes, {"a": one, "b": other, "$x^$": one})
    first, second = axes.texts
    assert (first.get_text(), first.get_ha()) == ("exact to step 30: a, $x^$", "left")
    assert (second.get_text(), second.get_ha()) == ("exact to step 80: b", "right")  # else it would leave the figure


@pytest.mark.parametrize("width", [900, 380])
def test_a_learning_curve_on_a_ladder_has_a_strip_for_each_set_on_the_same_axis(width, runs_of, on_ladder):
    sets = {"a": on_ladder(runs_of([100] * 3), {40: 1}, cuts=[50]), "b": on_ladder(runs_of([80] * 3), {20: 2})}
    sets["psrs"] = runs_of([60] * 3)
    found = {name: rung_use(sets[name]) for name in ("a", "b")}
    figure = figures.learning_curves(sets, "g", rungs=found, width=width)
    main, going, one, other, cut = figure.axes
    assert [text.get_text() for text in main.texts] == ["exact to step 40: a", "exact to step 20: b"]
    assert (one.get_title(loc="left"), other.get_title(loc="left")) == ("a", "b")
    assert cut.get_title(loc="left") == "episodes cut, % of those that ended"
    assert all(panel.get_xlim() == main.get_xlim() for panel in (going, one, other, cut))
    FigureCanvasAgg(figure).draw()
    boxes = [panel.get_window_extent() for panel in (main, one, other, cut, going)]
    assert all(above.y0 > below.y1 for above, below in pairwise(boxes))
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == [LABELS["own"], LABELS["like"], LABELS["reuse"]]
    box = figure.legends[0].get_window_extent()
    assert boxes[0].y0 > box.y1
    assert box.y0 > boxes[1].y1
    assert box.x1 < width


def test_without_rungs_the_figure_is_the_same_byte_for_byte(runs_of):
    sets = {"psrs": runs_of([40, 60, 60])}
    one, other = figures.learning_curves(sets, "g"), figures.learning_curves(sets, "g", rungs={})
    assert inline_svg(one, "x") == inline_svg(other, "x")
    assert len(one.axes) == 2
