from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from understudy.evaluation.curves import mean_curve
from understudy.reporting.axes import canvas
from understudy.reporting.drawing import (
    MOST_BANDS,
    PALE,
    differences_of,
    draw_band,
    draw_differences,
    draw_legend,
    draw_mean,
    draw_share_going,
    draw_trusted,
    legend_height,
    looks_of,
    means_of,
    means_of_returns,
    reference_first,
)
from understudy.reporting.svg import INK, PALETTE, drawn_alike
from understudy.runs import Runs

LOOK = {"color": PALETTE[0], "linewidth": 2.0, "marker": ""}


@pytest.fixture
def axes():
    return Figure().add_subplot()


def test_a_mean_is_solid_where_complete_then_a_dot_then_dashed(runs_of, axes):
    draw_mean(axes, mean_curve(runs_of([40, 60, 60]), "g"), LOOK, 3)
    solid, dashed, dot = axes.lines
    assert solid.get_xdata()[np.isfinite(solid.get_ydata())].tolist() == [10, 20, 30, 40]
    assert dashed.get_xdata()[np.isfinite(dashed.get_ydata())].tolist() == [40, 50, 60]
    assert dot.get_xdata() == [40]
    assert len(axes.collections) == 1  # the band


def test_a_mean_has_no_band_where_none_is_asked_for(runs_of, axes):
    draw_mean(axes, mean_curve(runs_of([40, 40]), "g"), LOOK, 3, band=False)
    assert not axes.collections
    assert len(axes.lines) == 2  # nothing is dashed


def test_a_mean_is_pale_beyond_what_can_be_believed_and_its_parts_meet_there(runs_of, axes):
    curve = mean_curve(runs_of([40, 60, 60]), "g")
    draw_mean(axes, curve, LOOK, 3, trusted=25)
    firm, pale, dashed, _ = axes.lines
    assert firm.get_xdata().tolist() == [10, 20, 25]
    assert pale.get_xdata()[np.isfinite(pale.get_ydata())].tolist() == [25, 30, 40]
    assert firm.get_ydata()[-1] == pale.get_ydata()[0] == pytest.approx(np.interp(25, curve.steps, curve.mean))
    assert [line.get_alpha() for line in (firm, pale, dashed)] == [1.0, PALE, PALE]


def test_a_mean_that_cannot_be_believed_at_any_step_is_all_pale(runs_of, axes):
    draw_mean(axes, mean_curve(runs_of([40, 40]), "g"), LOOK, 3, trusted=0)
    drawn = [line for line in axes.lines if np.isfinite(line.get_ydata()).sum() > 1]
    assert {line.get_alpha() for line in drawn} == {PALE}
    assert min(line.get_xdata()[0] for line in drawn) == 10  # from the first reading on
    draw_mean(axes, mean_curve(runs_of([40, 40]), "g"), LOOK, 3, trusted=40)  # as far as it goes
    assert axes.lines[-2].get_alpha() is None


def test_more_sets_than_colors_differ_by_markers_and_the_reference_is_black():
    looks = looks_of([*map(str, range(9)), "real"], "real")
    assert len({(look["color"], look["marker"]) for look in looks.values()}) == 10
    assert looks["real"]["color"] == INK
    assert looks["0"]["linewidth"] > looks["8"]["linewidth"]  # earlier ones show beneath later ones


def test_the_reference_comes_first_and_others_keep_their_order(runs_of):
    sets = {name: runs_of([40]) for name in ("b", "a", "real")}
    assert list(reference_first(sets, "real")) == ["real", "b", "a"]
    assert list(reference_first(sets, None)) == ["b", "a", "real"]


def test_means_are_of_sets_with_readings_by_steps_or_epochs(runs_of):
    sets = {"a": runs_of([40]), "early": runs_of([5]), "other": runs_of([40], probe="h")}
    assert means_of(sets, "g")["a"].steps.tolist() == [10, 20, 30, 40]
    assert means_of(sets, "g", epoch=10)["a"].steps.tolist() == [1, 2, 3, 4]
    assert list(means_of(sets, "g")) == ["a"]


def test_differences_are_from_the_reference_and_have_bands_unless_they_are_many(runs_of, axes):
    sets = {"real": runs_of([40] * 3, noise=0), "a": runs_of([40] * 3, level=2.0, noise=0)}
    means = means_of(sets, "g")
    np.testing.assert_allclose(differences_of(means, "real")["a"].mean, 2.0)
    draw_differences(axes, means, "real", looks_of(sets, "real"))
    assert len(axes.collections) == 2  # of the set and of the reference
    many = {str(number): means["a"] for number in range(MOST_BANDS)} | {"real": means["real"]}
    other = Figure().add_subplot()
    draw_differences(other, many, "real", looks_of(many, "real"))
    assert len(other.collections) == 1


def test_the_share_going_is_by_steps_or_epochs(runs_of, axes):
    sets = {"a": runs_of([40, 60])}
    draw_share_going(axes, {name: runs.lengths for name, runs in sets.items()}, looks_of(sets, None), epoch=20)
    assert axes.lines[0].get_xdata().tolist() == [0, 2, 3]


def test_a_legend_reads_row_by_row_and_is_as_high_as_it_says():
    names = {f"set {number}": None for number in range(9)}
    figure, _ = canvas(380, 300)
    with drawn_alike():
        draw_legend(figure, names, looks_of(names, None), 380)
        FigureCanvasAgg(figure).draw()
    at = {text.get_text(): text.get_window_extent() for text in figure.legends[0].get_texts()}
    assert sorted(at, key=lambda name: (-round(at[name].y0 / 10), at[name].x0)) == list(names)
    assert figure.legends[0].get_window_extent().height <= legend_height(names, 380)
    draw_legend(figure, {}, {}, 380)
    assert len(figure.legends) == 1


def test_a_band_is_lighter_with_dashed_edges_where_the_luck_of_the_log_is_extrapolated(halved_of, axes):
    curve = means_of({"a": halved_of([100] * 8, [60] * 4)}, "g")["a"]
    draw_band(axes, curve, LOOK["color"], 2)
    seen, beyond = axes.collections
    assert (seen.get_alpha(), beyond.get_alpha()) == (0.18, 0.08)
    assert seen.get_datalim(axes.transData).x1 == 60
    assert (beyond.get_datalim(axes.transData).x0, beyond.get_datalim(axes.transData).x1) == (60, 100)
    assert [line.get_linestyle() for line in axes.lines] == ["--"] * 2
    assert axes.lines[0].get_xdata()[np.isfinite(axes.lines[0].get_ydata())].tolist() == [60, 70, 80, 90, 100]


def test_a_band_without_halves_is_one(runs_of, axes):
    draw_band(axes, means_of({"a": runs_of([40] * 3)}, "g")["a"], LOOK["color"], 2)
    assert len(axes.collections) == 1
    assert not axes.lines


def test_by_epochs_what_halves_reach_is_in_epochs_too(halved_of):
    assert means_of({"a": halved_of([100] * 8, [60] * 4)}, "g", epoch=20)["a"].reach == 3


def test_a_trusted_horizon_is_a_diamond_on_the_mean(runs_of, axes):
    curve = mean_curve(runs_of([40] * 3), "g")
    draw_trusted(axes, curve, 25, LOOK)
    line, diamond = axes.lines
    assert line.get_xdata() == [25, 25]
    assert diamond.get_xdata() == [25]
    assert diamond.get_ydata() == pytest.approx((curve.mean[1] + curve.mean[2]) / 2)


def test_returns_that_are_drawn_together_are_means_of_as_many_episodes(run_of):
    """Points stand at the last of their episodes: of larger groups, the same curve would look later."""

    def earning(n):
        return Runs(tuple(replace(run_of(5), ends=np.arange(n), returns=np.arange(float(n))) for _ in range(2)))

    means = means_of_returns({"long": earning(5000), "short": earning(1000), "none": earning(0)})
    assert list(means) == ["long", "short"]
    assert means["long"].steps[:3].tolist() == means["short"].steps[:3].tolist() == [20, 40, 60]
    assert means["long"].mean[0] == means["short"].mean[0] == np.arange(20).mean()
