from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.evaluation.curves import (
    MOST_SHOWN,
    difference,
    has_readings,
    is_scalar,
    mean_curve,
    return_curve,
    shares_going,
)
from understudy.runs import Runs


def test_the_mean_is_complete_up_to_the_horizon_and_no_further(runs_of):
    curve = mean_curve(runs_of([40, 60, 60, 60]), "g")
    assert curve.horizon == 40
    assert curve.steps[curve.complete].tolist() == [10, 20, 30, 40]
    assert np.isfinite(curve.half_width).tolist() == curve.complete.tolist()
    assert np.isfinite(curve.mean).all()


def test_the_band_is_1_96_standard_errors_over_runs(runs_of):
    runs = runs_of([30] * 5)
    _, values = runs.curve("g")
    np.testing.assert_allclose(mean_curve(runs, "g").half_width, 1.96 * values.std(axis=0, ddof=1) / np.sqrt(5))


@pytest.mark.parametrize(("n_runs", "drawn"), [(10, False), (30, False), (1, True)])
def test_one_survivor_is_not_drawn_unless_there_was_one_run(runs_of, n_runs, drawn):
    curve = mean_curve(runs_of([50] + [20] * (n_runs - 1)), "g")
    assert np.isfinite(curve.mean[-1]) == drawn


def test_fewer_than_half_of_the_runs_are_not_drawn(runs_of):
    curve = mean_curve(runs_of([20] * 5 + [40] + [60] * 4), "g")
    assert np.isfinite(curve.mean).tolist() == [True, True, True, True, False, False]


def test_a_missing_reading_makes_a_point_incomplete_but_not_the_next(run_of):
    gap = run_of(30, {"g": lambda t: np.nan if t == 20 else 1.0})
    curve = mean_curve(Runs((gap, run_of(30, {"g": float}), run_of(30, {"g": float}))), "g")
    assert curve.complete.tolist() == [True, False, True]
    assert curve.mean[1] == 20


def test_a_run_without_a_reading_counts_as_one_that_stopped(runs_of):
    runs = runs_of([5, 30, 30])
    curve = mean_curve(runs, "g")
    assert curve.horizon == 5
    assert not curve.complete.any()


def test_runs_of_no_step_have_no_reading_and_stay_scalar(runs_of):
    runs = runs_of([0, 0])
    assert not has_readings(runs, "g")
    assert is_scalar(runs, "g")


def test_a_vector_is_no_scalar_even_before_its_first_reading(run_of):
    vector = {"visits": lambda t: np.ones(3) / 3}
    assert not is_scalar(Runs((run_of(30, vector),)), "visits")
    assert not is_scalar(Runs((run_of(5, vector),)), "visits")


def test_the_share_still_going_falls_to_nothing_where_runs_stop(runs_of):
    steps, shares = shares_going(runs_of([10, 20, 20, 40]).lengths)
    assert steps.tolist() == [0, 10, 20, 40]
    assert shares.tolist() == [1.0, 0.75, 0.25, 0.0]


def test_a_difference_is_taken_where_both_were_read_and_has_the_errors_of_both(runs_of):
    mine, theirs = (mean_curve(runs_of([40, 40, 60], level=level, seed=seed), "g") for level, seed in ((1, 1), (0, 2)))
    short = mean_curve(runs_of([30] * 3, seed=2), "g")
    apart = difference(mine, theirs)
    assert np.allclose(apart.mean[:4], mine.mean[:4] - theirs.mean[:4])
    assert np.allclose(apart.half_width[:4] ** 2, mine.half_width[:4] ** 2 + theirs.half_width[:4] ** 2)
    assert difference(mine, short).steps.tolist() == [10, 20, 30]


def test_one_run_that_stopped_early_leaves_the_line_solid_where_a_share_is_enough(runs_of):
    runs = runs_of([10] + [60] * 9)
    assert mean_curve(runs, "g").complete.sum() == 1
    curve = mean_curve(runs, "g", share=0.9)
    assert curve.complete.all()
    assert curve.horizon == 60
    assert not mean_curve(runs_of([10] * 2 + [60] * 8), "g", share=0.9).complete[1:].any()


def test_where_all_runs_are_there_their_absence_costs_nothing(runs_of):
    curve = mean_curve(runs_of([40] * 10), "g", share=0.9)
    assert not curve.below.any()
    assert not curve.above.any()
    np.testing.assert_array_equal(curve.high, curve.mean + curve.half_width)


def test_the_band_holds_the_mean_of_all_runs_where_the_worst_of_them_stopped(run_of):
    """Of forty runs the four lowest stop early; standard errors alone miss the mean that all would have."""
    levels = np.sort(np.random.default_rng(0).uniform(-1, 1, 40))
    runs = [run_of(20 if n < 4 else 100, {"g": lambda t, level=level: level}) for n, level in enumerate(levels)]
    curve = mean_curve(Runs(tuple(runs)), "g", share=0.9)
    assert curve.complete.all()
    truth = levels.mean()
    assert (curve.low <= truth).all()
    assert (truth <= curve.high).all()
    rest = levels[4:]
    assert curve.mean[-1] == pytest.approx(rest.mean())
    assert curve.below[-1] == pytest.approx(0.1 * (rest.mean() - levels[0]))


def test_a_difference_costs_what_both_sides_do(runs_of):
    mine, theirs = (
        mean_curve(runs_of([20] + [40] * 9), "g", 0.9),
        mean_curve(runs_of([20] + [40] * 9, seed=2), "g", 0.9),
    )
    np.testing.assert_allclose(difference(mine, theirs).below, mine.below + theirs.above)
    np.testing.assert_allclose(difference(mine, theirs).above, mine.above + theirs.below)


def test_returns_are_averaged_by_the_number_of_the_episode(run_of):
    first, second = (run_of(length) for length in (10, 20))
    curve = return_curve(
        Runs((replace(first, returns=np.array([1.0, 2.0])), replace(second, returns=np.arange(3, 7.0))))
    )
    assert curve.steps.tolist() == [1, 2, 3, 4]
    assert curve.mean[:2].tolist() == [2.0, 3.0]
    assert curve.complete.tolist() == [True, True, False, False]
    assert curve.horizon == 2


def test_many_episodes_are_averaged_in_groups(run_of):
    run = replace(run_of(5), ends=np.arange(1000), returns=np.arange(1000.0))
    curve = return_curve(Runs((run, run)))
    assert len(curve.steps) == 50
    assert curve.steps[0] == 20
    assert curve.mean[0] == np.arange(20).mean()


def test_runs_without_an_episode_have_an_empty_curve_of_returns(runs_of):
    assert len(return_curve(runs_of([3, 4])).steps) == 0


def test_a_curve_is_a_table_that_pandas_and_polars_take(runs_of):
    import polars

    curve = mean_curve(runs_of([40, 60, 60, 60]), "g")
    frame = curve.to_frame().to_pandas()
    assert list(frame) == ["step", "mean", "half_width", "low", "high", "complete"]
    assert frame["step"].tolist() == curve.steps.tolist()
    np.testing.assert_array_equal(frame["low"], curve.low)
    assert polars.from_arrow(curve.to_frame())["complete"].to_list() == curve.complete.tolist()


def test_curves_of_several_sets_are_one_table(runs_of):
    sets = {"a": runs_of([40, 40]), "b": runs_of([20, 20], seed=2)}
    frame = us.curve_table(sets, "g").to_pandas()
    assert frame["set"].tolist() == ["a"] * 4 + ["b"] * 2
    np.testing.assert_array_equal(frame["mean"][frame["set"] == "b"], mean_curve(sets["b"], "g").mean)
    loose = us.curve_table({"a": runs_of([10] + [60] * 9)}, "g", share=0.9).to_pandas()
    assert loose["complete"].all()


def test_curves_of_single_runs_are_one_table(runs_of):
    sets = {"a": runs_of([40, 20]), "b": runs_of([10])}
    frame = us.run_table(sets, "g").to_pandas()
    assert frame[["set", "run"]].value_counts(sort=False).to_dict() == {("a", 0): 4, ("a", 1): 2, ("b", 0): 1}
    second = frame[(frame["set"] == "a") & (frame["run"] == 1)]
    assert second["g"].tolist() == sets["a"][1].curves["g"].tolist()


def test_a_vector_and_runs_without_a_reading_have_no_mean_curve(run_of, runs_of):
    vector = Runs((run_of(30, {"visits": lambda t: np.ones(3) / 3}),))
    with pytest.raises(us.SettingError, match="'visits' is a vector"):
        mean_curve(vector, "visits")
    with pytest.raises(us.SettingError, match=r"no run has a reading of 'g'.*every="):
        mean_curve(runs_of([5, 5]), "g")
    with pytest.raises(KeyError, match="no probe 'h'"):
        mean_curve(runs_of([30]), "h")


def test_a_notebook_shows_readings_evenly_taken_from_all(runs_of):
    curve = mean_curve(runs_of([400, 300]), "g")
    html = curve._repr_html_()
    assert "<p>Mean curve of 40 readings</p>" in html
    assert html.count('<th scope="row">') == MOST_SHOWN
    assert f'<th scope="row">10</th><td class="number">{curve.mean[0]:.4g}</td>' in html
    assert '<th scope="row">400</th>' in html
    assert "12 of 40 readings: to_frame() has all" in html
    assert "to_frame" not in mean_curve(runs_of([30, 30]), "g")._repr_html_()


def test_a_notebook_shows_no_number_where_too_few_runs_are_left(runs_of):
    html = mean_curve(runs_of([20, 10, 10]), "g")._repr_html_()
    dash = '<td class="number">\N{EN DASH}</td>'
    assert f'<th scope="row">20</th>{4 * dash}<td class="number">no</td>' in html
