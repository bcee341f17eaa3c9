from dataclasses import replace

import numpy as np

from understudy.contracts import Stop
from understudy.evaluation import fidelity
from understudy.evaluation.fidelity import ONE_LOG
from understudy.reporting.measurements import compare, measure
from understudy.reporting.tables import efficiency_table, fidelity_table, stops_table
from understudy.runs import Run, Runs
from understudy.tables import NONE


def cell(table, row, column):
    return table.rows[row][table.columns.index(column)]


def test_efficiency_tells_steps_share_and_rows_looked_at(runs_of):
    table = efficiency_table(measure({"psrs": runs_of([40, 60, 80])}))
    assert cell(table, 0, "steps, median") == "60"
    assert cell(table, 0, "log served") == "30%"
    assert cell(table, 0, "rows looked at per step") == "2.00"


def test_returns_are_over_the_same_episodes_in_every_set_and_say_which(runs_of):
    sets = {"a": runs_of([40] * 3, log_return=0.25), "b": runs_of([90] * 3, log_return=0.25)}
    table = efficiency_table(measure(sets))
    assert [value[table.columns.index("return an episode")].episodes for value in table.values] == [8, 8]
    assert any("first 8 episodes of each run (steps 1 to 40)" in note for note in table.notes)
    assert any("log's own episodes earned 0.250" in note for note in table.notes)


def test_where_runs_finished_no_episode_no_return_is_shown(runs_of):
    table = efficiency_table(measure({"psrs": runs_of([3, 3, 40])}))
    assert cell(table, 0, "return an episode") == NONE
    assert any(note.startswith("No return of “psrs”") for note in table.notes)


def test_returns_that_runs_did_not_finish_are_a_range(runs_of, run_of):
    runs = runs_of([12] + [40] * 9)
    varied = tuple(replace(run, returns=np.arange(len(run.returns), dtype=float)) for run in runs)
    table = efficiency_table(measure({"psrs": replace(runs, runs=varied)}))
    assert " to " in cell(table, 0, "return an episode")
    assert any(note.startswith("A range of returns") for note in table.notes)


def test_runs_that_max_steps_stopped_last_at_least_so_long(runs_of):
    limited = runs_of([40, 40])
    limited = Runs(tuple(Run(**{**vars(run), "stopped": Stop("max steps")}) for run in limited), limited.about)
    table = efficiency_table(measure({"model": limited}))
    assert cell(table, 0, "steps, median") == "≥ 40"
    assert "not the log" in table.notes[0]


def test_a_set_without_a_finished_run_is_left_out_and_said_so(runs_of):
    table = efficiency_table(measure({"psrs": runs_of([40]), "begun": Runs(())}))
    assert len(table.rows) == 1
    assert "begun" in table.notes[0]


def test_a_run_of_no_step_has_its_row(runs_of):
    table = efficiency_table(measure({"psrs": runs_of([0, 0])}))
    assert cell(table, 0, "steps, median") == "0"
    assert cell(table, 0, "rows looked at per step") == NONE


def test_what_ran_out_is_counted_by_cause_and_state(run_of):
    stops = [Stop("queue empty", state=state) for state in (4, 4, *range(10, 16))] + [Stop("no opening")]
    table = stops_table({"psrs": Runs(tuple(run_of(20, stop=stop) for stop in stops))})
    assert table.rows[0][1:3] == ("no row was left", "8")
    assert table.rows[0][3].startswith("state 4 (2); ")
    assert table.rows[0][3].endswith("; 2 others")
    assert table.rows[1] == ("psrs", "no episode was left to begin with", "1", NONE)
    assert [line[1] for line in table.values] == ["queue empty", "no opening"]  # as in results folders


def test_what_ran_out_is_told_in_the_logs_own_words(run_of):
    stops = [Stop("queue empty for action", state=4, action=1, place="page=4", label="buy", column="arm")] * 3
    stops += [Stop("queue empty for action", state=5, action=0, example="x=0.5", label="wait", column="arm")]
    table = stops_table({"qbe": Runs(tuple(run_of(20, stop=stop) for stop in stops))})
    assert table.rows[0][3] == "page=4, arm=buy (3); x=0.5 (and others like it), arm=wait (1)"


def test_all_sets_are_compared_up_to_the_smallest_common_horizon(runs_of, real_of):
    real, sets = real_of([100] * 4), {"short": runs_of([40] * 4), "long": runs_of([80] * 4, level=1.0)}
    table = fidelity_table(compare(sets, real, "g"), "g")
    assert table.title == "Fidelity of g up to step 40"
    assert table.values[1][1] == fidelity(sets["long"], real, "g", horizon=40).rmse
    assert cell(table, 1, "own horizon") == "80"
    assert table.values[1][table.columns.index("own RMSE")] == fidelity(sets["long"], real, "g").rmse


def test_where_all_horizons_are_one_it_is_not_shown_twice(runs_of, real_of):
    table = fidelity_table(compare({"psrs": runs_of([40] * 4)}, real_of([100] * 4), "g"), "g")
    assert "own horizon" not in table.columns


def test_on_one_log_there_is_no_verdict_and_the_reason_stands_once(runs_of, real_of):
    table = fidelity_table(compare({"a": runs_of([40] * 4), "b": runs_of([40] * 4)}, real_of([100] * 4), "g"), "g")
    assert "verdict" not in table.columns
    assert table.notes == (f"{ONE_LOG}.",)


def test_runs_with_logs_of_their_own_get_interval_margin_and_verdict(runs_of, real_of):
    sets = {
        "near": runs_of([40] * 30, own_logs=True),
        "far": runs_of([40] * 30, level=5.0, own_logs=True),
        "one log": runs_of([40] * 30),
    }
    table = fidelity_table(compare(sets, real_of([40] * 30), "g", margin=0.5), "g")
    assert [cell(table, row, "verdict") for row in range(3)] == ["equivalent", "different", NONE]
    assert cell(table, 1, "margin").startswith("0.5")
    low, high = map(float, cell(table, 1, "error, 95% interval").split(NONE))
    assert low < 5.0 < high
    assert table.notes == (f"“one log”: {ONE_LOG}.",)


def test_beyond_the_horizon_the_table_says_that_survivors_were_averaged(runs_of, real_of):
    table = fidelity_table(compare({"psrs": runs_of([40, 60, 60])}, real_of([100] * 3), "g", horizon=60), "g")
    assert "survivors" in table.notes[0]


def test_what_cannot_be_compared_is_a_dash_and_a_note(runs_of, real_of):
    sets = {"ok": runs_of([40] * 3), "early": runs_of([5] * 3), "other": runs_of([40] * 3, probe="h"), "none": Runs(())}
    table = fidelity_table(compare(sets, real_of([100] * 3), "g"), "g")
    assert table.title.endswith("step 40")
    assert [row[1] == NONE for row in table.rows] == [False, True, True, True]
    assert len(table.notes) == 4


def test_a_log_of_one_episode_is_said_to_have_one_order(runs_of):
    runs = runs_of([40] * 3)
    alone = Runs(runs.runs, replace(runs.about, log_episodes=1))
    assert any("one episode" in note for note in efficiency_table(measure({"psrs": alone})).notes)
    assert not any("one episode" in note for note in efficiency_table(measure({"psrs": runs})).notes)


def test_the_exact_horizon_has_a_column_where_a_set_is_on_a_ladder(runs_of, on_ladder):
    sets = {"qbe": on_ladder(runs_of([100] * 3), {40: 1}), "psrs": runs_of([60] * 3)}
    table = efficiency_table(measure(sets))
    assert [cell(table, row, "exact up to") for row in (0, 1)] == ["40", NONE]
    assert [value[table.columns.index("exact up to")] for value in table.values] == [40, None]
    assert "exact up to" not in efficiency_table(measure({"psrs": sets["psrs"]})).columns
