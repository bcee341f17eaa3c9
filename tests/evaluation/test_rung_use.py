import numpy as np
import pytest

import understudy as us
from understudy.errors import ContractError, SettingError
from understudy.evaluation.rung_use import NAMES, rung_use
from understudy.runs import Runs


def test_runs_without_a_ladder_have_no_rungs(runs_of):
    assert rung_use(runs_of([40, 60])) is None


def test_shares_beyond_the_exact_horizon_are_counted_over_all_runs(runs_of, on_ladder):
    runs = on_ladder(runs_of([100] * 4), {20: 1, 40: 2, 90: 3}, cuts=[50, 70])
    found = rung_use(runs)
    assert found.exact == runs.exact_horizon() == 20
    assert found.n_steps == 4 * 80
    assert found.beyond == {"own": 0, "like": 20 / 80, "reuse": 50 / 80, "untried": 10 / 80}
    assert found.n_cut == 4 * 2
    assert found.n_episodes == 4 * (16 + 2)  # episodes of the runs end at each fifth step, 16 of them beyond step 20


def test_the_exact_horizon_is_that_of_nine_of_ten_runs(runs_of, on_ladder):
    late, early = on_ladder(runs_of([100] * 9), {60: 1}), on_ladder(runs_of([100]), {5: 1})
    runs = Runs((*late, *early), late.about)
    assert rung_use(runs).exact == 60
    assert rung_use(Runs((*late[:8], *early, *early), late.about)).exact == 5


def test_bins_are_of_equal_width_and_their_shares_add_up(runs_of, on_ladder):
    found = rung_use(on_ladder(runs_of([100, 95]), {50: 2}, cuts=[95]), bins=10)
    assert found.edges.tolist() == list(range(0, 101, 10))
    np.testing.assert_allclose(found.shares.sum(axis=0), 1)
    assert found.shares[NAMES.index("own")].tolist() == [1] * 5 + [0] * 5
    assert found.shares[NAMES.index("reuse")].tolist() == [0] * 5 + [1] * 5
    assert found.cut.tolist() == [0] * 9 + [2 / 5]  # three episodes ended there, and one of each run was cut


@pytest.mark.parametrize("length", [1, 7, 59, 60, 61, 200])
def test_every_step_and_every_cut_is_in_one_bin(length, runs_of, on_ladder):
    found = rung_use(on_ladder(runs_of([length]), {0: 1}, cuts=[0, length]))
    assert found.exact == 0
    assert found.edges[0] == 0
    assert found.edges[-1] == length
    assert len(found.cut) == found.shares.shape[1] == len(found.edges) - 1 <= 60
    np.testing.assert_array_equal(found.shares[1], 1)
    assert found.n_cut == 2


def test_the_sentence_names_what_was_used_and_leaves_out_what_was_not(runs_of, on_ladder):
    runs = runs_of([100] * 2)
    assert str(rung_use(on_ladder(runs, {40: 1, 70: 2}, cuts=[50]))) == (
        "Exact up to step 40; beyond it 50% of steps came from states alike, 50% were served before, 2 of 26 episodes "
        "were cut (by that alone, the chance of anything that happens in an episode is off by at most 8%)."
    )
    assert str(rung_use(on_ladder(runs, {40: 3}))) == (
        "Exact up to step 40; beyond it 100% of steps took actions never tried in their state."
    )
    assert str(rung_use(on_ladder(runs, {}, cuts=[30]))).startswith("Exact up to step 30; beyond it 2 of 30 episodes")
    assert "no lower rung served a step beyond it" in str(rung_use(on_ladder(runs, {})))


def test_a_run_that_was_cut_before_its_first_step_is_counted(runs_of, on_ladder):
    found = rung_use(on_ladder(runs_of([0] * 3), {}, cuts=[0]))
    assert (found.exact, found.n_cut, found.n_episodes) == (0, 3, 3)
    assert found.cut.tolist() == [1]
    assert np.isnan(found.shares).all()
    assert "3 of 3 episodes were cut" in found.sentence


def test_numbers_are_handed_out_as_plain_values_and_as_a_table(runs_of, on_ladder):
    found = rung_use(on_ladder(runs_of([100] * 2), {50: 1}, cuts=[60]), bins=4)
    frame = found.to_frame()
    assert frame.column_names == ["step", "own", "like", "reuse", "untried", "cut"]
    assert frame["step"].to_pylist() == [25, 50, 75, 100]
    assert frame["like"].to_pylist() == found.to_json()["shares"][1] == [0, 0, 1, 1]
    assert found.to_json()["cut"] == [0, 0, 1 / 6, 0]
    assert "Exact up to step 50" in found._repr_html_()


def test_what_is_not_runs_is_refused():
    with pytest.raises(ContractError, match="give the Runs of an experiment"):
        rung_use([])
    with pytest.raises(SettingError, match="no run to measure"):
        rung_use(Runs(()))


def test_runs_of_a_simulator_with_rungs_are_counted_as_their_stops_say():
    log = us.record(us.envs.Grid(5, slip=0.3), episodes=60, seed=0)
    runs = us.experiment(
        us.qbe(log, then="cut", max_cut=0.2, cut_window=20),
        lambda seed: us.learners.QLearning(25, 5, epsilon=0.5, gamma=0.95, seed=seed),
        runs=5, progress=False, backend="serial",
    )  # fmt: skip
    found = us.rung_use(runs)
    assert found.exact == min(run.exact_steps for run in runs) > 0
    assert found.n_cut == sum(run.stopped.counts["episodes cut"] for run in runs) > 0
    assert found.beyond["own"] == 1
