from understudy.reporting.forecasts import forecast_table
from understudy.reporting.measurements import measure
from understudy.tables import NONE
from understudy.trust import Forecast


def forecast(steps, low, high, **more):
    given = {"level": 0.9, "episodes": 5, "runs_out": {"state 3 has no row left": 0.6}, "pre_runs": 19, "n_limited": 0}
    return Forecast(steps=steps, interval=(low, high), **given | more)


def test_the_forecast_stands_beside_the_outcome(runs_of):
    sets = {"psrs": runs_of([30, 40, 50, 100]), "qbe": runs_of([40] * 3)}
    found = forecast_table(measure(sets, forecasts={"psrs": forecast(42, 35, 60), "gone": forecast(1, 1, 1)}))
    assert len(found.rows) == 1
    assert found.rows[0][:4] == ("psrs", "42", "35 to 60", "state 3 has no row left")
    assert found.values[0][4:6] == (45.0, 0.5)
    assert found.notes == ("The range, from 19 pre-runs with seeds of their own, was to hold 90% of runs.",)


def test_pre_runs_that_were_stopped_are_marked(runs_of):
    found = forecast_table(
        measure({"a": runs_of([40])}, forecasts={"a": forecast(40, 40, 40, n_limited=19, runs_out={})})
    )
    assert found.rows[0][1] == "≥ 40"
    assert found.rows[0][3] == NONE
    assert found.notes[1].startswith("≥: max_steps")


def test_without_forecasts_there_is_no_table(runs_of):
    assert forecast_table(measure({"a": runs_of([40])})) is None
