import json

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from understudy.contracts import Stop
from understudy.errors import SettingError
from understudy.evaluation import efficiency
from understudy.runs import About, Run, Runs

NONE = np.empty(0)


def run(length, stop):
    return Run(0, np.arange(length), NONE, None, np.arange(length // 5), NONE, NONE, {}, {}, stop)


def some_runs():
    empty = Stop("queue empty", state=3, counts={"rows taken": 40})
    limit = Stop("max steps", counts={"rows taken": 60})
    return Runs((run(10, empty), run(20, empty), run(30, limit)), About(log_rows=100))


def test_steps_are_the_median_with_quartiles_and_extremes():
    found = efficiency(some_runs())
    assert (found.steps, found.quartiles, found.shortest, found.longest) == (20, (15.0, 25.0), 10, 30)
    assert (found.share_served, found.episodes) == (0.2, 4)


def test_rows_per_step_counts_what_was_looked_at():
    assert efficiency(some_runs()).rows_per_step == 2.0


def test_what_ran_out_is_counted_and_limits_are_told_apart():
    found = efficiency(some_runs())
    assert found.stops == {"state 3 has no row left": 2, "max_steps was reached": 1}
    assert found.n_limited == 1


def test_a_learner_that_ended_by_itself_is_a_limit_too():
    found = efficiency(Runs((run(10, Stop("learner ended")), run(20, Stop("queue empty", state=3)))))
    assert found.n_limited == 1


def test_many_reasons_are_not_all_listed():
    runs = Runs(tuple(run(5, Stop("queue empty", state=state)) for state in range(9)))
    assert "6 other reasons" in str(efficiency(runs))


def test_runs_of_no_step_and_without_a_log_have_no_rows_per_step():
    found = efficiency(Runs((run(0, Stop("no opening")),)))
    assert (found.steps, found.share_served, found.rows_per_step) == (0, None, None)


def test_no_runs_are_refused():
    with pytest.raises(SettingError, match="no run"):
        efficiency(Runs(()))


def test_an_efficiency_is_plain_json():
    assert json.loads(json.dumps(efficiency(some_runs()).to_json()))["n_runs"] == 3


def test_runs_that_stopped_alike_are_counted_together_whatever_their_examples():
    stops = [Stop("queue empty", state=3, example=f"x={place}") for place in range(4)]
    stops += [Stop("queue empty", state=state, place="x=9") for state in (7, 8)]  # the same in logs of their own
    stops += [Stop("unsupported", state=3, action=1, mass=mass) for mass in (0.25, 0.5, 0.75)]
    found = efficiency(Runs(tuple(run(5, stop) for stop in stops)))
    assert list(found.stops.values()) == [4, 3, 2]
    assert next(iter(found.stops)) == "x=0 (and others like it) has no row left"
    assert "x=9 has no row left" in found.stops


def test_it_prints_in_a_prompt_and_shows_in_a_notebook():
    found = efficiency(Runs((run(5, Stop("queue empty", state=1, place="<script>")),)))
    assert repr(found) == str(found)
    assert "&lt;script&gt; has no row left: 1" in found._repr_html_()
    assert "<script>" not in found._repr_html_()


def test_its_frame_is_one_line_that_others_can_stand_under():
    frames = [efficiency(runs).to_frame() for runs in (some_runs(), Runs(some_runs().runs))]
    frame = pa.concat_tables(frames)
    assert frame["low_quartile"].to_pylist() == [15.0, 15.0]
    assert frame["share_served"].to_pylist() == [0.2, None]
    assert frame["stop"].to_pylist() == ["state 3 has no row left"] * 2
    assert frame["n_stop"].to_pylist() == [2, 2]
    assert len(frame.to_pandas()) == len(pl.from_arrow(frame)) == 2


def test_of_runs_on_a_ladder_it_tells_how_far_they_are_exact(runs_of, on_ladder):
    plain = efficiency(runs_of([100] * 3))
    assert plain.exact_steps is plain.cuts is None
    assert plain.to_frame()["exact_steps"].to_pylist() == [None]
    assert "exact" not in str(plain)
    found = efficiency(on_ladder(runs_of([100] * 3), {30: 1}, cuts=[50, 60]))
    assert (found.exact_steps, found.cuts) == (30, 2.0)
    assert ", exact up to step 30; stopped since" in str(found)
    assert found.to_frame()["cuts"].to_pylist() == [2.0]
