import argparse

import numpy as np
import pytest

import understudy as us
from understudy.cli import main
from understudy.cli.deployment import deployed, deployment_probes, deployment_settings, deployment_words
from understudy.reporting.learners import ON_THEIR_WAY

FLAGS = ["--observation", "x0", "x1", "--action", "arm", "--reward", "click", "--propensity", "p", "--bandit"]


def options(**given):
    return argparse.Namespace(**{"delay": 0, "batch": 1, "warm_start": None, "seed": 3, "learner": "ucb1"} | given)


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


def test_learners_that_are_told_late_are_compared_with_one_that_is_not(clicks, capsys):
    flags = ["--learner", "ucb1", "--learner", "ucb1:delay=50,batch=10", "--runs", "4", "--halves", "5"]
    assert main(["compare", str(clicks), *FLAGS, *flags, "--warm-start", "0.2"]) == 0
    assert "ucb1:delay=50,batch=10" in capsys.readouterr().out


def test_what_cannot_be_is_refused(clicks, refused, capsys):
    simulate = ["simulate", clicks, *FLAGS, "--runs", "2"]
    assert "--epoch-steps" in refused(*simulate, "--learner", "ppo", "--delay", "5")
    for flags in (["--warm-start", "1"], ["--delay", "-1"], ["--batch", "0"]):
        with pytest.raises(SystemExit):
            main([str(one) for one in [*simulate, *flags]])
    assert "is less than 1" in capsys.readouterr().err
