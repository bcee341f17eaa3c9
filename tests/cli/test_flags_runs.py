"""Flags that commands share mean the same in each."""

import argparse

import pytest

from tests.cli.test_unused import COMMANDS
from understudy.cli.flags import build_parser
from understudy.cli.flags_runs import add_run_settings


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_commands_with_runs_have_them(command):
    given = [command, "LOG", "--learner", "uniform", "--seed", "3", "--max-steps", "5", "--workers", "2"]
    options = build_parser(COMMANDS).parse_args(given)
    assert (options.seed, options.max_steps, options.workers, options.keep_going) == (3, 5, 2, False)
    assert build_parser(COMMANDS).parse_args([*given, "--keep-going"]).keep_going


def test_help_says_what_becomes_of_runs_that_raise(capsys):
    parser = argparse.ArgumentParser()
    add_run_settings(parser.add_argument_group("runs"), "leave them out")
    with pytest.raises(SystemExit):
        parser.parse_args(["--workers", "0"])
    assert "leave them out" in parser.format_help()
