import pytest

from understudy.cli import main
from understudy.cli.parsing import did_you_mean
from understudy.cli.values import LEARNERS


@pytest.mark.parametrize(
    ("flags", "wrong"),
    [
        (["--learner", "ucb"], "argument --learner: there is no learner 'ucb' (did you mean ucb1?); give one of q-lea"),
        (["--learner", "qlearning"], "there is no learner 'qlearning' (did you mean q-learning?)"),
        (["--learner", "forest"], "there is no learner 'forest'; give one of q-learning, "),
        (["--alpha", "fast"], "argument --alpha: 'fast' is not a number"),
        (["--runs", "few"], "argument --runs: 'few' is not a whole number"),
        (["--exploration", "much"], "argument --exploration: 'much' is not a number"),
        (["--observaton", "page"], "there is no flag --observaton (did you mean --observation?)"),
        (["--zebra=3"], "error: there is no flag --zebra"),
        (["--learner", "ucb1", "exp3"], "nothing takes 'exp3'; a flag that takes one value is given again before each"),
        (["--simulator", "psr"], "argument --simulator: invalid choice: 'psr'"),
    ],
)
def test_a_bad_flag_gives_two_lines_and_no_screen_of_usage(flags, wrong, capsys):
    with pytest.raises(SystemExit) as error:
        main(["simulate", "log.csv", *flags])
    assert error.value.code == 2
    usage, told = capsys.readouterr().err.splitlines()
    assert usage == "usage: understudy simulate ...; understudy simulate --help lists its arguments"
    assert told.startswith("understudy simulate: error: ")
    assert wrong in told


def test_compare_asks_what_was_meant_too(tmp_path, capsys):
    assert main(["compare", "log.csv", "--learner", "ucb:exploration=2", "--learner", "exp3"]) == 2
    assert "there is no learner 'ucb' (did you mean ucb1?) in --learner ucb:exploration=2" in capsys.readouterr().err


def test_help_still_lists_every_flag(capsys):
    with pytest.raises(SystemExit) as error:
        main(["simulate", "--help"])
    assert error.value.code == 0
    told = capsys.readouterr().out
    assert told.startswith("usage: understudy simulate [-h]")
    assert "--epsilon" in told


def test_names_that_are_not_close_are_not_asked_about():
    assert did_you_mean("Q-Learning", LEARNERS) == " (did you mean q-learning?)"
    assert did_you_mean("zebra", LEARNERS) == ""
