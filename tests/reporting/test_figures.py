import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from understudy.evaluation.earnings import SHARE
from understudy.reporting import figures
from understudy.reporting.charts import probe_chart, returns_chart
from understudy.reporting.drawing import looks_of
from understudy.reporting.measurements import measure
from understudy.reporting.svg import INK, PALETTE, inline_svg
from understudy.runs import About, Runs


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


def marks_of(axes):
    """What a still figure marks: where gray begins, diamonds, triangles, and thin lines from top to bottom."""
    triangles = [path.get_offsets()[0, 0] for path in axes.collections if path.get_zorder() == 9]
    lines = [float(line.get_xdata()[0]) for line in axes.lines if line.get_linewidth() == 0.9]
    return {
        "gray": [float(patch.get_x()) for patch in axes.patches if patch.get_alpha() == 0.11],
        "trusted": sorted(float(line.get_xdata()[0]) for line in axes.lines if line.get_marker() == "D"),
        "longest": sorted(map(float, triangles)),
        "exact": sorted(lines),
    }


def test_still_and_interactive_figures_mark_the_same_horizons(halved_of, on_ladder):
    ladder = on_ladder(halved_of([380] * 8, [240] * 4, level=1.0), {250: 1})
    measured = measure({"psrs": halved_of([400] * 7 + [390], [120] * 4), "ladder": ladder}, margin=0.3)
    chart = probe_chart("chart-1", measured.finished, "g", measured)
    still = figures.learning_curves(
        measured.finished, "g", None, trusted=measured.trusted("g"), rungs=measured.rungs, share=SHARE
    ).axes[0]
    live = {name: sorted(one[name] for one in chart["sets"] if one[name]) for name in ("trusted", "exact", "longest")}
    assert marks_of(still) == live | {"gray": [max(live["trusted"])]}
    assert live == {"trusted": [120, 240], "exact": [250], "longest": [380, 400]}
    assert still.get_xlim() == (0, pytest.approx(1.03 * 400))


def test_what_episodes_earned_beyond_the_believed_one_is_gray_in_both_figures(halved_of):
    measured = measure({"psrs": halved_of([400] * 8, [120] * 4, log_return=0.0, log_return_error=0.1)}, margin=0.3)
    trusted = measured.trusted_episodes()
    assert trusted == {"psrs": 24}  # an episode takes five steps, and step 120 can be believed
    chart = returns_chart("chart-1", measured.finished, None, 0.0, trusted)
    assert [one["trusted"] for one in chart["sets"]] == [24]
    marks = marks_of(figures.episode_returns(measured.finished, trusted=trusted, share=SHARE).axes[0])
    assert (marks["gray"], marks["trusted"]) == ([24], [24])
    assert marks_of(figures.episode_returns(measured.finished, share=SHARE).axes[0])["gray"] == []


def test_where_nothing_can_be_believed_all_of_both_figures_is_gray(halved_of):
    measured = measure({"psrs": halved_of([400] * 8, [400] * 4, shift=5.0, log_return=0.0)}, margin=0.3)
    assert measured.trusted("g") == measured.trusted_episodes() == {"psrs": 0}
    live = (
        probe_chart("chart-1", measured.finished, "g", measured),
        returns_chart("chart-2", measured.finished, None, 0.0, measured.trusted_episodes()),
    )
    assert [one["trusted"] for chart in live for one in chart["sets"]] == [0, 0]
    still = figures.learning_curves(measured.finished, "g", trusted=measured.trusted("g"), share=SHARE).axes[0]
    assert (marks_of(still)["gray"], marks_of(still)["trusted"]) == ([0], [])
    still = figures.episode_returns(measured.finished, trusted={"psrs": 0}, share=SHARE).axes[0]
    assert (marks_of(still)["gray"], marks_of(still)["trusted"]) == ([0], [])


def test_what_episodes_earned_goes_on_until_the_last_run_has_stopped(run_of):
    runs = Runs(tuple(run_of(length, {}) for length in (100, 100, 300)))
    drawn = figures.episode_returns({"psrs": runs}, share=SHARE).axes[0]
    chart = returns_chart("chart-1", {"psrs": runs}, None, None)
    assert drawn.get_xlim()[1] == pytest.approx(1.03 * 60)
    assert chart["sets"][0]["longest"] == 60


def test_single_decisions_are_called_so(run_of):
    about = About(log_rows=200, log_episodes=200)
    chart = returns_chart("chart-1", {"replay": Runs((run_of(100, {}),), about)}, None, None)
    assert (chart["title"], chart["unit"]) == ("return of a decision", "decision")
