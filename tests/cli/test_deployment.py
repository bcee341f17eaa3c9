import argparse
import json

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.cli import main
from understudy.cli.deployment import deployed, deployment_probes, deployment_settings, deployment_words
from understudy.reporting.learners import ON_THEIR_WAY

FLAGS = ["--observation", "x0", "x1", "--action", "arm", "--reward", "click", "--propensity", "p", "--bandit"]


def options(**given):
    return argparse.Namespace(
        **{"delay": 0, "batch": 1, "period": None, "warm_start": None, "seed": 3, "learner": "ucb1"} | given
    )


@pytest.fixture(scope="module")
def simulator():
    rng = np.random.default_rng(0)
    return us.replay(
        us.Log.from_columns(
            observation=rng.normal(size=(200, 2)), action=rng.integers(2, size=200), reward=rng.random(200),
            propensity=np.full(200, 0.5), ends="every-row",
        )
    )  # fmt: skip


def make(seed):
    return us.learners.UCB1(2, seed=seed)


def test_without_flags_nothing_changes(simulator):
    assert deployed(simulator, make, options()) == (simulator, make)
    assert deployment_settings(options()) == {}
    assert deployment_probes(options()) == {}
    assert deployment_words(options()) == ""


def test_a_warm_start_is_at_once_and_its_episodes_are_not_replayed(simulator):
    rest, make_late = deployed(simulator, make, options(delay=7, batch=2, warm_start=0.25))
    learner = make_late(0)
    assert rest.log.n_episodes == 150
    assert learner.learner.counts.sum() == 50
    assert (learner.decisions, learner.batch, learner.pending) == (7, 2, 0)


def test_a_folder_keeps_how_the_learner_was_deployed():
    given = options(delay=7, batch=2, warm_start=0.25)
    assert deployment_settings(given) == {"delay": 7, "batch": 2, "warm_start": 0.25}
    assert deployment_words(given) == (
        ", told 7 decisions late, learning from 2 outcomes at a time, after learning from 25% of the episodes,"
    )


def test_simulate_says_what_was_on_its_way(clicks, tmp_path, capsys, refused):
    arguments = ["simulate", str(clicks), *FLAGS, "--runs", "3", "--quick", "--out", str(tmp_path / "out")]
    assert main([*arguments, "--delay", "20", "--warm-start", "0.3"]) == 0
    assert "20 outcomes, on average, were still on their way" in capsys.readouterr().out
    runs = us.load(tmp_path / "out" / "replay")
    assert [run.final[ON_THEIR_WAY] for run in runs] == [20.0] * 3
    assert runs.about.log_rows == 420
    page = (tmp_path / "out" / "report.html").read_text()
    assert "20 outcomes, on average, were still on their way" in page
    assert "linucb, told 20 decisions late, after learning from 30% of the episodes, rehearsed on clicks.csv" in page
    assert main(["report", str(tmp_path / "out")]) == 0
    assert "20 outcomes, on average" in capsys.readouterr().out
    assert "delay is 20 there" in refused(*arguments)


@pytest.mark.slow
def test_learners_that_are_told_late_are_compared_with_one_that_is_not(clicks, capsys):
    flags = ["--learner", "ucb1", "--learner", "ucb1:delay=50,batch=10", "--runs", "4", "--halves", "5"]
    out = str(clicks.parent / "out")
    assert main(["compare", str(clicks), *FLAGS, *flags, "--warm-start", "0.2", "--out", out]) == 0
    assert "ucb1:delay=50,batch=10" in capsys.readouterr().out
    assert main(["report", out]) == 0  # whose runs are on the part of the log that is left


@pytest.fixture
def timed(tmp_path):
    """A CSV of decisions, a minute apart and shuffled in the file, whose clicks are known an hour and a half later."""
    rng = np.random.default_rng(0)
    at = pd.date_range("2026-01-01 10:00", periods=600, freq="min", tz="UTC")
    frame = pd.DataFrame({"page": rng.integers(2, size=600), "arm": rng.integers(2, size=600), "p": 0.5, "at": at})
    frame["click"] = (rng.random(600) < np.where(frame.arm == frame.page, 0.8, 0.2)).astype(int)
    frame["known"] = at + pd.Timedelta("90min")
    frame.sample(frac=1, random_state=0).to_csv(tmp_path / "timed.csv", index=False)
    return tmp_path / "timed.csv"


TIMED = [
    "--observation", "page", "--action", "arm", "--reward", "click", "--propensity", "p", "--bandit",
    "--order-by", "at", "--time", "at",
]  # fmt: skip


def test_outcomes_arrive_when_the_log_says(timed, tmp_path, capsys, refused):
    """Decisions at one in two minutes, 90 minutes late: about 45 are on their way; once a day, all since midnight."""
    arguments = ["simulate", str(timed), *TIMED, "--out", str(tmp_path / "out"), "--arrival", "known"]
    arguments += ["--runs", "3", "--quick", "--workers", "1"]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "order: log, since learners are told by the log's times what they earned" in said
    runs = us.load(tmp_path / "out" / "replay")
    log = us.read(timed, observation="page", action="arm", reward="click", propensity="p", time="at", arrival="known",
                  order_by="at", ends="every-row")  # fmt: skip
    for run in runs:
        assert run.final[ON_THEIR_WAY] == (log.time[run.rows] > log.time[-1] - 5400).sum()
    assert runs.about.simulator["order"] == "log"
    page = (tmp_path / "out" / "report.html").read_text()
    assert "told what it earned as late as it was known in the log, rehearsed on timed.csv" in page
    assert "period" in refused(*arguments, "--period", "day")
    assert main(["forecast", str(timed), *TIMED, "--period", "hour", "--pre-runs", "3", "--workers", "1"]) == 0


def test_it_is_said_that_rehearsed_days_and_delays_have_fewer_decisions(timed, tmp_path, capsys):
    """One row in two is accepted: an hour of 60 decisions has 30 in runs, and a delay of 90 has 45."""
    shared = ["simulate", str(timed), *TIMED, "--runs", "2", "--quick", "--workers", "1", "--learner", "ucb1", "--out"]
    by_period = "a rehearsed hour has about 30 decisions, where the log has 60"
    assert main([*shared, str(tmp_path / "hour"), "--period", "hour"]) == 0
    told = capsys.readouterr().out
    assert (
        f"warning: thinned-times: one row in 2 is accepted, and the log's times go by all the same, so that {by_period}"
        in told
    )
    assert "with --batch 60 in place of --period" in told
    for file in ("report.html", "report.json", "rehearsal.json"):
        assert by_period in (tmp_path / "hour" / file).read_text()
    (tmp_path / "hour" / "report.html").unlink()
    capsys.readouterr()
    assert main(["report", str(tmp_path / "hour")]) == 0
    assert "Not as in the deployment (thinned-times): one row in 2 is accepted, and the log's times go by all the " in (
        told := capsys.readouterr().out
    )
    assert by_period in told
    assert "Not as in the deployment" in (tmp_path / "hour" / "report.html").read_text()
    assert main(["gate", str(tmp_path / "hour"), "--better-than-log"]) == 1
    assert "note   Not as in the deployment (thinned-times): one row in 2 is" in (told := capsys.readouterr().out)
    assert by_period in told
    assert main(["gate", str(tmp_path / "hour"), "--json"]) == 1
    assert by_period in json.loads(capsys.readouterr().out)["notes"][0]
    assert main([*shared, str(tmp_path / "late"), "--arrival", "known"]) == 0
    assert "known 90 decisions late in the log (the median) is known 45 late in runs" in capsys.readouterr().out
    by_decisions = [flag for flag in shared if flag not in ("--order-by", "--time", "at")]
    assert main([*by_decisions, str(tmp_path / "plain"), "--delay", "45", "--order-by", "at"]) == 0
    assert "thinned-times" not in capsys.readouterr().out


@pytest.mark.slow
def test_compare_says_so_too(timed, tmp_path, capsys):
    flags = ["--learner", "ucb1", "--learner", "ucb1:period=hour", "--runs", "3", "--halves", "5", "--json"]
    assert main(["compare", str(timed), *TIMED, *flags, "--out", str(tmp_path / "compared")]) == 0
    assert "a rehearsed hour has about 30 decisions, where the log has 60" in capsys.readouterr().out


def test_learners_by_the_times_of_the_log_are_compared(timed, tmp_path, capsys):
    flags = ["--learner", "ucb1:delay=0", "--learner", "ucb1", "--learner", "ucb1:period=day", "--arrival", "known"]
    quick = ["--runs", "3", "--halves", "5", "--workers", "1", "--out", str(tmp_path / "out")]
    assert main(["compare", str(timed), *TIMED, *flags, *quick]) == 0
    assert "order: log" in capsys.readouterr().out
    settings = {text: us.load(tmp_path / "out" / text).about.learner for text in flags[1:6:2]}
    assert "by" not in settings["ucb1:delay=0"]
    assert (settings["ucb1"]["by"], settings["ucb1"]["period"]) == ("arrival", None)
    assert (settings["ucb1:period=day"]["by"], settings["ucb1:period=day"]["period"]) == ("arrival", 86_400.0)


def test_a_file_of_ours_keeps_its_times(timed, tmp_path, refused):
    target, out = tmp_path / "timed.parquet", ["--runs", "1", "--quick", "--out", tmp_path / "out"]
    assert main(["convert", str(timed), *TIMED, "--arrival", "known", str(target)]) == 0
    assert main([*map(str, ["simulate", target, "--bandit", "--delay", "arrival", "--period", "day", *out])]) == 0
    settings = us.load(tmp_path / "out" / "replay").about.learner
    assert (settings["by"], settings["period"]) == ("arrival", 86_400.0)
    assert main([*map(str, ["simulate", target, "--bandit", *out[:-1], tmp_path / "plain"])]) == 0
    assert "by" not in us.load(tmp_path / "plain" / "replay").about.learner


def test_times_that_cannot_be_gone_by_are_refused_in_the_words_of_the_command_line(timed, tmp_path, refused):
    command = ["simulate", timed, *TIMED, "--runs", "2", "--quick", "--out", tmp_path / "out"]
    assert "give replay --order log" in refused(*command, "--arrival", "known", "--order", "episodes")
    assert "psrs takes rows out of that order; use replay" in refused(
        *command, "--period", "day", "--simulator", "psrs"
    )
    assert (
        "--delay arrival goes by the column arrival of the log, which it does not have; read the log with --arrival"
        in (refused(*command, "--delay", "arrival"))
    )
    assert "--delay counts decisions, and --period goes by" in refused(*command, "--period", "day", "--delay", "5")
    assert "two ways to say when to learn" in refused(*command, "--period", "day", "--batch", "5")
    assert "uniform does not learn" in refused(*command, "--period", "day", "--learner", "uniform")
    assert "name it with --time" in refused("simulate", timed, *TIMED[:-2], "--arrival", "known")
    assert "sort them with --order-by, or leave --time out" in refused("check", timed, *TIMED[:-4], "--time", "at")
    earliest = pd.read_csv(timed)["at"].argsort().iloc[0]  # rows are named as in the file
    assert f"arrival in row {earliest} is 5400 seconds before its time" in refused(
        "check", timed, *TIMED[:-4], "--order-by", "at", "--time", "known", "--arrival", "at"
    )


def test_the_flags_of_check_are_those_of_simulate(timed, tmp_path, capsys):
    """Also a time that nothing goes by: its order is tested all the same."""
    assert main(["check", str(timed), *TIMED]) == 0
    two = ["--learner", "uniform", "--learner", "ucb1", "--runs", "3", "--halves", "5", "--no-selfcheck"]
    for command in (["simulate", "--quick", "--runs", "2"], ["compare", *two], ["forecast"]):
        out = [] if command == ["forecast"] else ["--out", str(tmp_path / command[0])]
        capsys.readouterr()
        assert main([command[0], str(timed), *TIMED, *command[1:], *out]) == 0
        assert "time: rows are in its order, and nothing else goes by it" in capsys.readouterr().out
    assert main(["forecast", str(timed), *TIMED, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_what_cannot_be_is_refused(clicks, refused, capsys):
    simulate = ["simulate", clicks, *FLAGS, "--runs", "2"]
    assert "--epoch-steps" in refused(*simulate, "--learner", "ppo", "--delay", "5")
    for flags in (["--warm-start", "1"], ["--delay", "-1"], ["--batch", "0"]):
        with pytest.raises(SystemExit):
            main([str(one) for one in [*simulate, *flags]])
    assert "is less than 1" in capsys.readouterr().err
