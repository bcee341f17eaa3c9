import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from understudy.reporting import figures
from understudy.reporting.drawing import looks_of
from understudy.reporting.svg import INK, PALETTE, inline_svg
from understudy.runs import Runs


def dashed(axes):
    return [line for line in axes.lines if line.get_linestyle() != "-" and line.get_marker() != "o"]


def test_a_mean_is_solid_up_to_the_horizon_and_dashed_beyond(runs_of):
    axes, going = figures.learning_curves({"psrs": runs_of([40, 60, 60])}, "g").axes
    solid, beyond, dot = axes.lines
    assert solid.get_xdata()[np.isfinite(solid.get_ydata())].tolist() == [10, 20, 30, 40]
    assert beyond.get_xdata()[np.isfinite(beyond.get_ydata())].tolist() == [40, 50, 60]
    assert dot.get_xdata() == [40]
    assert going.get_shared_x_axes().joined(axes, going)


def test_where_all_runs_go_to_the_end_nothing_is_dashed(runs_of):
    assert not dashed(figures.learning_curves({"psrs": runs_of([40, 40])}, "g").axes[0])


def test_the_reference_is_black_and_over_the_others(runs_of, real_of):
    axes = figures.learning_curves({"real": real_of([50] * 3), "psrs": runs_of([40] * 3)}, "g", "real").axes[0]
    black = [line for line in axes.lines if line.get_color() == INK and line.get_marker() != "o"]
    others = [line for line in axes.lines if line.get_color() != INK and line.get_marker() != "o"]
    assert black[0].get_zorder() > max(line.get_zorder() for line in others)


def test_differences_have_a_panel_where_a_set_that_coincides_with_the_reference_is_a_line_at_zero(runs_of, real_of):
    real = real_of([50] * 3)
    _, apart, _ = figures.learning_curves({"psrs": real, "real": real}, "g", "real", differences=True).axes
    assert apart.get_title(loc="left").startswith("minus the mean of real")
    (line,) = [line for line in apart.lines if line.get_color() == PALETTE[0] and line.get_marker() != "o"]
    assert np.allclose(line.get_ydata(), 0)
    assert len(apart.collections) == 2  # the band of the set, and that of the reference's noise
    assert len(figures.learning_curves({"psrs": real}, "g", differences=True).axes) == 2  # nothing to take off


def test_the_legend_names_every_set_and_covers_no_curve(runs_of):
    sets = {f"set {number}": runs_of([40] * 3) for number in range(9)}
    figure = figures.learning_curves(sets, "g", width=380)  # three names a row
    FigureCanvasAgg(figure).draw()
    legend = figure.legends[0]
    boxes = {text.get_text(): text.get_window_extent() for text in legend.get_texts()}
    assert sorted(boxes, key=lambda name: (-round(boxes[name].y0), boxes[name].x0)) == list(sets)  # row by row
    assert not legend.get_window_extent().overlaps(figure.axes[0].get_window_extent())


def test_more_sets_than_colors_are_told_apart_by_markers(runs_of):
    sets = {f"set {number}": runs_of([40] * 3) for number in range(9)}
    handles = figures.learning_curves(sets, "g").legends[0].get_lines()
    assert len({(line.get_color(), line.get_marker()) for line in handles}) == 9


def test_individual_runs_are_at_most_thirty_and_share_their_axes(runs_of, real_of):
    figure = figures.curves_of_runs({"real": real_of([50] * 40), "psrs": runs_of([40] * 3)}, "g", "real")
    real, psrs = figure.axes
    assert np.isnan(real.lines[0].get_ydata()).sum() == 30
    assert np.isnan(psrs.lines[0].get_ydata()).sum() == 3
    assert real.get_shared_y_axes().joined(real, psrs)


def test_the_panel_of_the_reference_is_first_and_looks_and_epochs_are_as_given(runs_of, real_of):
    sets = {"psrs": runs_of([40] * 3), "real": real_of([50] * 3)}
    looks = looks_of(["other", *sets], "real")
    figure = figures.curves_of_runs(sets, "g", "real", looks=looks, epoch=10, log_scale=True)
    real, psrs = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["real", "psrs"]
    assert psrs.lines[0].get_color() == PALETTE[1]
    assert np.nanmax(psrs.lines[0].get_xdata()) == 4
    assert (real.get_xlabel(), real.get_ylabel(), real.get_yscale()) == ("epochs", "g", "log")


def test_sets_without_the_probe_or_without_a_reading_are_passed_over(runs_of):
    sets = {"psrs": runs_of([40] * 3), "other": runs_of([40] * 3, probe="h"), "early": runs_of([5] * 3)}
    assert len(figures.curves_of_runs(sets, "g").axes) == 1
    assert figures.learning_curves(sets, "g").axes


def test_bars_are_the_mean_of_final_vectors_with_the_reference_outlined(run_of):
    one, other = (Runs((run_of(30, {"visits": lambda t, v=v: np.array(v)}),)) for v in ([0.2, 0.8], [0.4, 0.6]))
    figure = figures.visitation_bars({"real": one, "psrs": other}, "visits", "real")
    bars, outline = figure.axes[1].patches
    assert bars.get_data().values.tolist() == [0.4, 0.6]
    assert outline.get_data().values.tolist() == [0.2, 0.8]


def test_vectors_of_several_lengths_have_strips_of_their_own(run_of):
    sets = {str(n): Runs((run_of(30, {"visits": lambda t, n=n: np.ones(n) / n}),)) for n in (2, 5)}
    assert [len(axes.patches) for axes in figures.visitation_bars(sets, "visits", "2").axes] == [1, 1]


@pytest.mark.parametrize("draw", [figures.learning_curves, figures.curves_of_runs])
@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "$x^$", "a\nb\x00c", "n" * 200, ""])
def test_any_name_can_be_drawn(runs_of, draw, name):
    text = inline_svg(draw({name: runs_of([40, 50], probe=name)}, name, width=380), "a figure")
    assert "<script" not in text
