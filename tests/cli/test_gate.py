import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

import understudy as us
from understudy.cli import main

ROWS = 4000


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory):
    """A folder of a bandit on which learning clearly pays: one arm of three earns, the log chose at random."""
    folder, rng = tmp_path_factory.mktemp("gate"), np.random.default_rng(0)
    arm = rng.integers(3, size=ROWS)
    paid = (rng.random(ROWS) < np.where(arm == 1, 0.8, 0.2)).astype(float)
    log = us.Log.from_columns(
        observation=np.zeros(ROWS, int), action=arm, reward=paid, propensity=np.full((ROWS, 3), 1 / 3), ends="every-row"
    )
    us.write(log, folder / "clicks.parquet")
    out = folder / "rehearsal"
    given = ["--simulator", "psrs", "--learner", "q-learning", "--alpha", "0.05", "--runs", "100", "--out", str(out)]
    assert main(["simulate", str(folder / "clicks.parquet"), *given]) == 0
    return out


def told(capsys):
    return json.loads(capsys.readouterr().out)


def test_conditions_that_hold_open_the_gate(rehearsed, capsys):
    capsys.readouterr()
    assert main(["gate", str(rehearsed), "--min-horizon", "20", "--better-than-log"]) == 0
    said = capsys.readouterr().out
    assert "FAILS" not in said
    assert "The gate is open" in said
    assert "psrs: better than the log: QLearning against the logging policy: better" in said
    assert main(["gate", str(rehearsed), "--min-horizon", "20", "--better-than-log", "--json"]) == 0
    horizon, better = told(capsys)["conditions"][1:]
    assert horizon["trusted"] == better["trusted"] >= 20
    assert horizon["low"] is None
    assert 0 < better["low"] < better["high"] < 0.8  # the best arm earns 0.8, and the log 0.4


def test_where_nothing_is_asked_of_what_is_earned_the_gate_says_so(rehearsed, capsys):
    capsys.readouterr()
    assert main(["gate", str(rehearsed)]) == 0
    assert (
        "open: the results can be believed, and nothing was asked of what the learner earns" in capsys.readouterr().out
    )


def test_a_self_check_that_could_test_nothing_closes_it(rehearsed, capsys, monkeypatch):
    import understudy.cli.shown_results as shown

    read = shown.read_selfcheck

    def untested(folder):
        found = read(folder)  # what `understudy simulate` found here
        tests = tuple(replace(one, p_value=None) for one in found.tests)
        return replace(found, tests=tests, tested_states=False)

    monkeypatch.setattr(shown, "read_selfcheck", untested)
    capsys.readouterr()
    assert main(["gate", str(rehearsed), "--json"]) == 1
    [believable] = told(capsys)["conditions"]
    assert not believable["holds"]
    assert "; self-check: could not be told: no test of" in believable["found"]


def test_a_horizon_that_is_not_reached_closes_it(rehearsed, capsys):
    capsys.readouterr()
    assert main(["gate", str(rehearsed), "--min-horizon", str(10 * ROWS), "--json"]) == 1
    found = told(capsys)
    assert not found["passes"]
    assert [one["holds"] for one in found["conditions"]] == [True, False]


def test_a_learner_that_never_learns_is_not_better_than_the_log(rehearsed, tmp_path, capsys):
    given = ["--simulator", "psrs", "--learner", "uniform", "--runs", "40", "--out", str(tmp_path / "same")]
    assert main(["simulate", str(rehearsed.parent / "clicks.parquet"), *given]) == 0
    capsys.readouterr()
    assert main(["gate", str(tmp_path / "same"), "--better-than-log", "--json"]) == 1
    assert {one["name"]: one["holds"] for one in told(capsys)["conditions"]}["better than the log"] is False


def test_what_must_not_be_believed_is_closed_whatever_was_asked(rehearsed, tmp_path, capsys):
    """The same arms, with the propensities of two actions exchanged in the file."""
    log = us.read(rehearsed.parent / "clicks.parquet")
    wrong = np.tile([0.7, 0.2, 0.1], (ROWS, 1))
    columns = {"observation": log.observation, "action": log.action, "reward": log.reward, "propensity": wrong}
    us.write(us.Log.from_columns(**columns, ends="every-row"), tmp_path / "wrong.parquet")
    given = ["--simulator", "psrs", "--quick", "--runs", "2", "--out", str(tmp_path / "wrong")]
    assert main(["simulate", str(tmp_path / "wrong.parquet"), *given]) == 0
    capsys.readouterr()
    assert main(["gate", str(tmp_path / "wrong"), "--min-horizon", "1", "--json"]) == 1
    assert {one["name"]: one["holds"] for one in told(capsys)["conditions"]} == {
        "believable": False, "trusted to step 1": False
    }  # fmt: skip


def test_runs_without_halves_are_not_trusted(rehearsed, tmp_path, capsys):
    given = ["--simulator", "psrs", "--quick", "--runs", "3", "--out", str(tmp_path / "quick")]
    assert main(["simulate", str(rehearsed.parent / "clicks.parquet"), *given]) == 0
    capsys.readouterr()
    assert main(["gate", str(tmp_path / "quick"), "--min-horizon", "1", "--better-than-log", "--json"]) == 1
    assert [one["holds"] for one in told(capsys)["conditions"]] == [False, False, False]
    assert main(["gate", str(tmp_path / "quick")]) == 1
    assert "FAILS  believable: How far to believe this was not tested" in capsys.readouterr().out


def test_a_set_that_is_not_there_and_a_folder_without_results_are_bad_input(rehearsed, tmp_path, capsys):
    assert main(["gate", str(rehearsed), "--set", "qbe"]) == 2
    assert "psrs" in capsys.readouterr().err
    assert main(["gate", str(tmp_path)]) == 2


def test_a_later_quick_command_takes_nothing_out_of_a_folder(rehearsed, capsys):
    kept = (rehearsed / "run.toml").read_text()
    assert main(["simulate", str(rehearsed / "run.toml"), "--quick"]) == 0
    capsys.readouterr()
    assert main(["gate", str(rehearsed), "--min-horizon", "20", "--better-than-log"]) == 0
    assert (rehearsed / "run.toml").read_text() == kept


def test_what_was_not_checked_closes_the_gate(rehearsed, tmp_path, capsys):
    """Without a self-check, without the record of the audit, and of runs made in Python without either."""
    given = ["--simulator", "psrs", "--learner", "q-learning", "--runs", "40", "--out", str(tmp_path / "unchecked")]
    assert main(["simulate", str(rehearsed.parent / "clicks.parquet"), *given, "--no-selfcheck"]) == 0
    capsys.readouterr()
    assert main(["gate", str(tmp_path / "unchecked"), "--min-horizon", "1"]) == 1
    assert "no self-check of the log was made: make them with understudy simulate, in full" in capsys.readouterr().out
    shutil.copytree(rehearsed, tmp_path / "without-states")
    (tmp_path / "without-states" / "states.json").unlink()
    assert main(["gate", str(tmp_path / "without-states")]) == 1
    assert "; no audit of states of the log was made" in capsys.readouterr().out
    shutil.copytree(rehearsed, tmp_path / "lost")
    (tmp_path / "lost" / "rehearsal.json").unlink()
    assert main(["gate", str(tmp_path / "lost")]) == 1
    assert "; no audit " in capsys.readouterr().out
    log = us.read(rehearsed.parent / "clicks.parquet")
    probes, out = {"reward": us.probes.reward_so_far}, tmp_path / "python"
    us.halves(
        us.psrs(log), lambda seed: us.learners.QLearning(1, 3, seed=seed), runs=20, halves=5, probes=probes, every=20,
        out=out, progress=False,
    )  # fmt: skip
    assert main(["gate", str(tmp_path / "python")]) == 1
    assert "no audit and no self-check and no audit of states of the log was made" in capsys.readouterr().out


def test_runs_of_another_log_in_the_folder_are_refused(rehearsed, tmp_path, capsys):
    """What was found of one log says nothing of another: its runs would stand beside checks that they never had."""
    out = tmp_path / "copy"
    shutil.copytree(rehearsed, out)
    log = us.record(us.envs.Grid(), episodes=40, seed=0)
    us.experiment(us.qbe(log), lambda seed: us.learners.Uniform(5), runs=2, out=out / "another")
    for command in ("gate", "report"):
        assert main([command, str(out)]) == 2
        assert "another has runs on another log than the one that" in capsys.readouterr().err


def test_fewer_runs_than_the_folder_has_change_no_answer(rehearsed, capsys):
    """All runs that are there count: halves for fewer would stand beside runs that they do not belong to."""
    page, settings = rehearsed / "report.html", rehearsed / "run.toml"
    before = json.loads(page.with_suffix(".json").read_text())["decision"], settings.read_text()
    assert main(["simulate", str(settings), "--runs", "10"]) == 0
    assert "100 runs are in the folder, and all of them count, though --runs is 10" in capsys.readouterr().out
    assert (json.loads(page.with_suffix(".json").read_text())["decision"], settings.read_text()) == before
    assert main(["gate", str(rehearsed), "--min-horizon", "20", "--better-than-log"]) == 0
