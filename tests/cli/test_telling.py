import json

import pytest

from understudy.cli import main
from understudy.progress import progress_bar, silenced

COMMANDS = ("demo", "check", "convert", "forecast", "simulate", "compare", "sweep", "report", "gate", "completion")


@pytest.fixture
def rehearsed(events, columns, tmp_path, capsys):
    out = tmp_path / "out"
    given = ["simulate", str(events), *columns, "--runs", "2", "--quick", "--out", str(out)]
    assert main([*given, "--json"]) == 0
    return given, out, capsys.readouterr()


def test_simulate_prints_the_numbers_of_its_page_and_nothing_else(rehearsed):
    _, out, said = rehearsed
    assert json.loads(said.out) == json.loads((out / "report.json").read_text())
    assert said.err == ""


def test_report_prints_the_same(rehearsed, capsys):
    _, out, said = rehearsed
    assert main(["report", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(said.out)


def test_quiet_prints_nothing_but_errors(rehearsed, capsys):
    given, out, _ = rehearsed
    assert main([*given, "--quiet"]) == 0
    assert main(["report", str(out), "--quiet"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "")
    assert main(["report", str(out / "nowhere"), "--quiet"]) == 2
    assert "holds no results" in capsys.readouterr().err


def test_convert_tells_what_it_wrote(events, columns, tmp_path, capsys):
    assert main(["convert", str(events), str(tmp_path / "log.parquet"), *columns, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["actions"], found["episodes"]) == (5, 60)
    assert found["file"] == str(tmp_path / "log.parquet")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_both_flags(name, capsys):
    with pytest.raises(SystemExit):
        main([name, "--help"])
    said = capsys.readouterr().out
    assert all(flag in said for flag in ("--json", "--quiet"))


def test_help_says_what_exit_codes_mean(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    assert "exit codes: 0 fine" in said
    assert len(said.splitlines()) <= 24


def test_progress_that_is_silenced_is_not_drawn(capfd):
    with silenced(), progress_bar("rehearsing", 2, show=True) as report:
        report(1)
    assert capfd.readouterr().err == ""
    with progress_bar("rehearsing", 2, show=True) as report:
        report(1)
    assert "rehearsing" in capfd.readouterr().err
