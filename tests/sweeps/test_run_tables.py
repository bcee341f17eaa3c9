"""Rows of runs and readings say what the runs say."""

import numpy as np

import understudy as us
from understudy.runs.failures import FailedRun
from understudy.sweeps.run_tables import REWARD, curves_table, failures_table, runs_table, schema_of

PROBES = {REWARD: us.probes.reward_so_far, "visits": us.probes.visitation}


def runs_of(log):
    make = lambda seed: us.learners.QLearning(25, 5, seed=seed)  # noqa: E731
    return us.experiment(us.psrs(log), make, runs=3, max_steps=90, probes=PROBES, every=40, progress=False)


def test_a_row_of_runs_is_the_run(log):
    runs = runs_of(log)
    table = runs_table([4, 5, 6], runs, [0.1, 0.2, 0.3])
    assert table.schema == schema_of("runs")
    for line, run in zip(table.to_pylist(), runs, strict=True):
        assert (line["seed"], line["steps"], line["episodes"]) == (run.seed, len(run), len(run.ends))
        assert line["reward"] == np.append(run.returns, run.partial or 0.0).sum()
        assert (line["cause"], line["reason"]) == (run.stopped.cause, run.stopped.reason)
        assert line["exact_steps"] is line["own_steps"] is line["failed"] is None
    assert table["number"].to_pylist() == [4, 5, 6]
    assert table["seconds"].to_pylist() == [0.1, 0.2, 0.3]


def test_steps_of_each_rung_add_up_to_the_run(log, on_ladder):
    runs = on_ladder(runs_of(log), {30: 1, 50: 3}, cuts=(40, 60))
    for line in runs_table([0, 1, 2], runs, [0.0] * 3).to_pylist():
        served = [line[f"{rung}_steps"] for rung in ("own", "like", "reuse", "untried")]
        assert served == [30, 20, 0, 40]
        assert (line["exact_steps"], line["cuts"]) == (30, 2)


def test_readings_are_those_of_the_curves_entry_by_entry(log):
    runs = runs_of(log)
    table = curves_table([4, 5, 6], runs)
    assert table.schema == schema_of("curves")
    lines = table.to_pylist()
    reward = [(line["number"], line["step"], line["value"]) for line in lines if line["probe"] == REWARD]
    assert reward == [(n, int(step), value) for n, run in zip((4, 5, 6), runs, strict=True)
                      for step, value in zip(run.steps, run.curves[REWARD], strict=True)]  # fmt: skip
    visits = [line for line in lines if line["probe"] == "visits" and line["number"] == 5 and line["step"] == 80]
    assert [line["entry"] for line in visits] == list(range(25))
    assert [line["value"] for line in visits] == runs[1].curves["visits"][1].tolist()


def test_no_runs_are_empty_tables():
    assert len(runs_table([], [], [])) == len(curves_table([], [])) == len(failures_table([])) == 0


def test_a_failed_run_has_its_reason_and_nothing_else():
    (line,) = failures_table([FailedRun(3, 77, "ValueError: no", "Traceback ...")]).to_pylist()
    assert {name: value for name, value in line.items() if value is not None} == {
        "number": 3, "seed": 77, "failed": "ValueError: no", "traceback": "Traceback ..."
    }  # fmt: skip
