"""Flags that commands share mean the same in each."""

import argparse

import pytest

import understudy as us
from tests.cli.test_unused import COMMANDS
from understudy.cli import main
from understudy.cli.flags import build_parser
from understudy.cli.flags_runs import BACKENDS, add_run_settings
from understudy.cli.words import as_flags
from understudy.runs.backends import NAMES


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_commands_with_runs_have_them(command):
    given = [command, "LOG", "--learner", "uniform", "--seed", "3", "--max-steps", "5", "--workers", "2"]
    options = build_parser(COMMANDS).parse_args(given)
    assert (options.seed, options.max_steps, options.workers, options.keep_going) == (3, 5, 2, False)
    assert build_parser(COMMANDS).parse_args([*given, "--keep-going"]).keep_going


def test_backends_are_those_that_there_are():
    assert BACKENDS == NAMES


def test_help_says_what_becomes_of_runs_that_raise(capsys):
    parser = argparse.ArgumentParser()
    add_run_settings(parser.add_argument_group("runs"), "leave them out")
    with pytest.raises(SystemExit):
        parser.parse_args(["--workers", "0"])
    assert "leave them out" in parser.format_help()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    log = us.record(us.envs.Grid(size=3), episodes=60, seed=0)
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    us.write(log, path)
    return path


@pytest.mark.parametrize("command", ["simulate", "forecast", "compare"])
def test_commands_that_make_runs_take_the_names_of_backends(command):
    parser = build_parser(COMMANDS)
    more = ["--learner", "qlearning", "--learner", "uniform"] if command == "compare" else []
    for name in NAMES:
        options = parser.parse_args([command, "log.parquet", *more, "--backend", name, "--workers", "3"])
        assert (options.backend, options.workers) == (name, 3)
    assert parser.parse_args([command, "log.parquet", *more]).backend is None


def test_another_name_is_refused(capsys):
    with pytest.raises(SystemExit):
        build_parser(COMMANDS).parse_args(["simulate", "log.parquet", "--backend", "moon"])
    assert "'serial', 'threads', 'processes', 'ray'" in capsys.readouterr().err


def test_the_backend_reaches_the_runs(path, tmp_path, monkeypatch, capsys):
    asked = []

    def noted(run_block, blocks, workers):
        asked.append(workers)
        return [(block, run_block(block, lambda: True)) for block in blocks]

    monkeypatch.setitem(us.backends.BACKENDS, "threads", noted)
    out = tmp_path / "out"
    more = ["--runs", "5", "--max-steps", "50", "--backend", "threads", "--workers", "1"]
    assert main(["simulate", str(path), "--out", str(out), *more]) == 0
    assert asked
    assert len(us.load(out / "psrs")) == 5
    asked.clear()
    assert main(["forecast", str(path), "--pre-runs", "2", "--backend", "threads", "--json"]) == 0
    assert asked
    capsys.readouterr()


def test_advice_of_the_library_names_the_flag():
    assert as_flags("use backend='serial' to see where") == "use --backend serial to see where"
