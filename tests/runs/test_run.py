"""Runs as a sequence, and their curves side by side."""

import numpy as np
import pytest

from understudy.runs import Runs, probes, simulate
from understudy.simulators import psrs

MEASURED = {"value": probes.start_value([0, 9]), "visitation": probes.visitation}


@pytest.fixture(scope="module")
def runs(log, make):
    """Of 30, 60, 90 and 45 steps."""
    simulator = psrs(log)
    made = [
        simulate(simulator, make(n), n, steps, probes=MEASURED, every=20) for n, steps in enumerate([30, 60, 90, 45])
    ]
    return Runs(tuple(made), {"simulator": {"simulator": "psrs"}})


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
