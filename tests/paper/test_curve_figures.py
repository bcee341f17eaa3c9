import numpy as np
import pytest

from paper.curve_figures import ARROWS, curves_by_case, evaluation_and_simulation, paired_looks, ranges, with_zoom
from understudy.contracts import Stop
from understudy.runs import Run, Runs


def lines(length, level=0.0):
    """Three runs whose probe g is a rising line, read every ten steps."""
    steps, none = np.arange(10, length + 1, 10), np.empty(0)
    curves = [{"g": level + offset + steps / 100} for offset in (-0.1, 0.0, 0.1)]
    return Runs(
        tuple(
            Run(0, np.arange(length), none, None, none, none, steps, curve, {}, Stop("max steps")) for curve in curves
        )
    )


def test_every_box_of_the_first_figure_is_in_its_table_and_log_and_policy_both_feed_the_estimator():
    figure, boxes = evaluation_and_simulation()
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert set(boxes["box"]) <= texts
    rows = [dict(zip(boxes, row, strict=True)) for row in zip(*boxes.values(), strict=True)]
    at = {row["box"]: row for row in rows if row["lane"] == "evaluation"}
    starts = [begin for begin, (x, _), *_ in ARROWS if x == at["estimator"]["left"]]
    assert len(starts) == 2
    for box, (_, y) in zip(("log", "fixed policy"), starts, strict=True):
        assert 0 < y - at[box]["top"] < 54


def test_ranges_draws_a_panel_for_each_case_from_zero_and_prints_middles():
    columns = {
        "strip": ["one"] * 4,
        "panel": ["a", "a", "b", "b"],
        "set": ["PSRS", "QBE"] * 2,
        "middle": [1.0, 2.0, 3.0, 4.0],
        "low": [0.5, 1.5, 2.5, 3.5],
        "high": [1.5, 2.5, 3.5, 4.5],
    }
    alike = ranges(columns, unit="steps").axes
    assert [axes.get_title(loc="left") for axes in alike] == ["a", "b"]
    assert alike[0].get_xlim() == alike[1].get_xlim()
    assert alike[0].get_xlim()[0] == 0
    assert "2" in {text.get_text() for text in alike[0].texts}  # the middle of QBE, printed


def test_ranges_with_an_exact_value_are_drawn_minus_it_on_one_axis_a_strip():
    columns = {
        "strip": ["one"] * 2,
        "panel": ["a", "b"],
        "set": ["PSRS"] * 2,
        "middle": [1.0, 3.0],
        "low": [0.5, 2.5],
        "high": [1.5, 3.5],
        "exact": [1.2, 3.4],
    }
    a, b = ranges(columns, unit="value").axes
    assert a.get_xlim() == b.get_xlim()
    drawn = [line.get_xdata() for line in b.lines]
    assert np.allclose(drawn[1], [-0.9, 0.1])
    assert np.allclose(drawn[2], [-0.4])
    assert b.get_title(loc="left") == "b\nexact (line): 3.400"


def test_a_zoom_shows_those_that_are_close_by_epochs_and_keeps_their_colors():
    sets = {"PSRS-a": lines(40), "random": lines(60, level=-50), "real": lines(100)}
    looks = paired_looks(sets, "real")
    figure = with_zoom(sets, "g", "real", close=["PSRS-a"], looks=looks, last=3)
    whole, _, zoom, apart = figure.axes
    colors = [{line.get_color() for line in axes.lines} for axes in (whole, zoom, apart)]
    assert looks["random"]["color"] in colors[0] - colors[1] - colors[2]
    assert looks["PSRS-a"]["color"] in colors[0] & colors[1] & colors[2]
    assert whole.get_xlim()[1] == pytest.approx(1.01 * 6)  # simulations end after six epochs, real runs later
    assert zoom.get_xlim()[1] == pytest.approx(1.01 * 3)
    assert zoom.get_ylim()[0] > -2
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["real", "PSRS-a", "random"]


def test_every_case_has_its_curves_and_beneath_them_differences():
    case = {"psrs": lines(40), "real": lines(50)}
    axes = curves_by_case({"one": case, "two": case}, "g", "real").axes
    assert [panel.get_title(loc="left") for panel in axes[::2]] == ["one", "two"]
    assert axes[1].get_shared_y_axes().joined(axes[1], axes[3])
