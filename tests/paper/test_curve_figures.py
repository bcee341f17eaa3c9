import numpy as np
import pytest

from paper.curve_figures import curves_by_case, paired_looks, with_zoom
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
