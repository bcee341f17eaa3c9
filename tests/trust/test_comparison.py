import json

import numpy as np
import pytest

import understudy as us
from understudy.contracts.streams import spawn

QUICK = {"runs": 6, "halves": 5, "progress": False}


def test_the_better_of_two_learners_is_found_with_its_evidence(compared):
    assert compared.best == "seldom"
    assert compared.is_decided
    assert compared.undecided == []
    assert compared.sentence.startswith("seldom earns more than often")
    assert compared.regret == pytest.approx(0.0, abs=1e-3)
    assert str(compared).split("\n")[1].startswith("expected regret of choosing seldom: ")


def test_a_difference_is_paired_and_unpacks(compared):
    steps, mean, low, high = compared.difference("seldom", "often")
    earned = {name: readings.whole for name, readings in compared.windows.readings.items()}
    assert mean == pytest.approx(np.nanmean(earned["seldom"] - earned["often"], axis=0))
    assert (low < mean).all()
    assert (mean < high).all()
    assert (np.diff(steps) > 0).all()
    back = compared.difference("often", "seldom")
    assert back.mean == pytest.approx(-mean)
    assert back.low == pytest.approx(-high)
    narrow = compared.difference("seldom", "often", level=0.5)
    assert (narrow.high - narrow.low < high - low).all()


def test_both_learners_meet_the_same_halves_and_seeds(compared):
    one, other = compared.halves.values()
    assert [run.seed for run in one.runs] == [run.seed for run in other.runs]
    assert [half.about.log for half in one.halves] == [half.about.log for half in other.halves]


def test_two_names_of_one_learner_differ_by_nothing(log, learners):
    found = us.compare({"a": learners["often"], "b": learners["often"]}, us.psrs(log), **QUICK)
    assert not found.is_decided
    assert found.regret == 0.0
    assert found.sentence.startswith("this log cannot tell a from b: ")
    assert np.array_equal(found.difference("a", "b").mean, np.zeros(found.windows.n))


def test_it_is_the_same_as_halves_of_each_learner(log, learners, compared):
    alone = us.halves(us.psrs(log), learners["often"], runs=20, progress=False)
    for ours, theirs in zip(
        [alone.runs, *alone.halves], [one := compared.halves["often"].runs, *one.halves], strict=True
    ):
        assert [run.returns.tolist() for run in ours] == [run.returns.tolist() for run in theirs]


def test_many_learners_are_compared_with_the_best_at_a_corrected_level(log):
    def make(epsilon):
        return lambda seed: us.learners.QLearning(
            25, 5, epsilon=epsilon, gamma=0.95, seed=spawn(seed, int(99 * epsilon))
        )

    learners = {f"{epsilon:g}": make(epsilon) for epsilon in (1.0, 0.4, 0.41, 0.9, 0.95)}
    found = us.compare(learners, us.psrs(log), runs=20, halves=10, progress=False)
    assert found.corrected_level == pytest.approx(1 - 0.05 / 4)
    assert found.best in ("0.4", "0.41")
    assert set(found.undecided) <= {"0.4", "0.41"}
    assert "cannot be told from it" in found.sentence
    assert found.decisions["1"].level == found.corrected_level
    assert found.regret > 0


def test_learners_are_compared_by_a_probe(log, learners):
    probe = us.probes.start_value(log)
    found = us.compare(learners, us.psrs(log), probe=probe, **QUICK)
    assert found.probe == "probe"
    assert found.windows.unit == "step"
    assert 10 <= found.windows.n <= 40
    named = us.compare(learners, us.psrs(log), probe="value", probes={"value": probe}, every=200, **QUICK)
    assert "'value'" in named.sentence
    assert named.windows.ends[0] == 200
    assert named.against_log["often"].last[-1] > 5  # by episodes, whatever the probe


def test_it_converts_to_a_table_to_json_and_to_html(compared):
    frame = compared.to_frame().to_pylist()
    assert [line["learner"] for line in frame] == ["seldom", "often"]
    assert frame[0]["told_apart"] is None
    assert frame[1]["told_apart"] is True
    assert frame[1]["behind_low"] > 0
    told = json.loads(json.dumps(compared.to_json(), allow_nan=False))
    assert told["best"] == "seldom"
    assert told["compared"][1] == compared.windows.ends[-1]
    assert [one["learner"] for one in told["against_log"]] == ["seldom", "often"]
    assert "the choice" in compared._repr_html_()
    assert repr(compared) == str(compared)


def test_runs_are_kept_by_name_and_go_on(log, learners, tmp_path):
    first = us.compare(learners, us.psrs(log), out=tmp_path, **QUICK)
    assert len(us.load(tmp_path / "often")) == 6
    read = us.Comparison({name: us.Halves(us.load(tmp_path / name)) for name in learners})
    assert read.sentence == first.sentence
    again = us.compare(learners, us.psrs(log), out=tmp_path, **QUICK)
    assert again.sentence == first.sentence


def test_what_cannot_be_compared_ends_in_a_sentence(log, learners, compared, tmp_path):
    simulator = us.psrs(log)
    with pytest.raises(us.SettingError, match="nothing to compare: 1 learner given"):
        us.compare({"often": learners["often"]}, simulator)
    with pytest.raises(us.SettingError, match="learners is a list; give a mapping"):
        us.compare(list(learners.values()), simulator)
    with pytest.raises(us.SettingError, match="a learner is named 3; name it by a text"):
        us.compare({3: learners["often"], "b": learners["often"]}, simulator)
    with pytest.raises(us.SettingError, match="'a/b' cannot be one"):
        us.compare({"a/b": learners["often"], "b": learners["often"]}, simulator, out=tmp_path)
    with pytest.raises(us.SettingError, match="there is no probe 'value'"):
        us.compare(learners, simulator, probe="value")
    with pytest.raises(us.SettingError, match="there is no learner 'c'; there is 'often', 'seldom'"):
        compared.difference("often", "c")
    with pytest.raises(us.LogError, match="the log has 5 episodes, and halves need at least 8"):
        us.compare(learners, us.psrs(us.record(us.envs.Grid(), episodes=5, seed=0)))
    with pytest.raises(us.ContractError, match="cannot be had on half of a log"):
        us.compare(learners, us.real(us.envs.Grid()))


def test_what_speaks_against_the_intervals_is_said(compared):
    doubted = us.Comparison({name: us.Halves(one.runs, "Episodes depend.") for name, one in compared.halves.items()})
    assert str(doubted).endswith("Episodes depend.")
    assert doubted.to_json()["note"] == "Episodes depend."
    assert compared.note == ""


def test_runs_of_another_seed_or_without_the_probe_are_not_mixed(log, learners, compared):
    other = us.halves(us.psrs(log), learners["often"], runs=20, seed=1, progress=False)
    with pytest.raises(us.SettingError, match="cannot be paired: seed is"):
        us.Comparison({"seldom": compared.halves["seldom"], "often": other})
    with pytest.raises(us.SettingError, match="not all learners have the probe 'value'"):
        us.Comparison(compared.halves, "value")


def test_where_halves_of_a_log_answer_nothing_no_interval_is_invented(learners):
    """On halves of fourteen episodes, too many runs finish none."""
    simulator = us.qbe(us.record(us.envs.Grid(slip=0.2), episodes=14, seed=1000000))
    pair = {"a": learners["seldom"], "b": lambda seed: learners["seldom"](seed + 1)}
    found = us.compare(pair, simulator, runs=10, halves=5, progress=False)
    assert not found.is_decided
    assert "halves of it answer too few steps to show its luck" in found.sentence
    assert "expected regret of choosing" in str(found)
    assert ": not known." in str(found)
    assert json.dumps(found.to_json(), allow_nan=False)
    assert found._repr_html_()


def test_with_a_step_only_episodes_finished_by_then_are_compared(compared):
    early = us.Comparison(compared.halves, upto=400)
    assert early.windows.ends[-1] < compared.windows.ends[-1]
    assert "where runs of" not in early.sentence  # the step ends it, not a learner
