from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from paper import continuous_grid, grids
from paper.continuous_claims import baselines_are_far, right_states
from paper.continuous_runs import (
    BASELINES,
    EXACT,
    FULL,
    LONG,
    MANY,
    OWN,
    REAL,
    VALUE,
    RunSets,
    Settings,
    make_sets,
    without_and_with_training,
)
from paper.continuous_tables import MARGIN, judgements
from paper.set_tables import by_set, fidelity_columns
from paper.workspace import Workspace
from understudy.runs.backends import in_processes, in_turn


def small(folder, forward=False):
    """The item's run_sets on a grid of nine cells."""
    env = us.envs.ContinuousGrid(3)
    known = grids.states(env)
    chosen = Settings(
        runs=3, epochs=4, many_epochs=4, epoch_steps=400, own_runs=40, other_runs=20, own_epochs=4, real_runs=80,
        early=1,
        ppo={"policy_rate": 3e-3, "value_rate": 1e-2, "policy_iterations": 10, "value_iterations": 10},
    )  # fmt: skip
    run_sets = RunSets(Workspace(folder, quick=True), chosen)
    log = continuous_grid.record(env, 6_000, seed=0)
    encoders = dict.fromkeys((continuous_grid.ORACLE, continuous_grid.HOMER, continuous_grid.FORWARD), known)
    if forward:
        encoders[continuous_grid.FORWARD] = us.encoders.Forward(steps=600).fit(log)
    run_sets.__dict__["ready"] = continuous_grid.Prepared(env, log, encoders)
    return run_sets


@pytest.mark.slow
def test_true_and_learned_states_are_equivalent_to_real_by_a_test_that_rejects_states_only(tmp_path):
    """At 95%, with a log for each run, within the cost of two steps, as in the full form; the baselines are not."""
    run_sets = small(tmp_path, forward=True)
    real = run_sets((MANY, REAL))
    judged = by_set(
        fidelity_columns({name: run_sets((OWN, name)) for name in (*EXACT, *BASELINES)}, real, VALUE, margin=MARGIN)
    )
    for name in EXACT:
        assert judged[name]["verdict"] == "equivalent", judged[name]
    for name in BASELINES:
        assert judged[name]["verdict"] == "different", judged[name]


def test_the_authors_conventions_abandon_episodes_and_read_rows(tmp_path):
    run_sets = small(tmp_path)
    theirs = RunSets(Workspace(tmp_path / "theirs", quick=True, authors=True), run_sets.settings)
    theirs.__dict__["ready"] = run_sets.ready
    runs = theirs((LONG, "PSRS-oracle"))
    assert runs.about.simulator["order"] == "rows"
    assert runs.about.learner["abandons"]
    assert theirs((LONG, REAL)).about.kind == "real"


@pytest.mark.slow
def test_runs_beyond_the_first_ten_are_shorter_where_they_would_not_end(tmp_path):
    run_sets = small(tmp_path)
    settings = replace(run_sets.settings, runs=12, many_epochs=1, real_runs=2)
    more = RunSets(run_sets.workspace, settings)
    more.__dict__["ready"] = run_sets.ready
    assert [len(more((kind, "random"))) for kind in (LONG, MANY)] == [10, 12]
    assert set(more((MANY, "random")).lengths) == {400}
    assert set(more((LONG, REAL)).lengths) == {1600}
    assert len(more((MANY, REAL))) == 12
    few, all_of_them = run_sets((LONG, "PSRS-oracle")), more((LONG, "PSRS-oracle"))
    assert [len(few), len(all_of_them)] == [3, 12]  # which run out, so that none needs to be cut
    assert all(np.array_equal(one.steps, other.steps) for one, other in zip(few, all_of_them[:3], strict=True))


def test_a_set_with_a_log_each_goes_on_with_other_runs_workers_and_encoders(tmp_path):
    """A results folder is not told of them by the function that makes simulators."""
    run_sets = small(tmp_path)
    first = RunSets(run_sets.workspace, replace(run_sets.settings, own_runs=2, epochs=1))
    first.__dict__["ready"] = run_sets.ready
    before = first((OWN, "PSRS-oracle"))
    others = {**run_sets.ready.encoders, "another": None}
    more = RunSets(replace(run_sets.workspace, workers=2, runs=7), replace(first.settings, own_runs=3))
    more.__dict__["ready"] = replace(run_sets.ready, encoders=others)
    after = more((OWN, "PSRS-oracle"))
    assert [run.seed for run in after][:2] == [run.seed for run in before]
    assert len(after) == 3


def test_sets_that_need_no_training_are_made_first():
    tasks = [(LONG, "PSRS-Homer"), (LONG, REAL), (OWN, "obs-only"), (OWN, "QBE-oracle"), (OWN, "QBE-Forward")]
    early, late = without_and_with_training(tasks)
    assert early == [(LONG, REAL), (OWN, "QBE-oracle")]
    assert late == [(LONG, "PSRS-Homer"), (OWN, "obs-only"), (OWN, "QBE-Forward")]


@pytest.mark.slow
def test_sets_are_the_same_in_processes(tmp_path):
    workspaces = [
        Workspace(tmp_path / name / "item", quick=quick, workers=2) for name, quick in (("a", True), ("b", True))
    ]
    wanted = [(LONG, "PSRS-oracle"), (LONG, "random")]
    settings = Settings(runs=2, epochs=2, epoch_steps=500)
    here, there = (RunSets(workspace, settings) for workspace in workspaces)
    one_by_one, together = dict(in_turn(here, wanted, 1)), dict(in_processes(there, wanted, 2))
    for what in wanted:
        assert np.array_equal(one_by_one[what].curve(VALUE)[1], together[what].curve(VALUE)[1])


@pytest.mark.slow
def test_the_claims_that_should_hold_do(tmp_path):
    """Oracle and Forward equivalent to real, a log a run, within the cost of two steps; no baseline is."""
    run_sets = RunSets(Workspace(tmp_path / "continuous"), FULL)
    names = (*EXACT, *BASELINES)
    made = make_sets(run_sets, [(MANY, REAL), *((OWN, name) for name in names)])
    judged = judgements({name: made[OWN, name] for name in names}, made[MANY, REAL], FULL)
    assert right_states(judged).holds is True
    assert baselines_are_far(judged).holds is True
