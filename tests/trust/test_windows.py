import numpy as np
import pytest

import understudy as us
from understudy.contracts import Stop
from understudy.runs import Run, Runs
from understudy.trust.windows import MOST_WINDOWS, returns_by_window, windows_of_episodes, windows_of_probe


def run(*returns):
    ends, none = 5 * np.arange(1, len(returns) + 1), np.empty(0)
    return Run(0, np.arange(5 * len(returns)), none, None, ends, np.array(returns), none, {}, {}, Stop("no opening"))


def test_a_window_has_the_mean_of_its_episodes_and_nothing_where_one_is_missing():
    found = returns_by_window(Runs((run(1.0, 3.0, 5.0, 7.0, 100.0), run(2.0, 2.0, 2.0), run())), np.array([2, 4]))
    assert np.array_equal(found, [[2.0, 6.0], [2.0, np.nan], [np.nan, np.nan]], equal_nan=True)


def test_windows_hold_the_episodes_that_runs_of_all_learners_finished(compared):
    windows = windows_of_episodes(compared.halves)
    finished = {name: sorted(len(run.ends) for run in one.runs) for name, one in compared.halves.items()}
    fewest = {name: counts[1] for name, counts in finished.items()}  # 19 of 20 runs have so many
    assert windows.ends[-1] <= min(fewest.values()) < windows.ends[-1] + windows.ends[0]
    assert len(windows.ends) <= MOST_WINDOWS
    assert windows.shortest == min(fewest, key=fewest.get)
    assert windows.longest == max(fewest.values())
    for name, readings in windows.readings.items():
        expected = [run.returns[: windows.ends[0]].mean() for run in compared.halves[name].runs]
        assert readings.whole[:, 0] == pytest.approx(expected)
        assert readings.going[0] > 0.9 > readings.going[-1]  # halves of the log do not reach the last
        assert (np.diff(readings.steps) > 0).all()


def test_windows_follow_each_other(compared):
    windows = compared.windows
    assert windows.first(0) == 1
    assert [windows.first(place) for place in range(1, windows.n)] == (windows.ends[:-1] + 1).tolist()


def test_a_learner_that_finishes_no_episode_is_named(log, learners):
    with pytest.raises(us.LogError, match="runs of 'often' finished an episode, and they stopped after 5 steps"):
        _ = us.compare(learners, us.psrs(log), runs=4, halves=5, max_steps=5, progress=False).windows


def test_readings_of_a_probe_are_cut_at_the_step_that_all_learners_reach(log, learners):
    probes = {"start value": us.probes.start_value(log)}
    given = {"runs": 8, "halves": 5, "every": 100, "probes": probes, "progress": False}
    found = us.compare(learners, us.psrs(log), probe="start value", **given)
    windows = windows_of_probe(found.halves, "start value")
    assert windows.unit == "step"
    assert windows.shortest == "seldom"
    assert windows.ends[-1] <= found.halves["seldom"].runs.horizon(0.95) < windows.ends[-1] + 100
    assert all(readings.whole.shape == (8, windows.n) for readings in windows.readings.values())
    early = windows_of_probe(found.halves, "start value", 350)
    assert early.ends.tolist() == [100, 200, 300]
    assert early.longest == 300
    assert np.array_equal(early.readings["seldom"].whole, windows.readings["seldom"].whole[:, :3])
    assert us.Comparison(found.halves, "start value", upto=350).windows.n == 3
    with pytest.raises(us.LogError, match="no reading of 'start value' by step 99;"):
        windows_of_probe(found.halves, "start value", 99)


def test_with_a_step_windows_hold_the_episodes_finished_by_then(compared):
    upto = 400
    windows = windows_of_episodes(compared.halves, upto)
    for one in compared.halves.values():
        in_time = sorted(np.count_nonzero(run.ends <= upto) for run in one.runs)
        assert windows.ends[-1] <= in_time[1]  # 19 of 20 runs have so many
    assert windows.longest == windows.ends[-1]
    with pytest.raises(us.LogError, match="finished an episode by step 2;"):
        windows_of_episodes(compared.halves, 2)
