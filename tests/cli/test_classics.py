import argparse
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.cli import main
from understudy.cli.classics import classics_for, runs_for, why_no_classics
from understudy.cli.trusting import OF_SIMULATORS
from understudy.results import read_off_policy

FLAGS = ["--observation", "x0", "x1", "--action", "arm", "--reward", "click", "--propensity", "p", "--bandit"]
TITLE = "A second opinion"


@pytest.fixture
def simulate(clicks, tmp_path):
    """The arguments of a rehearsal, with enough runs for estimates and without what else takes time."""
    flags = ["--runs", "8", "--no-halves", "--no-forecast", "--out", str(tmp_path / "out")]
    return ["simulate", str(clicks), *FLAGS, *flags]


def test_simulate_shows_them_keeps_them_and_report_shows_them_again(simulate, tmp_path, capsys, monkeypatch):
    assert main(simulate) == 0
    assert "replay: at the end of a rehearsal on half of the log" in (first := capsys.readouterr().out)
    found, asked = read_off_policy(tmp_path / "out")["replay"]
    assert asked["runs"] == 2
    assert [one.name for one in found.estimates.estimates] == ["IPS", "SNIPS", "DM", "DR"]
    assert found.sentence in first
    page = (tmp_path / "out" / "report.html").read_text()
    assert TITLE in page
    assert "rehearsal, at its end" in page

    def never(*arguments, **settings):
        raise AssertionError("they were in the folder already")

    monkeypatch.setattr(us, "off_policy_of_learner", never)
    assert main(simulate) == 0
    assert found.sentence in capsys.readouterr().out
    (tmp_path / "out" / "report.html").unlink()
    assert main(["report", str(tmp_path / "out")]) == 0
    assert found.sentence in capsys.readouterr().out
    assert TITLE in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("flags", [["--no-classics"], ["--quick"], ["--runs", "7"]])
def test_they_are_left_out_where_asked(simulate, tmp_path, flags):
    assert main([*simulate, *flags]) == 0
    assert TITLE not in (tmp_path / "out" / "report.html").read_text()
    assert not (tmp_path / "out" / "off-policy.json").exists()


def test_a_damaged_file_is_made_again(simulate, tmp_path):
    assert main(simulate) == 0
    before = read_off_policy(tmp_path / "out")
    (tmp_path / "out" / "off-policy.json").write_text("{}")
    assert main(simulate) == 0
    assert str(read_off_policy(tmp_path / "out")) == str(before)


def options(**given):
    settings = {"quick": False, "no_classics": False, "runs": 100, "learner": "ucb1", "seed": 0, "max_steps": None}
    return argparse.Namespace(**settings | dict.fromkeys(OF_SIMULATORS) | given)


def decisions(n, observation=None):
    observation = np.zeros((n, 2)) if observation is None else observation
    return us.Log.from_columns(observation=observation, action=np.arange(n) % 2, reward=np.ones(n), ends="every-row")


def test_there_are_fewer_runs_where_they_would_take_long():
    codes = decisions(60_000, np.zeros(60_000, int))
    assert runs_for(options(), codes) == 10
    assert runs_for(options(runs=20), codes) == 5
    assert runs_for(options(), decisions(60_000)) == 3
    assert runs_for(options(), decisions(200_000)) == 2


def test_reasons_to_leave_them_out():
    columns = {"observation": np.zeros(90, int), "action": np.zeros(90, int), "reward": np.ones(90)}
    columns |= {"episode": np.arange(90) // 3, "n_actions": 2, "ends": "truncated"}
    cut_off = us.Log.from_columns(**columns, next_observation=np.zeros(90, int))
    assert why_no_classics(options(), cut_off) is None  # what an episode earns ends with it
    without_last_rows = us.Log.from_columns(**columns)
    assert "the last rows of 100% of the episodes were dropped" in why_no_classics(options(), without_last_rows)
    assert "trained many times" in why_no_classics(options(learner="ppo"), decisions(100))
    assert "19 episodes" in why_no_classics(options(), decisions(19))
    endless = us.record(us.envs.Grid(), episodes=30, seed=0)
    assert why_no_classics(options(), endless) is None
    assert why_no_classics(options(), decisions(100)) is None


def test_a_learner_without_a_policy_gets_a_sentence(tmp_path, capsys):
    log = us.record(us.envs.Grid(), episodes=30, seed=0)
    loop = lambda seed: SimpleNamespace(rehearse=lambda env: None)  # noqa: E731
    assert classics_for("psrs", us.psrs(log), loop, tmp_path, options()) is None
    assert "no off-policy estimates beside the curve" in capsys.readouterr().out
    assert classics_for("any_row", us.any_row(log), loop, tmp_path, options()) is None
    assert capsys.readouterr().out == ""


@pytest.mark.filterwarnings("ignore:overflow")
def test_rewards_whose_squares_are_no_floats_leave_them_out_with_the_reason(clicks, tmp_path, capsys):
    """Infinite errors were written, and the folder could not be read again."""
    rows = pd.read_csv(clicks)
    rows["click"] *= 1e200
    rows.to_csv(tmp_path / "huge.csv", index=False)
    flags = [*FLAGS, "--learner", "epsilon-greedy", "--runs", "8", "--no-halves", "--no-forecast"]
    assert main(["simulate", str(tmp_path / "huge.csv"), *flags, "--out", str(tmp_path / "out")]) == 0
    assert "no off-policy estimates beside the curve: rewards go up to 1e+200 in size" in capsys.readouterr().out
    assert not (tmp_path / "out" / "off-policy.json").exists()
    assert main(["report", str(tmp_path / "out")]) == 0
    assert main(["gate", str(tmp_path / "out")]) == 1
