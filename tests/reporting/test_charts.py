import json

import numpy as np
import pytest

from understudy.evaluation.curves import mean_curve
from understudy.reporting.charts import probe_chart, returns_chart
from understudy.reporting.drawing import MOST_POINTS, points_of_mean
from understudy.reporting.measurements import measure
from understudy.runs import Runs


def chart_of(sets, **options):
    measured = measure(sets, **options)
    return probe_chart("chart-1", measured.finished, "g", measured)


def test_a_chart_has_the_mean_bands_and_how_many_runs_each_reading_is_of(runs_of):
    runs = runs_of([100, 100, 100, 40])
    (one,) = chart_of({"psrs": runs})["sets"]
    curve = mean_curve(runs, "g", 0.9)
    assert one["x"] == curve.steps.tolist()
    assert one["mean"] == pytest.approx(curve.mean.tolist(), rel=1e-4)
    assert one["runs"] == [4] * 4 + [3] * 6
    assert one["complete"] == 40
    assert one["low"][4:] == [None] * 6  # beyond what is complete there is no band of the mean
    values = runs.curve("g")[1]
    assert one["median"] == pytest.approx(np.nanmedian(values, axis=0).tolist(), rel=1e-4)
    assert one["run_low"] == pytest.approx(np.nanquantile(values, 0.1, axis=0).tolist(), rel=1e-4)
    assert one["longest"] == 100
    assert one["going"]["share"] == [1, 0.75, 0]
    json.dumps(one, allow_nan=False)


def test_horizons_and_what_served_the_steps_are_there(halved_of, on_ladder):
    ladder = on_ladder(halved_of([100] * 8, [60] * 4), {40: 1, 70: 2}, cuts=[60])
    chart = chart_of({"ladder": ladder}, margin=0.3)
    (one,) = chart["sets"]
    assert (one["trusted"], one["exact"], one["longest"]) == (40, 40, 100)
    assert one["seen"] == 60
    assert set(one["rungs"]["shares"]) == {"own", "like", "reuse"}
    assert sum(one["rungs"]["shares"][rung][-1] or 0 for rung in one["rungs"]["shares"]) == pytest.approx(1)
    assert max(cut for cut in one["rungs"]["cut"] if cut is not None) > 0
    assert chart["rungs"]["like"]["words"] == "rows of states alike"


def long_runs(run_of, lengths):
    curves = {"g": lambda t: np.sin(t / 50.0)}
    return Runs(tuple(run_of(length, curves, seed=2**62 + place) for place, length in enumerate(lengths)))


def test_long_curves_are_thinned_but_not_at_their_horizon(run_of):
    runs = long_runs(run_of, [30_000, 30_000, 29_470])
    (one,) = chart_of({"psrs": runs})["sets"]
    assert len(one["x"]) <= MOST_POINTS + 20
    assert {one["complete"], 30_000} <= set(one["x"])
    assert one["complete"] == 29_470
    assert 29_480 in one["x"]  # the reading after the edge


def test_of_many_sets_fewer_readings_are_kept_but_never_less_at_the_horizon(run_of):
    lengths = [20_000, 20_000, 12_340]
    sets = {
        f"set {n}": Runs(tuple(run_of(length, {"g": lambda step: step % 70}) for length in lengths)) for n in range(10)
    }
    chart = probe_chart("chart-1", sets, "g", measure(sets))
    for one in chart["sets"]:
        assert len(one["x"]) <= points_of_mean(10) + 20
        assert {12_330, 12_340, 12_350} <= set(one["x"])


def test_the_last_reading_of_each_single_run_stays(run_of):
    runs = long_runs(run_of, [30_000, 12_340, 29_470, 5])
    single = chart_of({"psrs": runs})["sets"][0]["single"]
    assert [None if last is None else last[0] for last in single["last"]] == [30_000, 12_340, 29_470, None]
    assert single["seeds"][0] == str(2**62)  # as a text, since JavaScript would round it
    assert max(map(len, single["values"])) <= 150


def test_colors_are_those_of_the_still_figures(runs_of, real_of):
    sets = {f"set {n}": runs_of([40] * 3) for n in range(8)} | {"real": real_of([90] * 3)}
    colors = {one["name"]: one["color"] for one in chart_of(sets)["sets"]}
    assert colors["real"] == 0
    assert [colors[f"set {n}"] for n in range(8)] == [1, 2, 3, 4, 5, 6, 7, 1]


def test_returns_are_drawn_by_episodes_beside_what_the_log_earned(runs_of):
    chart = returns_chart("chart-2", {"psrs": runs_of([40] * 3)}, None, 0.25)
    (one,) = chart["sets"]
    assert chart["unit"] == "episode"
    assert chart["logged"] == 0.25
    assert one["x"] == list(range(1, 9))
    assert one["trusted"] is None
    assert one["single"]["last"][0] == [8, 0]


def test_the_chart_of_returns_has_the_share_of_runs_with_more_episodes(runs_of):
    chart = returns_chart("chart-1", {"psrs": runs_of([40, 40, 80])}, None, None)
    (one,) = chart["sets"]  # an episode takes five steps
    assert one["going"] == {"x": [0, 8, 16], "share": [1, 0.33333, 0]}
