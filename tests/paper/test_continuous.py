from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.paper import continuous, grids, points
from understudy.paper.continuous import (
    BASELINES,
    EXACT,
    FULL,
    JUDGED,
    LONG,
    MANY,
    MARGIN,
    OWN,
    REAL,
    SETS,
    VALUE,
    Settings,
    Work,
)
from understudy.paper.measuring import by_set, fidelity_columns
from understudy.paper.stage import Stage


def test_the_quick_form_has_every_set_beside_the_papers_numbers(quick):
    _, item = quick("continuous")
    tables = {table.name: table.columns for table in item.tables}
    assert tables["published"]["simulation"] == [REAL, *SETS]
    assert tables["headline"]["set"] == list(SETS)
    assert {name: tables[name]["set"] for name in JUDGED} == {name: list(SETS) for name in JUDGED}
    beside = {line.what: line.paper for line in item.comparisons}
    assert beside["PSRS-Homer, fidelity over 16 epochs"] == 0.203
    assert beside["obs-only, efficiency (epochs)"] == 50
    assert {picture.name for picture in item.pictures} >= {"training", "validation", "lengths", "validation-runs"}


def small(folder, forward=False):
    """The item's work on a grid of nine cells."""
    env = us.envs.ContinuousGrid(3)
    known = grids.states(env)
    chosen = Settings(
        runs=3, epochs=4, many_epochs=4, epoch_steps=400, own_runs=40, other_runs=20, own_epochs=4, real_runs=80,
        early=1,
        ppo={"policy_rate": 3e-3, "value_rate": 1e-2, "policy_iterations": 10, "value_iterations": 10},
    )  # fmt: skip
    work = Work(Stage(folder, quick=True), chosen)
    log = points.record(env, 6_000, seed=0)
    encoders = dict.fromkeys((points.ORACLE, points.HOMER, points.FORWARD), known)
    if forward:
        encoders[points.FORWARD] = us.encoders.Forward(steps=600).fit(log)
    work.__dict__["ready"] = points.Prepared(env, log, encoders)
    return work


def test_true_and_learned_states_are_equivalent_to_real_by_a_test_that_rejects_states_only(tmp_path):
    """At 95 %, with a log for each run, within the cost of two steps, as in the full form; the baselines are not."""
    work = small(tmp_path, forward=True)
    real = work((MANY, REAL))
    judged = by_set(
        fidelity_columns({name: work((OWN, name)) for name in (*EXACT, *BASELINES)}, real, VALUE, margin=MARGIN)
    )
    for name in EXACT:
        assert judged[name]["verdict"] == "equivalent", judged[name]
    for name in BASELINES:
        assert judged[name]["verdict"] == "different", judged[name]


def test_the_authors_conventions_abandon_episodes_and_read_rows(tmp_path):
    work = small(tmp_path)
    theirs = Work(Stage(tmp_path / "theirs", quick=True, authors=True), work.settings)
    theirs.__dict__["ready"] = work.ready
    runs = theirs((LONG, "PSRS-oracle"))
    assert runs.about.simulator["order"] == "rows"
    assert runs.about.learner["abandons"]
    assert theirs((LONG, REAL)).about.kind == "real"


def test_runs_beyond_the_first_ten_are_shorter_where_they_would_not_end(tmp_path):
    work = small(tmp_path)
    settings = replace(work.settings, runs=12, many_epochs=1, real_runs=2)
    more = Work(work.stage, settings)
    more.__dict__["ready"] = work.ready
    assert [len(more((kind, "random"))) for kind in (LONG, MANY)] == [10, 12]
    assert set(more((MANY, "random")).lengths) == {400}
    assert set(more((LONG, REAL)).lengths) == {1600}
    assert len(more((MANY, REAL))) == 12
    few, all_of_them = work((LONG, "PSRS-oracle")), more((LONG, "PSRS-oracle"))
    assert [len(few), len(all_of_them)] == [3, 12]  # which run out, so that none needs to be cut
    assert all(np.array_equal(one.steps, other.steps) for one, other in zip(few, all_of_them[:3], strict=True))


def table(**verdicts):
    """A table of judgements with these verdicts; all other sets are equivalent."""
    names = {name.replace("-", "_"): name for name in SETS}
    found = dict.fromkeys(SETS, "equivalent") | {names[key]: verdict for key, verdict in verdicts.items()}
    columns = {"set": list(found), "95 %": [(0.0, 0.1)] * len(found), "verdict": list(found.values())}
    return dict.fromkeys(JUDGED, columns)


def test_claims_need_a_test_that_can_tell():
    apart = {"obs_only": "different", "act_only": "different", "random": "different"}
    assert continuous.right_states(table(**apart)).holds is True
    assert continuous.right_states(table()).holds is None
    assert continuous.right_states(table(PSRS_Forward="different")).holds is False
    assert continuous.right_states(table(PSRS_Forward="undecided", **apart)).holds is None
    assert continuous.far(table(**apart)).holds is True
    assert continuous.far(table(**apart | {"random": "undecided"})).holds is None
    assert continuous.close_to_oracle(table(PSRS_oracle="different")).holds is False
    assert [finding.holds for finding in continuous.faithful(table(PSRS_Homer="different"))] == [False, False]


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
    """Oracle and Forward equivalent to real, a log a run, within the cost of two steps; no baseline is."""
    work = Work(Stage(tmp_path / "continuous"), FULL)
    names = (*EXACT, *BASELINES)
    made = continuous.performed(work, [(MANY, REAL), *((OWN, name) for name in names)])
    judged = continuous.judgements({name: made[OWN, name] for name in names}, made[MANY, REAL], FULL)
    assert continuous.right_states(judged).holds is True
    assert continuous.far(judged).holds is True
