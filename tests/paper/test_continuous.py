import numpy as np
import pytest

import understudy as us
from understudy.paper import continuous, grids, points
from understudy.paper.continuous import BASELINES, DRAWN, EXACT, FULL, LONG, OWN, REAL, SETS, VALUE, Settings, Work
from understudy.paper.measuring import fidelity_columns
from understudy.paper.stage import Stage


def test_the_quick_form_has_every_set_beside_the_papers_numbers(quick):
    _, item = quick("continuous")
    tables = {table.name: table.columns for table in item.tables}
    assert tables["published"]["simulation"] == [REAL, *SETS]
    assert tables["headline"]["set"] == list(SETS)
    assert tables["own-logs"]["set"] == list(DRAWN)
    beside = {line.what: line.paper for line in item.comparisons}
    assert beside["PSRS-Homer, fidelity over 16 epochs"] == 0.203
    assert beside["obs-only, efficiency (epochs)"] == 50
    assert {picture.name for picture in item.pictures} >= {"training", "validation", "lengths", "validation-runs"}


def small(folder, **settings):
    """The item's work on a grid of nine cells."""
    env = us.envs.ContinuousGrid(3)
    known = grids.states(env)
    chosen = Settings(
        runs=3, epochs=4, many_epochs=4, epoch_steps=400, own_runs=20, own_rows=6_000, own_epochs=4, real_runs=24,
        ppo={"policy_rate": 3e-3, "value_rate": 1e-2, "policy_iterations": 10, "value_iterations": 10},
    )  # fmt: skip
    work = Work(Stage(folder, quick=True), chosen)
    encoders = dict.fromkeys((points.ORACLE, points.HOMER, points.FORWARD), known)
    work.__dict__["ready"] = points.Prepared(env, points.record(env, 6_000, seed=0), encoders, {})
    return work


def test_true_states_are_equivalent_to_real_by_a_test_that_rejects_states_only(tmp_path):
    """At 95 %, with a log for each run; the curve rises by 1.07, and states_only stays about .4 below it."""
    work = small(tmp_path)
    real = work((OWN, REAL))
    sets = {name: work((OWN, name)) for name in ("PSRS-oracle", "obs-only")}
    verdicts = {name: us.fidelity(runs, real, VALUE, margin=0.25) for name, runs in sets.items()}
    assert verdicts["PSRS-oracle"].verdict == "equivalent", verdicts["PSRS-oracle"]
    assert verdicts["obs-only"].verdict == "different", verdicts["obs-only"]


def test_the_authors_conventions_abandon_episodes_and_read_rows(tmp_path):
    work = small(tmp_path)
    theirs = Work(Stage(tmp_path / "theirs", quick=True, authors=True), work.settings)
    theirs.__dict__["ready"] = work.ready
    runs = theirs((LONG, "PSRS-oracle"))
    assert runs.about["simulator"]["order"] == "rows"
    assert runs.about["learner"]["abandons"]
    assert theirs((LONG, REAL)).about["kind"] == "real"


def test_completed_epochs_of_longer_runs_are_taken_from_those_that_went_on(tmp_path):
    settings = Settings(epoch_steps=10, many_epochs=2)

    class Lengths:
        def __init__(self, *lengths):
            self.lengths = np.array(lengths)

    assert continuous.completed_epochs(Lengths(19, 19, 20), Lengths(50), settings) == 1
    assert continuous.completed_epochs(Lengths(20, 20, 20), Lengths(50, 57), settings) == 5


@pytest.mark.slow
def test_sets_are_the_same_in_processes(tmp_path):
    stages = [Stage(tmp_path / name / "item", quick=quick, workers=2) for name, quick in (("a", True), ("b", True))]
    wanted = [(LONG, "PSRS-oracle"), (LONG, "random")]
    settings = Settings(runs=2, epochs=2, epoch_steps=500)
    here, there = (Work(stage, settings) for stage in stages)
    in_turn = dict(continuous.in_turn(here, wanted, 1))
    in_processes = dict(continuous.in_processes(there, wanted, 2))
    for what in wanted:
        assert np.array_equal(in_turn[what].curve(VALUE)[1], in_processes[what].curve(VALUE)[1])


@pytest.mark.slow
def test_the_claims_that_should_hold_do(tmp_path):
    """Oracle and Forward equivalent to real, a log a run, within a tenth of the curve's range; no baseline is."""
    work = Work(Stage(tmp_path / "continuous"), FULL)
    wanted = [(OWN, name) for name in (REAL, *EXACT, *BASELINES)]
    made = continuous.performed(work, wanted)
    sets = {name: made[OWN, name] for name in (*EXACT, *BASELINES)}
    judged = fidelity_columns(sets, made[OWN, REAL], VALUE)
    assert continuous.equivalent(judged, 0).holds
    assert continuous.far(judged).holds
