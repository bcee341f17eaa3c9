"""Plots draw on the axes they are given, or on new ones, and return them."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg

import understudy as us
from understudy.errors import SettingError
from understudy.reporting import plots
from understudy.reporting.svg import INK, PALETTE
from understudy.runs import Runs

HOSTILE = "<script>$x^$</script>"


@pytest.fixture(autouse=True)
def no_window():
    """Figures are drawn to memory, and closed after each test."""
    with matplotlib.rc_context():
        matplotlib.use("Agg")
        yield
        pyplot.close("all")


@pytest.fixture
def axes():
    from matplotlib.figure import Figure

    return Figure().add_subplot()


@pytest.fixture
def vectors(run_of):
    """Runs whose probe is a vector."""

    def runs(*values):
        return Runs((run_of(30, {"visits": lambda _: np.array(values)}),))

    return runs


def test_every_plot_returns_the_axes_it_was_given(runs_of, real_of, vectors, axes):
    runs, sets = runs_of([40, 60]), {"psrs": runs_of([40, 60]), "real": real_of([60, 60])}
    assert plots.learning_curves(runs, ax=axes) is axes
    assert plots.episode_returns(runs, ax=axes) is axes
    assert plots.differences(sets, reference="real", ax=axes) is axes
    assert plots.runs_still_going(runs, ax=axes) is axes
    assert plots.individual_runs(runs, ax=axes) is axes
    assert plots.final_vector(vectors(0.5, 0.5), "visits", ax=axes) is axes
    assert not pyplot.get_fignums()


def test_a_trusted_horizon_is_marked_in_the_sets_that_have_one(halved_of, runs_of, axes):
    sets = {"psrs": halved_of([100] * 8, [60] * 4), "bare": runs_of([100] * 3)}
    plots.learning_curves(sets, trusted={"psrs": 60, "bare": 0, "unknown": 10}, ax=axes)
    diamonds = [line for line in axes.lines if line.get_marker() == "D"]
    assert [diamond.get_xdata() for diamond in diamonds] == [[60]]
    assert diamonds[0].get_color() == PALETTE[0]


def test_every_plot_is_covered_here():
    drawn = {"learning_curves", "episode_returns", "differences", "runs_still_going", "individual_runs", "final_vector"}
    assert set(plots.__all__) == drawn | {"rungs", "states"}  # test_state_pictures.py has its tests
    assert us.plots is plots


def test_without_axes_a_new_figure_is_made_and_the_callers_style_restored(runs_of):
    before = matplotlib.rcParams.copy()
    one, other = plots.learning_curves(runs_of([40, 60])), plots.learning_curves(runs_of([40, 60]))
    assert one.figure is not other.figure
    assert one.figure.number in pyplot.get_fignums()  # so that notebooks show it
    assert matplotlib.rcParams == before


def test_curves_are_those_of_the_runs_by_the_first_probe(runs_of, axes):
    runs = runs_of([40, 40])
    plots.learning_curves(runs, ax=axes)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), runs.curve("g")[1].mean(axis=0))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("steps", "g")
    assert axes.get_legend() is None  # one set needs none


def test_a_curve_is_solid_as_far_as_nine_of_ten_runs_go_or_the_share_asked_for(runs_of, axes):
    runs = runs_of([40] + [60] * 9)
    solid, *_ = plots.learning_curves(runs, ax=axes).lines
    assert np.isfinite(solid.get_ydata()).sum() == 6
    solid = plots.learning_curves(runs, share=1.0, ax=axes.figure.add_subplot()).lines[0]
    assert np.isfinite(solid.get_ydata()).sum() == 4


def test_the_legend_names_the_reference_first_and_reads_no_name_as_math(runs_of, real_of, axes):
    sets = {HOSTILE: runs_of([40] * 2), "real": real_of([40] * 2), "none": Runs(())}
    plots.learning_curves(sets, "g", reference="real", ax=axes)
    texts = axes.get_legend().get_texts()
    assert [text.get_text() for text in texts] == ["real", HOSTILE]
    assert not any(text.get_parse_math() for text in texts)
    FigureCanvasAgg(axes.figure).draw()  # would fail on a formula that is none
    axes.figure.clear()
    assert plots.learning_curves(sets, "g", legend=False, ax=axes).get_legend() is None


def test_returns_have_the_logs_own_as_a_gray_line(runs_of, axes):
    plots.episode_returns(runs_of([40] * 2), logged=0.25, ax=axes)
    assert [line.get_ydata() for line in axes.lines if len(set(line.get_ydata())) == 1][-1] == [0.25, 0.25]


def test_a_set_that_coincides_with_the_reference_is_a_line_at_zero(real_of, axes):
    real = real_of([50] * 3)
    plots.differences({"psrs": real, "real": real}, reference="real", ax=axes)
    (line,) = [line for line in axes.lines if line.get_color() == PALETTE[0] and line.get_marker() != "o"]
    assert np.allclose(line.get_ydata(), 0)


def test_differences_need_a_reference_that_is_there(runs_of, axes):
    with pytest.raises(SettingError, match="no reading of 'g' in a set named 'real'; there is a"):
        plots.differences({"a": runs_of([40])}, reference="real", ax=axes)


def test_runs_without_a_probe_cannot_be_drawn(runs_of, axes):
    with pytest.raises(SettingError, match="no probe to draw"):
        plots.learning_curves(runs_of([40], probe=None), ax=axes)


def test_the_share_going_falls_where_runs_stop(runs_of, axes):
    plots.runs_still_going(runs_of([40, 60]), ax=axes)
    steps, shares = axes.lines[0].get_data()
    assert steps.tolist() == [0, 40, 60]
    assert shares.tolist() == [100, 50, 0]


def test_individual_runs_are_at_most_thirty_beside_the_mean_of_a_reference(runs_of, real_of, axes):
    plots.individual_runs(runs_of([40] * 40), reference=real_of([50] * 2), epoch=10, ax=axes)
    assert np.isnan(axes.lines[0].get_ydata()).sum() == 30
    assert np.nanmax(axes.lines[0].get_xdata()) == 4
    assert axes.lines[1].get_color() == INK
    assert axes.get_xlabel() == "epochs"


def test_a_vector_is_bars_with_the_outline_of_a_reference_as_long(vectors, axes):
    plots.final_vector(vectors(0.4, 0.6), "visits", reference=vectors(0.2, 0.8), ax=axes)
    bars, outline = axes.patches
    assert bars.get_data().values.tolist() == [0.4, 0.6]
    assert outline.get_data().values.tolist() == [0.2, 0.8]
    plots.final_vector(vectors(0.4, 0.6), "visits", reference=vectors(1.0), ax=axes)
    assert len(axes.patches) == 3


def test_a_vector_is_known_from_its_final_reading_alone(run_of, axes):
    runs = Runs((run_of(5, {"visits": lambda t: np.ones(2) / 2}),))
    assert plots.mean_final_vector(runs, "visits").tolist() == [0.5, 0.5]
    scalar = Runs((run_of(5, {"g": float}),))
    assert plots.mean_final_vector(scalar, "g") is None
    with pytest.raises(SettingError, match="'g' are not vectors of one length"):
        plots.final_vector(scalar, "g", ax=axes)


def test_importing_the_room_loads_neither_matplotlib_nor_jinja_nor_arrow():
    code = "import sys, understudy.reporting; assert not {'matplotlib', 'jinja2', 'pyarrow'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("plot", [plots.learning_curves, plots.episode_returns, plots.runs_still_going])
def test_what_are_not_runs_is_refused(plot, runs_of, axes):
    with pytest.raises(us.ContractError, match="runs is a list; give runs, or a mapping of names to runs"):
        plot([runs_of([40])], ax=axes)
    with pytest.raises(us.ContractError, match="'a' is a list; give the Runs of an experiment"):
        plot({"a": [runs_of([40])]}, ax=axes)


def test_states_are_drawn_by_a_plot_too():
    from understudy.reporting import state_pictures

    assert us.plots.states is state_pictures.states


def test_rungs_are_drawn_as_shares_of_steps_with_the_exact_horizon(runs_of, on_ladder, axes):
    runs = on_ladder(runs_of([100] * 3), {40: 1, 70: 2})
    assert plots.rungs(runs, ax=axes) is axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "own rows of the state", "rows of states alike", "rows served before",
    ]  # fmt: skip
    assert axes.lines[0].get_xdata()[0] == 40
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_ylim()) == ("steps", "steps served, %", (0, 100))
    assert axes.spines["left"].get_visible()  # the style of axes stays yours
    assert plots.rungs(runs, legend=False, ax=pyplot.figure().add_subplot()).get_legend() is None
    with pytest.raises(SettingError, match="no lower rungs to draw"):
        plots.rungs(runs_of([100] * 3))
