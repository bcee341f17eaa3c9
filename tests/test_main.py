import subprocess
import sys

import pytest

from understudy import __main__ as start


def test_the_command_can_be_called_by_the_name_of_the_package():
    done = subprocess.run([sys.executable, "-m", "understudy", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: understudy")


def test_ctrl_c_is_quiet_while_the_library_is_loaded(monkeypatch, capsys):
    class Interrupted:
        def find_spec(self, name, path, target=None):
            if name == "understudy.cli":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "understudy.cli", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    assert start.main() == 130
    assert capsys.readouterr().err == "understudy: interrupted\n"


def test_exit_codes_are_those_of_the_command(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["understudy", "check", "/none.csv"])
    assert start.main() == 2
    monkeypatch.setattr(sys, "argv", ["understudy", "none"])
    with pytest.raises(SystemExit, match="2"):
        start.main()


def test_an_error_that_was_not_foreseen_says_nothing_about_the_log(monkeypatch, capsys):
    """Python's own exit code is 1, by which pipelines take a log for one that must not be believed."""

    def broken():
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("understudy.cli.main", broken)
    assert start.main() == start.BUG == 70
    said = capsys.readouterr().err
    assert "ZeroDivisionError: a bug" in said
    assert said.endswith("says nothing about the log; please report it with the lines above\n")
