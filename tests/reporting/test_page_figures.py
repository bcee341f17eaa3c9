from understudy.reporting.measurements import measure
from understudy.reporting.page_figures import figures_of
from understudy.runs import Runs


def test_every_figure_that_can_be_moved_has_data_of_its_own(runs_of):
    found = figures_of(measure({"a": runs_of([40] * 3), "b": runs_of([40] * 3, probe="h")}), {})
    assert [figure["chart"] for figure in found.curves] == ["chart-1", "chart-2"]
    assert found.returns["chart"] == "chart-3"
    assert [chart["id"] for chart in found.charts] == ["chart-1", "chart-2", "chart-3"]
    assert [chart["title"] for chart in found.charts] == ["g", "h", "return of an episode"]
    assert all(figure["chart"] is None for figure in found.runs)


def test_figures_are_drawn_for_a_desk_and_for_a_phone(runs_of):
    (figure,) = figures_of(measure({"a": runs_of([40] * 3)}), {}).curves
    assert 'viewBox="0 0 900 ' in figure["wide"]
    assert 'viewBox="0 0 380 ' in figure["narrow"]


def test_runs_without_a_reading_have_no_chart_and_it_is_said_why(run_of):
    found = figures_of(measure({"a": Runs((run_of(4, {"g": float}),))}), {})
    assert not found.charts
    assert "every run stopped before its first reading" in found.skipped[0]
