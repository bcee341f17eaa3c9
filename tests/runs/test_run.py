"""Runs as a sequence, and their curves side by side."""

from dataclasses import replace

import numpy as np
import pytest

from understudy.runs import About, Runs, probes, simulate
from understudy.simulators import psrs

MEASURED = {"value": probes.start_value([0, 9]), "visitation": probes.visitation}


@pytest.fixture(scope="module")
def runs(log, make):
    """Of 30, 60, 90 and 45 steps."""
    simulator = psrs(log)
    made = [
        simulate(simulator, make(n), n, steps, probes=MEASURED, every=20) for n, steps in enumerate([30, 60, 90, 45])
    ]
    return Runs(tuple(made), About(simulator={"simulator": "psrs"}))


def test_runs_are_a_sequence(runs):
    assert len(runs) == 4
    assert [run.seed for run in runs] == [0, 1, 2, 3]
    assert runs[-1] is runs[3] is runs.runs[np.int64(3)]
    assert runs[2] in runs
    assert [run.seed for run in reversed(runs)] == [3, 2, 1, 0]
    assert runs.index(runs[1]) == 1
    with pytest.raises(IndexError):
        runs[4]


def test_a_slice_of_runs_is_runs_of_the_same_experiment(runs):
    part = runs[1:3]
    assert isinstance(part, Runs)
    assert [run.seed for run in part] == [1, 2]
    assert part.about == runs.about
    assert len(runs[4:]) == 0


def test_lengths_are_the_steps_of_each_run(runs):
    assert runs.lengths.tolist() == [30, 60, 90, 45]


def test_curves_are_nan_after_a_run_stopped(runs):
    steps, values = runs.curve("value")
    assert steps.tolist() == [20, 40, 60, 80]
    assert np.isfinite(values).sum(axis=1).tolist() == [1, 3, 4, 2]
    for run, row in zip(runs, values, strict=True):
        np.testing.assert_array_equal(row[: len(run.steps)], run.curves["value"])


def test_curves_of_vectors_have_their_dimensions_last(runs):
    _, values = runs.curve("visitation")
    assert values.shape == (4, 4, 18)
    assert np.isnan(values[0, 1:]).all()


@pytest.mark.parametrize("probe", MEASURED)
def test_a_run_that_stopped_before_the_first_reading_is_all_nan(runs, probe, log, make):
    short = simulate(psrs(log), make(9), 9, 10, probes=MEASURED, every=20)
    steps, values = Runs((short, runs[1])).curve(probe)
    assert steps.tolist() == [20, 40, 60]
    assert np.isnan(values[0]).all()
    assert np.isfinite(values[1]).all()


def test_where_no_run_reached_a_reading_there_is_a_curve_of_no_steps(log, make):
    short = [simulate(psrs(log), make(n), n, 10, probes=MEASURED, every=20) for n in range(2)]
    steps, values = Runs(tuple(short)).curve("value")
    assert len(steps) == 0
    assert values.shape[:2] == (2, 0)


def test_a_probe_that_is_not_there_is_a_key_error_that_names_those_that_are(runs, log, make):
    with pytest.raises(KeyError, match=r"no probe 'valeu'.*'value', 'visitation'"):
        runs.curve("valeu")
    with pytest.raises(KeyError, match="there is none"):
        Runs((simulate(psrs(log), make(0), 0, 5),)).curve("value")
    with pytest.raises(KeyError, match="there is none"):
        Runs(()).curve("value")


def test_runs_print_what_they_are_of(runs):
    assert repr(runs) == "4 runs of psrs, 30 to 90 steps, probes: value, visitation"
    assert repr(Runs(())) == "Runs: none"
    assert "probes: none" in repr(Runs((runs[0].__class__(**{**vars(runs[0]), "curves": {}}),)))


def test_a_notebook_shows_ten_runs_and_how_many_more_there_are(runs):
    html = runs._repr_html_()
    assert html.startswith("<p>4 runs of psrs, 30 to 90 steps")
    assert html.count("<tr>") == 5
    many = Runs(runs.runs * 3)._repr_html_()
    assert many.count("<tr>") == 11
    assert "... and 2 more" in many


def test_a_notebook_shows_a_run_with_its_last_readings(runs):
    html = runs[0]._repr_html_()
    assert repr(runs[0]) in html
    assert '<th scope="row">value</th>' in html
    assert "visitation" not in html  # a vector has no cell


def test_names_of_users_are_escaped_in_notebooks(runs):
    hostile = "<script>"
    stopped = replace(runs[0].stopped, cause="queue empty", state=1, place=hostile)
    run = replace(runs[0], stopped=stopped, final={hostile: 1.0})
    for html in (run._repr_html_(), Runs((run,), About(simulator={"simulator": hostile}))._repr_html_()):
        assert hostile not in html
        assert "&lt;script&gt;" in html


def test_the_exact_horizon_is_that_of_a_share_of_runs_and_without_a_ladder_the_horizon(runs, runs_of, on_ladder):
    assert runs.exact_horizon() == runs.horizon(0.9) == 30
    ladder = Runs(tuple(on_ladder(runs_of([100]), {step: 1}, cuts=[50])[0] for step in range(10, 101, 10)))
    assert ladder.exact_horizon() == 20
    assert ladder.exact_horizon(1.0) == 10
    assert ladder.exact_horizon(0.5) == 50
    assert ladder.exact_horizon(0.1) == 50  # there an episode was cut in all of them
