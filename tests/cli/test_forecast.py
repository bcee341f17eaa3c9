import json

import pandas as pd
import pytest

from understudy.cli import main


def test_a_forecast_is_a_sentence_and_a_table(events, capsys, columns):
    assert main(["forecast", str(events), *columns, "--steps", "3000"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("psrs: the log will answer for ")
    assert "steps with a chance of 90%" in printed
    assert "3,000 steps need" in printed
    assert "more episodes like these" in printed
    assert "what runs out first" in printed
    assert "cell=" in printed


def test_a_forecast_of_several_simulators_is_json(events, capsys, columns):
    arguments = ["forecast", str(events), *columns, "--simulator", "psrs", "qbe", "--pre-runs", "5", "--json"]
    assert main(arguments) == 0
    first = capsys.readouterr().out
    found = json.loads(first)
    assert list(found) == ["psrs", "qbe"]
    assert found["psrs"]["pre_runs"] == 5
    assert found["psrs"]["interval"][0] <= found["psrs"]["steps"] <= found["psrs"]["interval"][1]
    assert main(arguments) == 0
    assert capsys.readouterr().out == first


def test_a_log_that_must_not_be_believed_is_forecast_with_a_word_of_doubt(events, tmp_path, capsys, columns):
    frame = pd.read_csv(events)
    frame["p0"], frame["p1"] = 0.05, 0.35
    frame.to_csv(tmp_path / "wrong.csv", index=False)
    arguments = ["forecast", str(tmp_path / "wrong.csv"), *columns, "--pre-runs", "5", "--json", "--simulator"]
    for names, doubted in ((["psrs"], True), (["psrs", "qbe"], True), (["qbe"], False)):
        assert main([*arguments, *names]) == 0
        printed = capsys.readouterr()
        assert list(json.loads(printed.out)) == names
        said = "Audit of the log: do not believe what is simulated on this log: propensity-frequency"
        assert (said in printed.err) is doubted


def test_without_propensities_qbe_is_forecast(events, tmp_path, capsys, columns):
    pd.read_csv(events).drop(columns=[f"p{action}" for action in range(5)]).to_csv(tmp_path / "bare.csv", index=False)
    flags = [argument for argument in columns if argument not in ("--propensity", "p0", "p1", "p2", "p3", "p4")]
    assert main(["forecast", str(tmp_path / "bare.csv"), *flags, "--learner", "uniform"]) == 0
    assert capsys.readouterr().out.startswith("qbe: ")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--simulator", "model"], "uses up no rows"),
        (["--pre-runs", "1"], "give --pre-runs, a whole number from 2 up"),
        (["--encoder", "nowhere.npz"], "no encoder"),
        (["--then", "cut", "--steps", "3000"], "lower rungs; leave --steps out, or leave --then out"),
        (["--then", "untried,cut", "--radius", "1"], "as --max-steps says; leave reuse and untried out of --then"),
    ],
)
def test_what_cannot_be_forecast_is_said_in_a_sentence(events, refused, columns, flags, words):
    assert words in refused("forecast", events, *columns, *flags)


def test_pre_runs_that_were_stopped_show_no_table(events, capsys, columns):
    assert main(["forecast", str(events), *columns, "--max-steps", "10"]) == 0
    printed = capsys.readouterr().out
    assert "at least 10 steps" in printed
    assert "what runs out first" not in printed
