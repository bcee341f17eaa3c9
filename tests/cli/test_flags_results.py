"""The commands that are about results folders have their flags."""

import argparse

import pytest

from understudy.cli.flags_results import add_report, add_sweep


@pytest.fixture
def parser():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    add_sweep(commands, lambda options: 3)
    add_report(commands, lambda options: 4)
    return parser


def test_flags_of_a_sweep(parser):
    options = parser.parse_args(["sweep", "s.toml", "--out", "d", "--runs", "5", "--workers", "2", "--json"])
    assert (options.file, options.out, options.runs, options.workers, options.json) == ("s.toml", "d", 5, 2, True)
    assert options.command(options) == 3
    with pytest.raises(SystemExit):
        parser.parse_args(["sweep", "s.toml", "--runs", "0"])


def test_flags_of_a_report(parser):
    options = parser.parse_args(["report", "a", "b", "--report", "page.html"])
    assert (options.folders, options.report, options.command(options)) == (["a", "b"], "page.html", 4)
