from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from understudy.reporting.axes import canvas, short_label, style_axes, style_log_scale, style_share_going


def labels(axis):
    FigureCanvasAgg(axis.figure).draw()
    return [text.get_text() for text in axis.get_ticklabels() if text.get_text()]


def test_axes_are_placed_by_pixels_from_the_upper_left_corner():
    figure, place = canvas(200, 100)
    axes = place(20, 10, 100, 50)
    assert tuple(figure.get_size_inches() * figure.dpi) == (200, 100)
    assert [round(x, 6) for x in axes.get_position().bounds] == [0.1, 0.4, 0.5, 0.5]
    assert place(20, 70, 100, 20, sharex=axes).get_shared_x_axes().joined(axes, figure.axes[1])


def test_ticks_are_few_and_have_commas_between_thousands():
    axes = Figure().add_subplot()
    axes.plot([0, 40_000], [-2000, 2000])
    style_axes(axes, 4)
    assert "20,000" in labels(axes.xaxis)
    assert len(labels(axes.xaxis)) <= 5
    assert "\N{MINUS SIGN}2,000" in labels(axes.yaxis)
    assert not any(axes.spines[side].get_visible() for side in ("top", "right", "left"))


def test_a_logarithmic_axis_has_round_numbers():
    axes = Figure().add_subplot()
    axes.plot([0, 1], [3, 400])
    style_log_scale(axes)
    assert {"5", "10", "100"} <= set(labels(axes.yaxis))


def test_shares_are_from_0_to_100_percent():
    axes = Figure().add_subplot()
    style_share_going(axes, 4)
    assert labels(axes.yaxis) == ["0", "50", "100"]


def test_a_label_is_one_line_and_not_longer_than_fits():
    assert short_label("a\nb\x00c  d", 60) == "a b c d"
    assert short_label("n" * 200, 10) == "n" * 9 + "…"
    assert short_label(7, 10) == "7"
