"""Runs as tidy tables: every number of a run is on its line, and pandas and polars take them."""

from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from understudy.errors import SettingError
from understudy.runs import Runs, probes, simulate
from understudy.simulators import psrs

MEASURED = {"value": probes.start_value([0, 9]), "visitation": probes.visitation}


@pytest.fixture(scope="module")
def runs(log, make):
    """Of 30, 10 (before the first reading) and 45 steps."""
    made = [simulate(psrs(log), make(n), n, steps, probes=MEASURED, every=15) for n, steps in enumerate([30, 10, 45])]
    return Runs(tuple(made))


def test_a_line_is_a_reading_of_a_run(runs):
    frame = runs.to_frame()
    assert frame.column_names == ["run", "seed", "step", "value", "visitation"]
    assert frame["run"].to_pylist() == [0, 0, 2, 2, 2]
    assert frame["step"].to_pylist() == [15, 30, 15, 30, 45]
    for number, run in enumerate(runs):
        lines = frame.filter(pa.compute.equal(frame["run"], number))
        assert lines["value"].to_pylist() == run.curves["value"].tolist()
        assert lines["visitation"].to_pylist() == run.curves["visitation"].tolist()
        assert set(lines["seed"].to_pylist()) <= {run.seed}


def test_one_run_has_a_line_for_each_reading(runs):
    assert runs[0].to_frame().column_names == ["step", "value", "visitation"]
    assert runs[0].to_frame()["value"].to_pylist() == runs[0].curves["value"].tolist()
    assert runs[1].to_frame().num_rows == 0


def test_a_line_is_a_run_with_why_it_stopped_and_its_last_readings(runs):
    frame = runs.to_frame(per="run")
    assert frame["steps"].to_pylist() == runs.lengths.tolist()
    assert frame["episodes"].to_pylist() == [len(run.ends) for run in runs]
    assert frame["cause"].to_pylist() == ["max steps"] * 3
    assert frame["reason"].to_pylist() == ["max_steps was reached"] * 3
    assert frame["state"].to_pylist() == [None] * 3
    assert frame["value"].to_pylist() == [run.final["value"] for run in runs]
    assert frame["visitation"].to_pylist() == [run.final["visitation"].tolist() for run in runs]


def test_a_line_is_a_finished_episode_of_a_run(runs):
    frame = runs.to_frame(per="episode")
    assert frame.column_names == ["run", "seed", "episode", "step", "return"]
    assert frame.num_rows == sum(len(run.ends) for run in runs) > 0
    longest = runs[2]
    lines = frame.filter(pa.compute.equal(frame["run"], 2))
    assert lines["episode"].to_pylist() == list(range(len(longest.ends)))
    assert lines["step"].to_pylist() == longest.ends.tolist()
    assert lines["return"].to_pylist() == longest.returns.tolist()


def test_what_a_line_may_be_is_said(runs):
    with pytest.raises(SettingError, match="per='step' is not one of 'reading', 'episode', 'run'"):
        runs.to_frame(per="step")


@pytest.mark.parametrize("per", ["reading", "run", "episode"])
def test_pandas_and_polars_take_every_frame(runs, per):
    frame = runs.to_frame(per)
    assert len(frame.to_pandas()) == len(pl.from_arrow(frame)) == frame.num_rows
    assert pl.from_arrow(frame)["seed"].dtype == pl.Int64
    assert pl.from_arrow(frame).columns == list(frame.to_pandas().columns) == frame.column_names


@pytest.mark.parametrize("per", ["reading", "run", "episode"])
@pytest.mark.parametrize("none", [True, False])
def test_no_run_and_runs_without_a_reading_are_frames_without_lines(runs, per, none):
    empty = Runs(()) if none else Runs((replace(runs[1], ends=runs[1].ends[:0], returns=runs[1].returns[:0]),))
    frame = empty.to_frame(per)
    assert frame.num_rows == (1 if per == "run" and not none else 0)
    assert frame.schema.field("run").type == frame.schema.field("seed").type == pa.int64()


def test_matrices_are_lists_of_lists(runs):
    values = np.arange(12.0).reshape(2, 3, 2)
    frame = Runs((replace(runs[0], curves={"m": values}),)).to_frame()
    assert frame["m"].to_pylist() == values.tolist()
    nothing = Runs((replace(runs[0], curves={"m": values[:, :, :0]}),)).to_frame()
    assert nothing["m"].to_pylist() == [[[], [], []]] * 2


def test_a_probe_named_like_a_column_of_ours_keeps_its_values(runs):
    frame = Runs((replace(runs[0], curves={"step": np.array([1.5, 2.5])}),)).to_frame()
    assert frame.column_names == ["run", "seed", "step", "probe step"]
    assert frame["probe step"].to_pylist() == [1.5, 2.5]


def test_seeds_that_arrow_cannot_hold_are_texts(runs):
    frame = Runs((replace(runs[0], seed=2**100),)).to_frame()
    assert set(frame["seed"].to_pylist()) == {str(2**100)}


def test_runs_on_a_ladder_tell_their_exact_steps_and_cuts_and_others_have_no_such_columns(runs, runs_of, on_ladder):
    assert not {"exact_steps", "cuts"} & set(runs.to_frame(per="run").column_names)
    ladder, exact = on_ladder(runs_of([40, 60]), {30: 1}, cuts=[50]), runs_of([70])
    frame = Runs((*ladder, *exact), ladder.about).to_frame(per="run")
    assert frame["exact_steps"].to_pylist() == [30, 30, None]
    assert frame["cuts"].to_pylist() == [0, 1, None]
