from dataclasses import replace

import numpy as np

import understudy as us
from paper.set_tables import (
    after,
    by_set,
    common_horizon,
    curve_columns,
    fidelity_columns,
    lengths_columns,
    run_columns,
)
from paper.verdicts import all_equivalent, error_of
from understudy.contracts import Stop
from understudy.runs import Run, Runs


def curves(values):
    """Runs of fifty steps with these curves of a probe g."""
    steps, none = np.arange(1, values.shape[1] + 1), np.empty(0)
    return Runs(
        tuple(Run(0, np.arange(50), none, None, none, none, steps, {"g": row}, {}, Stop("max steps")) for row in values)
    )


def test_nothing_is_said_of_a_set_that_stopped_before_the_first_reading():
    rng = np.random.default_rng(0)
    real = curves(rng.standard_normal((5, 3)))
    short = Runs(tuple(replace(run, rows=run.rows[:0]) for run in real))
    line = by_set(fidelity_columns({"short": short, "long": real}, real, "g"))["short"]
    assert line["RMSE"] is None
    assert error_of(line) == "short: undecided"
    assert all_equivalent([line]) is None


def test_readings_up_to_a_step_are_left_out_and_the_runs_stay_as_long():
    runs = curves(np.arange(6.0).reshape(2, 3))
    late = after(runs, 1)
    assert [run.steps.tolist() for run in late] == [[2, 3], [2, 3]]
    assert late.curve("g")[1].tolist() == [[1.0, 2.0], [4.0, 5.0]]
    assert late.lengths.tolist() == runs.lengths.tolist()


def test_the_common_horizon_is_that_of_the_shortest_run_of_all_sets(runs_of):
    assert common_horizon(runs_of([40, 60]), runs_of([30, 90])) == 30


def test_lengths_are_told_by_set(runs_of):
    columns = lengths_columns({"a": runs_of([10, 20, 60]), "b": runs_of([40])})
    assert columns["steps, median"] == [20.0, 40.0]
    assert columns["longest"] == [60, 40]
    assert columns["what ran out, mostly"] == ["state 3 has no row left"] * 2


def test_what_is_drawn_of_curves_is_in_the_columns(runs_of):
    sets = {"a": runs_of([40, 40]), "b": runs_of([20, 20], seed=2)}
    means, runs = curve_columns(sets, "g"), run_columns(sets, "g")
    assert list(means) == ["set", "step", "mean", "half width", "complete"]
    np.testing.assert_array_equal(means["mean"][4:], us.mean_curve(sets["b"], "g").mean)
    assert runs["run"] == [0] * 4 + [1] * 4 + [0] * 2 + [1] * 2
    assert runs["g"][4:8] == sets["a"][1].curves["g"].tolist()
